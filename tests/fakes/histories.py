"""Sequences of runs for the laws of history tables, drawn so that no run is refused.

Many sequences are packed into one table: a first key column `seq` holds the number of the
sequence. All sequences of a pack share a schedule: the T and the columns of each run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from hypothesis import strategies as st

from fakes.oracle import run
from fakes.oracle_types import History, Row, Source
from penstock.core.history import (
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.strategies.history.snapshot import Snapshot

KEYS = ("seq", "id")
COLUMNS = (*KEYS, "value", "updated_at")
LATER = "other"  # a column that appears at some run and may go again
FIRST_RUN = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
# Noons, and every T is a midnight: a row that returned starts at T and ties with no other.
NOONS = tuple(
    dt.datetime(2024, month, day, 12, tzinfo=dt.UTC)
    for month, day in ((1, 5), (2, 10), (5, 10), (6, 15), (8, 1))
)
VALUES = ("a", "b", "", None)

NEWER = NewerThan("updated_at")
TS = Snapshot(KEYS, NEWER)
CK = Snapshot(KEYS, ColumnsDiffer(("value",)))
EV = replace(TS, event_time=True)
HASH = HashDiffers(SystemColumns.with_prefix().row_hash, ("value",))
INVALIDATE, NEW_RECORD = HardDeletes.INVALIDATE, HardDeletes.NEW_RECORD

COMBINATIONS: dict[str, Snapshot] = {
    "timestamp": TS,
    "timestamp_invalidate": replace(TS, hard_deletes=INVALIDATE),
    "timestamp_new_record": replace(TS, hard_deletes=NEW_RECORD, allow_empty=True),
    "compare_rows": Snapshot(KEYS, NewerThan("updated_at", compare_rows=True)),
    "check": CK,
    "check_new_record": replace(CK, hard_deletes=NEW_RECORD),
    "check_all_invalidate": Snapshot(KEYS, ColumnsDiffer(None), hard_deletes=INVALIDATE),
    "check_all_null_keys": Snapshot(KEYS, ColumnsDiffer(None), match_null_keys=True),
    "row_hash_invalidate": Snapshot(KEYS, HASH, hard_deletes=INVALIDATE),
    "event_time": EV,
    "event_time_invalidate": replace(EV, hard_deletes=INVALIDATE),
    "event_time_new_record": replace(EV, hard_deletes=NEW_RECORD),
    "event_time_keep_last": replace(EV, retention=Retention(keep_last=2)),
    "event_time_ignore_row": replace(
        EV, hard_deletes=INVALIDATE, ignore_null_time=True, match_null_keys=True
    ),
    "event_time_keep_both": replace(
        EV, hard_deletes=NEW_RECORD, retention=Retention(keep_last=1, keep_days=30)
    ),
    "ignore_row_invalidate": replace(TS, hard_deletes=INVALIDATE, ignore_null_time=True),
    "keep_last": replace(CK, retention=Retention(keep_last=1)),
    "keep_days_invalidate": replace(CK, hard_deletes=INVALIDATE, retention=Retention(keep_days=30)),
    "keep_both": replace(TS, retention=Retention(keep_last=2, keep_days=30)),
    "new_record_keep_one": replace(CK, hard_deletes=NEW_RECORD, retention=Retention(keep_last=1)),
    "new_record_keep_last": replace(
        TS, hard_deletes=NEW_RECORD, match_null_keys=True, retention=Retention(keep_last=2)
    ),
}


@dataclass(frozen=True, slots=True)
class Schedule:
    """The T and the columns of each run, T ascending."""

    times: tuple[dt.datetime, ...]
    columns: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """The rows of each run of one model; `seq` is 0 until it is packed."""

    schedule: Schedule
    runs: tuple[tuple[Row, ...], ...]


@dataclass(frozen=True, slots=True)
class PackedRun:
    """One run of a pack: T, and the rows of all its sequences."""

    at: dt.datetime
    source: Source


def pack(sequences: Iterable[Sequence]) -> tuple[PackedRun, ...]:
    """Put sequences of one schedule side by side, each under its number as `seq`."""
    each = tuple(sequences)
    schedule = each[0].schedule
    if any(sequence.schedule != schedule for sequence in each):
        raise ValueError("sequences of one pack share their schedule")
    packed = []
    for number, (at, columns) in enumerate(zip(schedule.times, schedule.columns, strict=True)):
        rows = [{**r, "seq": seq} for seq, s in enumerate(each) for r in s.runs[number]]
        packed.append(PackedRun(at, Source(columns, tuple(rows))))
    return tuple(packed)


@st.composite
def packs(
    draw, settings: Snapshot, size: int = 20, min_runs: int = 2, max_runs: int = 6
) -> tuple[PackedRun, ...]:
    """Draw a pack of `size` sequences.

    The first pack that Hypothesis tries is the smallest: no row in any run. Ask for two or more.
    """
    one = sequences(settings, draw(schedules(min_runs, max_runs)))
    return pack(draw(st.lists(one, min_size=size, max_size=size)))


@st.composite
def schedules(draw, min_runs: int = 2, max_runs: int = 6) -> Schedule:
    """Draw some instants, and the runs that select the later column."""
    count = draw(st.integers(min_runs, max_runs))
    days = draw(st.tuples(*[st.sampled_from((30, 1, 31))] * (count - 1)))
    times = tuple(FIRST_RUN + dt.timedelta(days=sum(days[:n])) for n in range(count))
    first = draw(st.integers(0, len(times)))
    gone = draw(st.integers(first, len(times)))
    wide = (*COLUMNS, LATER)
    return Schedule(times, tuple(wide if first <= n < gone else COLUMNS for n in range(len(times))))


@st.composite
def sequences(draw, settings: Snapshot, schedule: Schedule | None = None) -> Sequence:
    """Draw a sequence that no run refuses, of at most 8 keys, with few values and instants."""
    schedule = schedule or draw(schedules())
    ids = [*range(draw(st.integers(1, 8))), *([None] if settings.match_null_keys else [])]
    history: History | None = None
    runs: list[tuple[Row, ...]] = []
    seen: dict[int | None, tuple[Row, ...]] = {}
    for at, columns in zip(schedule.times, schedule.columns, strict=True):
        drawn = {i: draw(rows_of(settings, i, columns, seen.get(i, ()))) for i in ids}
        seen |= {i: rows for i, rows in drawn.items() if rows}
        rows = [row for of_id in drawn.values() for row in of_id]
        rows.extend(needed(history, rows, settings, at, columns))
        history = run(history, Source(columns, tuple(rows)), settings, at).history
        runs.append(tuple(rows))
    return Sequence(schedule, tuple(runs))


def rows_of(
    settings: Snapshot, i: int | None, columns: tuple[str, ...], last: tuple[Row, ...]
) -> st.SearchStrategy[tuple[Row, ...]]:
    """Draw the rows of one key in one run: often none, or those it had when last seen."""
    again = tuple({column: row.get(column) for column in columns} for row in last)
    some = event_rows(settings) if settings.event_time else state_rows(settings)
    choices = [(), again, *some]
    weights = (len(some) // 3, len(some) // 3, *(1 for _ in some))
    weighted = [choice for choice, n in zip(choices, weights, strict=True) for _ in range(n)]
    return st.sampled_from(weighted).map(
        lambda rows: tuple(
            {column: {"seq": 0, "id": i, **row}.get(column) for column in columns} for row in rows
        )
    )


def state_rows(settings: Snapshot) -> list[tuple[Row, ...]]:
    """Give what a source that holds one row per key may say of it."""
    has_time = isinstance(settings.change, NewerThan)
    nulls = (None,) if settings.ignore_null_time or not has_time else ()
    rows = [
        ({"value": value, "updated_at": u, LATER: later},)
        for value, u, later in product(VALUES, (*NOONS, *nulls), (None, "x", "y"))
    ]
    if settings.ignore_null_time:  # an ignored row beside a real one is no duplicate
        rows.extend([(*row, {**row[0], "updated_at": None}) for row in rows[::7]])
    return rows


def event_rows(settings: Snapshot) -> list[tuple[Row, ...]]:
    """Give every set of instants that a log may hold of a key, its values shifted four ways.

    Sets without the last instant come more often: it is mostly ahead of T, where nothing closes.
    """
    instants = (*NOONS, *((None,) if settings.ignore_null_time else ()))
    every = 2 ** len(instants)
    return [
        tuple(
            {"value": VALUES[(n + shift) % 4], "updated_at": u, LATER: (None, "x")[(n + shift) % 2]}
            for n, u in enumerate(instants)
            if mask >> n & 1
        )
        for mask, shift in product((*range(1, 16), *range(1, 16), *range(1, every)), range(4))
    ]


def needed(
    history: History | None,
    rows: list[Row],
    settings: Snapshot,
    at: dt.datetime,
    columns: tuple[str, ...],
) -> list[Row]:
    """Give the rows without which the run would be refused.

    A version that starts after T cannot be closed at T, and an empty source closes nothing.
    """
    if history is None or settings.hard_deletes is HardDeletes.IGNORE:
        return []
    present = {row["id"] for row in rows}
    gone = [v.values for v in history.versions if v.is_live and v.values["id"] not in present]
    ahead = [
        v.values
        for v in history.versions
        if v.is_live and v.valid_from >= at and v.values["id"] not in present
    ]
    if not rows and not settings.allow_empty:
        ahead = ahead or gone[:1]
    return [{column: values.get(column) for column in columns} for values in ahead]
