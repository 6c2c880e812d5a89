"""History tables: the settings of a model that keeps every version of its rows.

The terms are those of docs/history.md: a version is one row with a validity interval `[valid_from,
valid_to)`; the current version of a key has no `valid_to`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from enum import StrEnum

from penstock.core.names import quoted


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


_OWN = 5
"""How many columns penstock adds of its own."""


@dataclass(frozen=True, slots=True)
class SystemColumns:
    """The names of the columns that penstock adds to a history table.

    A table with the columns of dbt has no `is_current` and no `row_hash`. Its current versions end
    at `current_end`, SQL for a timestamp; without it, and elsewhere, they end at NULL.

    >>> SystemColumns.with_prefix("dlf_", "pascal").valid_from
    'dlf_ValidFrom'
    """

    valid_from: str
    valid_to: str
    is_current: str
    is_deleted: str
    row_hash: str
    scd_id: str = ""
    updated_at: str = ""
    current_end: str = ""

    @classmethod
    def with_prefix(cls, prefix: str = "_ps_", case: str = "snake") -> SystemColumns:
        """Return the names with a prefix, in `snake` or `pascal` case."""
        words = [each.name for each in fields(cls)][:_OWN]
        if case == "pascal":
            words = [word.title().replace("_", "") for word in words]
        return cls(*(prefix + word for word in words))

    @classmethod
    def of_dbt(cls, renamed: Mapping[str, str], current_end: str = "") -> SystemColumns:
        """Return dbt's names, each of which may be `renamed`."""
        words = ("valid_from", "valid_to", "is_deleted", "scd_id", "updated_at")
        start, end, deleted, scd_id, at = (renamed.get(f"dbt_{w}") or f"dbt_{w}" for w in words)
        return cls(start, end, "", deleted, "", scd_id, at, current_end)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the table's columns."""
        if self.scd_id:
            return (self.scd_id, self.updated_at, self.valid_from, self.valid_to, self.is_deleted)
        return astuple(self)[:_OWN]

    @property
    def meaning(self) -> tuple[str, ...]:
        """The names and the end of current versions, which a table never changes."""
        return (*self.names, *((self.current_end,) if self.current_end else ()))

    def end(self, stored: str) -> str:
        """Return SQL for the end of a version, NULL if it is current."""
        return f"nullif({stored}, {self.current_end})" if self.current_end else stored

    def stored_end(self, end: str) -> str:
        """Return SQL for an end as the table stores it."""
        return f"coalesce({end}, {self.current_end})" if self.current_end else end

    def is_open(self, alias: str = "") -> str:
        """Return the condition for versions without an end."""
        column = alias + quoted(self.valid_to)
        ends = f" OR {column} = {self.current_end}" if self.current_end else ""
        return f"({column} IS NULL{ends})" if ends else f"{column} IS NULL"


ENGINE_PREFIX = "__penstock_"


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How every version of the rows is kept, with its interval of validity.

    With `event_time`, intervals start at `updated_at`, otherwise when penstock saw the change.
    `by_current` splits the table into current and closed versions on disk (`layout: current`).
    With `change_feed` a run reads the changes of its input since the last one, where they suffice.
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
    change_feed: bool = False
