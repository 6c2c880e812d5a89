"""The live table of a run on a terminal, with a bar over its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.app.events import Event, RunStarted, Said, StepEnded, StepStarted
from penstock.app.reports import Keys, ModelResult
from penstock.core.masking import SECRETS, mask
from penstock.ui.render.check import step_lines
from penstock.ui.render.tables import GAP, fitted, text_width
from penstock.ui.render.values import (
    ACTIVE,
    BAD,
    GOOD,
    NOTICE,
    WHOLE,
    first_line,
    ranges_text,
    reason_text,
    row_counts,
    seconds,
)

_AROUND = 6  # lines of the terminal that the table leaves free
_STYLES = {"success": GOOD, "failed": BAD, "skipped": NOTICE, "running": ACTIVE}
_WAITING = "waiting"
_Key = tuple[str, str, int]  # a model, the first partition of its step, which of such steps it is


@dataclass(frozen=True, slots=True)
class Row:
    """One step in the table; `began` is a time of the table's clock."""

    step: str
    state: str = _WAITING
    rows: str = ""
    began: float = 0.0
    took: float | None = None

    def ended(self, result: ModelResult) -> Row:
        """Return the row of the step's result."""
        rows = reason_text(result.reason) if result.error is None else first_line(result.error)
        if result.status == "success":
            rows = "" if result.is_view else row_counts(result.rows)
        return replace(self, state=result.status, rows=rows, took=result.duration)


class LiveTable:
    """A listener that draws while its `with` block lasts; called from the threads of the steps."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._rows: dict[_Key, Row] = {}
        self._steps = self._ended = 0
        self._lock = threading.Lock()
        self._waits: dict[str, float] = {}
        """The waits, with the time at which each began."""
        self._live = Live(console=console, get_renderable=self.draw, refresh_per_second=4)

    def __enter__(self) -> Self:
        """Draw nothing before the run starts."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Keep the last table on the terminal."""
        if self._live.is_started:
            self._live.refresh()
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take the event into the table."""
        with self._lock:
            match event:
                case RunStarted(_, plan):
                    blocked = ((each.model, WHOLE) for each in plan.blocked)
                    steps = [*blocked, *((step.model, step.keys) for step in plan.steps)]
                    self._rows, self._steps, self._ended = {}, len(steps), 0
                    for each in steps:
                        self._rows[self._free(*each)] = Row(_step_label(*each))
                    self._live.start()
                case StepStarted(model, _):
                    # the steps of one model start in their order
                    waiting = (k for k, row in self._rows.items() if row.state == _WAITING)
                    key = next((k for k in waiting if k[0] == model), (model, WHOLE[0][0], 0))
                    row = self._rows.get(key, Row(model))
                    self._rows[key] = replace(row, state="running", began=self._clock())
                case StepEnded(result, steps):
                    self._ended += steps
                    key = self._open(result.name, result.partitions)
                    row = self._rows.get(key, Row(_step_label(result.name, result.partitions)))
                    self._rows[key] = row.ended(result)
                    lines = step_lines(result.invariant_report, failures=True)
                    if lines:  # above the table, where they stay
                        head = _step_label(result.name, result.partitions)
                        self._console.print(Text("\n".join([head, *lines])))
                case Said(text):
                    self._console.print(Text(mask(text)))

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Draw a line with the reason and the length of a wait."""
        with self._lock:
            self._waits[what] = self._clock()
            self._live.start()
        try:
            yield
        finally:
            with self._lock:
                self._waits.pop(what, None)

    def _free(self, model: str, keys: Keys) -> _Key:
        """Return the key of another step; steps of a session package repeat in each pass."""
        number = sum(key[:2] == (model, keys[0][0]) for key in self._rows)
        return model, keys[0][0], number

    def _open(self, model: str, keys: Keys) -> _Key:
        """Return the key of the first such step that has not ended."""
        found = (k for k, row in self._rows.items() if row.took is None)
        same = (key for key in found if key[:2] == (model, keys[0][0]))
        return next(same, (model, keys[0][0], 0))

    def draw(self) -> Group:
        """Return the current table.

        What waits last is left out, then what ended first, when the terminal is too low.
        """
        now = self._clock()
        waits = [Text(f"{w}, {now - t:.0f} s", ACTIVE) for w, t in self._waits.items()]
        if not self._rows:
            return Group(*waits)
        rows = list(self._rows.values())
        ended = [row for row in rows if row.took is not None]
        room = max(self._console.height - _AROUND, 1)
        shown = rows
        if len(rows) > room:
            active = [row for row in rows if row.state == "running"][:room]
            shown = [*ended[max(len(ended) + len(active) - room, 0) :], *active]
            waiting = [row for row in rows if row.state == _WAITING]
            shown += waiting[: room - len(shown)]
        bar = Table.grid(padding=(0, 2))
        total = Text(f"{self._ended} of {self._steps} steps")
        bar.add_row(ProgressBar(total=self._steps or 1, completed=self._ended, width=40), total)
        return Group(drawn(shown, now, self._console.width), bar, *waits)


def _step_label(model: str, keys: Keys) -> str:
    return model if keys == WHOLE else f"{model} {ranges_text(keys)}"


def drawn(rows: list[Row], now: float, width: int = 80) -> Table:
    """Draw the rows at a time of the clock.

    Where there is no room for all, names of models stay: partitions and what came of a step are
    cut, then time and state are left out.
    """
    shown = ((row.step, row.state, row.rows, _elapsed(row, now)) for row in rows)
    cells = [tuple(map(SECRETS.hide, each)) for each in shown]  # before they are filled up
    header = ("STEP", "STATE", "ROWS", "ELAPSED")
    needs = [max(map(text_width, column)) for column in zip(header, *cells, strict=True)]
    names = max((len(row.step.partition(" ")[0]) for row in rows), default=0)
    needs[0] = min(needs[0], max(names, width // 2))
    widths = fitted(needs, [*needs[:2], min(needs[2], 2), needs[3]], (0, 1, 3, 2), width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    kept = [place for place in range(4) if widths[place]]
    for place in kept:
        table.add_column(header[place], no_wrap=True, overflow="ellipsis", width=widths[place])
    for row, texts in zip(rows, cells, strict=True):
        styles = ("", _STYLES.get(row.state, "dim"), "", "")
        table.add_row(*(Text(texts[place], style=styles[place]) for place in kept))
    return table


def _elapsed(row: Row, now: float) -> str:
    took = row.took if row.took is not None else now - row.began
    return "" if row.state in (_WAITING, "skipped") else seconds(took)
