"""What the oracle of history tables speaks of: versions, histories, sources, metrics, errors.

Every instant is a `datetime` with zone UTC; `updated_at` may also be a `date`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Row = Mapping[str, object]
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """One row of a history table. `values` are all business columns, key included.

    `u` is the stored `updated_at` under the settings of the last run (None with `check`);
    `is_deleted` is None where the table holds NULL or has no such column.
    """

    key: Key
    values: Row
    valid_from: dt.datetime
    valid_to: dt.datetime | None = None
    is_current: bool = True
    is_deleted: bool | None = False
    u: object = field(default=None, compare=False)

    @property
    def is_live(self) -> bool:
        """Whether it is current and no tombstone."""
        return self.is_current and not self.is_deleted


@dataclass(frozen=True, slots=True)
class History:
    """A history table: versions in the order of key and `valid_from`, columns in table order.

    `high_time` is the greatest T of a run that wrote it.
    """

    versions: tuple[Version, ...] = ()
    columns: tuple[str, ...] = ()
    has_is_deleted: bool = False
    high_time: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a model's query in one run; the columns are known without rows, too."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """What one run counts (section 4.4)."""

    source_rows: int = 0
    opened_new: int = 0
    opened_changed: int = 0
    opened_late: int = 0
    reopened: int = 0
    unchanged: int = 0
    ignored: int = 0
    skipped: int = 0
    closed: int = 0
    shortened: int = 0
    deleted: int = 0
    pruned: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run leaves behind; a run that does not commit leaves the table as it was."""

    history: History
    metrics: Metrics
    is_commit: bool


@dataclass(frozen=True, slots=True)
class Inference:
    """What `historic` asks of missing keys: which may be closed, what a closed one is given."""

    scope: Callable[[Version], bool] = lambda _: True
    sets: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason to refuse a run, with at most five keys in order."""

    code: str
    count: int = 1
    samples: tuple[Key, ...] = ()


class OracleError(Exception):
    """A run that writes nothing, with all its reasons."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = faults

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes alone."""
        return tuple(fault.code for fault in self.faults)


def instant(u: object) -> dt.datetime:
    """Cast `updated_at` to TIMESTAMP: a date is its midnight in UTC."""
    if isinstance(u, dt.datetime):
        return u
    if isinstance(u, dt.date):
        return dt.datetime(u.year, u.month, u.day, tzinfo=dt.UTC)
    raise TypeError(u)


def same(one: object, other: object) -> bool:
    """Compare as `<=>` does: NULL is NULL, NaN is NaN."""
    return one == other or (one != one and other != other)  # noqa: PLR0124 - only NaN is not itself


def in_order(key: Key) -> tuple[tuple[bool, object], ...]:
    """Give something to sort keys by, NULL first."""
    return tuple((part is not None, 0 if part is None else part) for part in key)
