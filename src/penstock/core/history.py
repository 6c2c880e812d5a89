"""History tables: the settings of a model that keeps every version of its rows.

The terms are those of docs/history.md: a version is one row with a validity interval `[valid_from,
valid_to)`; the current version of a key has no `valid_to`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from enum import StrEnum


class HardDeletes(StrEnum):
    """What happens to a key that is missing in the source."""

    IGNORE = "ignore"
    INVALIDATE = "invalidate"
    NEW_RECORD = "new_record"


@dataclass(frozen=True, slots=True)
class NewerThan:
    """A greater `column` opens a version; with `compare_rows` only if another value differs too."""

    column: str
    compare_rows: bool = False


@dataclass(frozen=True, slots=True)
class ColumnsDiffer:
    """A different value in any of the columns opens a version.

    None stands for every selected column except the key.
    """

    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class HashDiffers:
    """A different stored hash opens a version.

    `hashed` are the columns of the hash; None if the rows contain it.
    """

    column: str
    hashed: tuple[str, ...] | None = None


ChangeTest = NewerThan | ColumnsDiffer | HashDiffers


@dataclass(frozen=True, slots=True)
class Retention:
    """Which old versions are removed: all but `keep_last` per key, those closed `keep_days` ago.

    With both, a version must meet both conditions.
    """

    keep_last: int | None = None
    keep_days: int | None = None


@dataclass(frozen=True, slots=True)
class SystemColumns:
    """The names of the columns that penstock adds to a history table.

    >>> SystemColumns.with_prefix("dlf_", "pascal").valid_from
    'dlf_ValidFrom'
    """

    valid_from: str
    valid_to: str
    is_current: str
    is_deleted: str
    row_hash: str

    @classmethod
    def with_prefix(cls, prefix: str = "_ps_", case: str = "snake") -> SystemColumns:
        """Return the names with a prefix, in `snake` or `pascal` case."""
        words = [each.name for each in fields(cls)]
        if case == "pascal":
            words = [word.title().replace("_", "") for word in words]
        return cls(*(prefix + word for word in words))

    @property
    def names(self) -> tuple[str, ...]:
        """All five, in the order of the table's columns."""
        return astuple(self)


ENGINE_PREFIX = "__penstock_"


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How every version of the rows is kept, with its interval of validity.

    With `event_time`, intervals start at `updated_at`, otherwise when penstock saw the change.
    `by_current` splits the table into current and closed versions on disk (`layout: current`).
    """

    keys: tuple[str, ...]
    change: ChangeTest
    event_time: bool = False
    hard_deletes: HardDeletes = HardDeletes.IGNORE
    match_null_keys: bool = False
    ignore_null_time: bool = False
    allow_empty: bool = False
    retention: Retention | None = None
    columns: SystemColumns = SystemColumns.with_prefix()
    by_current: bool = True
