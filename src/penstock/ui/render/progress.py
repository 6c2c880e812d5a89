"""Listeners that show a run while it goes: lines of text, lines of JSON."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable

from penstock.app.reports import Event, ModelResult, RunStarted, Said, StepEnded, StepStarted
from penstock.core.masking import mask
from penstock.ui.render.document import Json, instant, printed_line
from penstock.ui.render.results import step_lines
from penstock.ui.render.run import Columns, result_document, result_line


def event_document(event: Event, at: dt.datetime) -> Json:
    """Give an event with its time."""
    time = instant(at)
    match event:
        case RunStarted(run, plan):
            return {"time": time, "event": "run_started", "run": run, "steps": len(plan.steps)}
        case StepStarted(model, reason):
            return {"time": time, "event": "step_started", "model": model, "reason": reason}
        case StepEnded(result):
            return {"time": time, "event": "step_ended", **result_document(result)}
        case Said(text):
            return {"time": time, "event": "said", "text": text}


Say = Callable[[str], None]


class TextLines:
    """One line per step that ended, and its checks; with `verbose` one per step that starts, too.

    With `quiet` only steps of which a check failed, and only those checks. Called from the threads
    of the steps.
    """

    def __init__(self, say: Say, *, verbose: bool = False, quiet: bool = False) -> None:
        self._say = say
        self._verbose = verbose
        self._quiet = quiet
        self._columns: Columns | None = None
        self._ended = 0
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Show the event."""
        with self._lock:
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case RunStarted(run, plan):
                self._columns = Columns.of(plan)
                if self._verbose:
                    self._say(f"run {run}  {plan.run_timestamp:%Y-%m-%d %H:%M:%S} UTC")
            case StepStarted(model, reason):
                if self._verbose:
                    self._say(f"      {model}  {mask(reason)}")
            case StepEnded(result):
                self._ended += 1
                self._show_result(result)
            case Said(text):
                if not self._quiet:
                    self._say(mask(text))

    def _show_result(self, result: ModelResult) -> None:
        checks = step_lines(result.invariant_report, failures=self._quiet)
        if self._columns is not None and (checks or not self._quiet):
            self._say("\n".join([result_line(self._ended, result, self._columns), *checks]))


class JsonLines:
    """One JSON document per event and line."""

    def __init__(self, say: Say, now: Callable[[], dt.datetime]) -> None:
        self._say = say
        self._now = now
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Show the event."""
        with self._lock:
            self._say(printed_line(event_document(event, self._now())))
