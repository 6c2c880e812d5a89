"""What the engine of history tables is told about one run of one table."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.core.history import (
    ChangeTest,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.strategies.build import same_key


@dataclass(frozen=True, slots=True)
class Terms:
    """One run of one history table, whoever asks for it.

    `moment` is the run timestamp. `missing` is what a key does that is gone from the source, if
    its current version satisfies `scope`, a condition on the table's columns; closing it then
    also sets the columns of `missing_sets` to SQL values.
    """

    keys: tuple[str, ...]
    change: ChangeTest
    moment: dt.datetime
    columns: SystemColumns = SystemColumns.named()
    event_time: bool = False
    missing: HardDeletes = HardDeletes.IGNORE
    scope: str = ""
    missing_sets: tuple[tuple[str, str], ...] = ()
    match_null_keys: bool = False
    ignore_null_time: bool = False
    allow_empty: bool = False
    retention: Retention | None = None

    @property
    def closes_missing(self) -> bool:
        """Whether a key that is gone closes its current version."""
        return self.missing is not HardDeletes.IGNORE

    @property
    def at(self) -> str:
        """The run timestamp as an SQL literal."""
        return f"TIMESTAMP '{self.moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"

    @property
    def time_column(self) -> str | None:
        """The column that tells how fresh a row is, None where change is told otherwise."""
        return self.change.column if isinstance(self.change, NewerThan) else None

    @property
    def made_hash(self) -> HashDiffers | None:
        """The hash that the engine makes itself, None where there is none."""
        match self.change:
            case HashDiffers(hashed=tuple()):
                return self.change
            case _:
                return None

    def on(self, left: str, right: str, *, stored: bool = True) -> str:
        """Give the condition that two rows have the same key.

        Stored keys may be NULL under `null_keys: error`, too: the setting may have changed. A row
        of the source may not, so one without a key need not meet a version.
        """
        return same_key(self.keys, left, right, matches_null=stored or self.match_null_keys)


def terms_of(
    snapshot: HistorySettings,
    moment: dt.datetime,
    retention: Retention | None,
    *,
    allow_empty: bool,
) -> Terms:
    """Give the terms of a snapshot's run; `retention` is the one of this run."""
    return Terms(
        keys=snapshot.keys,
        change=snapshot.change,
        moment=moment,
        columns=snapshot.columns,
        event_time=snapshot.event_time,
        missing=snapshot.hard_deletes,
        match_null_keys=snapshot.match_null_keys,
        ignore_null_time=snapshot.ignore_null_time,
        allow_empty=snapshot.allow_empty or allow_empty,
        retention=retention,
    )


SEEN = "penstock_seen"
STAGED = "penstock_staged"
LATE_SEEN = "penstock_late_seen"
LATE_STAGED = "penstock_late_staged"
GONE_SEEN = "penstock_gone_seen"
TOMBSTONES = "penstock_tombstones"

IN_SOURCE = "`__penstock_in_source`"
IN_TABLE = "`__penstock_in_table`"
TIME = "`__penstock_time`"
STORED_TIME = "`__penstock_stored_time`"
IGNORED = "`__penstock_ignored`"
NULL_KEY = "`__penstock_null_key`"
NULL_TIME = "`__penstock_null_time`"
NO_TIME = "`__penstock_no_time`"
COPIES = "`__penstock_copies`"
PLACE = "`__penstock_place`"
EARLY = "`__penstock_early`"
TIED = "`__penstock_tied`"
TWICE = "`__penstock_twice`"
CLASS = "`__penstock_class`"
TOMB = "`__penstock_tomb`"
CHANGED = "`__penstock_changed`"
IN_SCOPE = "`__penstock_in_scope`"
OLD = "`__penstock_old`"
PRUNED = "`__penstock_pruned`"
OPS = "`__penstock_ops`"
OP = "`__penstock_op`"
AT = "`__penstock_at`"
FROM = "`__penstock_from`"
TO = "`__penstock_to`"
GONE = "`__penstock_gone`"
ROWS = "`__penstock_rows`"
OPEN_TO = "`__penstock_open_to`"
CLOSE_TO = "`__penstock_close_to`"
