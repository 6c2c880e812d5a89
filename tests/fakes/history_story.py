"""Histories as the specification writes them: `1 a 01-05 [T1, T2)`; a tombstone ends in `†`.

T1 to T4 are the first days of May to August 2024, dates are days of that year, and an instant
that is no midnight is shown as `12:00`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from fakes.oracle import run
from fakes.oracle_laws import Operations, identities, operations, violations
from fakes.oracle_types import History, Inference, Metrics, Outcome, Source, Version
from penstock.core.history import HardDeletes, NewerThan
from penstock.strategies.history.snapshot import Snapshot

T1, T2, T3, T4 = (dt.datetime(2024, month, 1, tzinfo=dt.UTC) for month in (5, 6, 7, 8))
NAMES = {T1: "T1", T2: "T2", T3: "T3", T4: "T4"}
COLUMNS = "id value updated_at"
TS = Snapshot(("id",), NewerThan("updated_at"))


def source(*lines: str, columns: str = COLUMNS) -> Source:
    """Read rows of words: numbers are INT, `MM-DD` is an instant, `NULL` is NULL."""
    names = tuple(columns.split())
    rows = [dict(zip(names, map(value, line.split()), strict=True)) for line in lines]
    return Source(names, tuple(rows))


def value(word: str) -> object:
    """Read one word."""
    if word == "NULL":
        return None
    if word.isdigit():
        return int(word)
    return moment(word) if word[:2].isdigit() and word[2:3] == "-" else word


def moment(word: str) -> dt.datetime:
    """Read `MM-DD` as midnight of a day of 2024."""
    return dt.datetime.strptime(f"2024-{word} +0000", "%Y-%m-%d %z")


def shown(version: Version) -> str:
    """Write a version as the specification does."""
    words = [word(each) for each in version.values.values()]
    end = f" {word(version.valid_to)}" if version.valid_to else " "
    return f"{' '.join(words)} [{word(version.valid_from)},{end}){'†' * bool(version.is_deleted)}"


def word(each: object) -> str:
    """Write one value."""
    if isinstance(each, dt.datetime):
        return NAMES.get(each, f"{each:%H:%M}" if each.hour else f"{each:%m-%d}")
    if isinstance(each, dt.date):
        return f"{each:%m-%d}"
    return "NULL" if each is None else str(each)


@dataclass
class Story:
    """Runs of one model, one after another; every run must keep the laws."""

    settings: Snapshot = TS
    columns: str = COLUMNS
    inference: Inference | None = None
    history: History | None = None
    did: Operations = field(default_factory=Operations)
    outcome: Outcome | None = None
    run_times: list[dt.datetime] = field(default_factory=list)
    has_gaps: bool = False

    def run(self, at: dt.datetime, *lines: str) -> Story:
        """Run with rows as words."""
        return self.run_on(at, source(*lines, columns=self.columns))

    def run_on(self, at: dt.datetime, rows: Source) -> Story:
        """Run with any source."""
        before = self.history
        outcome = run(before, rows, self.settings, at, self.inference)
        self.outcome, self.history = outcome, outcome.history
        self.did = operations(before, outcome.history)
        self.run_times.append(at)
        closes = self.settings.hard_deletes is HardDeletes.INVALIDATE
        self.has_gaps |= closes and outcome.metrics.deleted > 0
        assert not identities(outcome.metrics, self.settings, before, outcome.history)
        assert not violations(outcome.history, self.settings, self.run_times, self.has_gaps)
        return self

    def then(self, settings: Snapshot) -> Story:
        """Go on with other settings."""
        self.settings = settings
        return self

    @property
    def versions(self) -> list[str]:
        """The versions in the notation of the specification."""
        return [shown(version) for version in self.history.versions]

    @property
    def metrics(self) -> Metrics:
        """What the last run counted."""
        return self.outcome.metrics

    @property
    def is_commit(self) -> bool:
        """Whether the last run wrote anything."""
        return self.outcome.is_commit
