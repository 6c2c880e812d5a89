"""Listeners that show a run while it goes: lines of text, lines of JSON."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable

from penstock.app.events import Event, RunStarted, Said, StepEnded, StepStarted
from penstock.core.masking import mask
from penstock.ui.json_document import printed_line
from penstock.ui.json_events import event_document
from penstock.ui.text_run import Columns, result_line

Say = Callable[[str], None]


class TextLines:
    """One line per step that ended; with `verbose` one per step that starts, too.

    Called from the threads of the steps.
    """

    def __init__(self, say: Say, *, verbose: bool = False) -> None:
        self._say = say
        self._verbose = verbose
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
                if self._columns is not None:
                    self._say(result_line(self._ended, result, self._columns))
            case Said(text):
                self._say(mask(text))


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
