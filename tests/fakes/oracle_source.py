"""What the oracle makes of a source before it looks at versions: sections 3.1, 3.5, 3.6."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable

from fakes.oracle_types import (
    Fault,
    History,
    Key,
    OracleError,
    Row,
    Source,
    Version,
    in_order,
    instant,
)
from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, NewerThan
from penstock.strategies.history.snapshot import Snapshot

UNPLACED = dt.datetime.min.replace(tzinfo=dt.UTC)


def key_of(row: Row, settings: Snapshot) -> Key:
    """Give the values of the key columns."""
    return tuple(row[column] for column in settings.keys)


def time_of(row: Row, settings: Snapshot) -> object:
    """Give `updated_at`; None with a strategy that has none."""
    return row[settings.change.column] if isinstance(settings.change, NewerThan) else None


def is_ignored(row: Row, settings: Snapshot) -> bool:
    """Whether its `updated_at` is NULL and such rows open nothing."""
    needs_time = isinstance(settings.change, NewerThan)
    return needs_time and settings.ignore_null_time and time_of(row, settings) is None


def arrivals(source: Source, settings: Snapshot) -> dict[Key, list[Version]]:
    """Give the rows of each key that is present, as versions without a place.

    A key whose rows are all ignored is present and has no row.
    """
    arrived: dict[Key, list[Version]] = {}
    for row in source.rows:
        rows = arrived.setdefault(key_of(row, settings), [])
        if not is_ignored(row, settings):
            u = time_of(row, settings)
            rows.append(Version(key_of(row, settings), row, UNPLACED, u=u))
    return arrived


def refuse_time(before: History, at: dt.datetime) -> None:
    """Raise for a T before the last run that wrote the table."""
    if before.high_time is not None and at < before.high_time:
        raise OracleError(Fault("run-time-before-history"))


def refuse_columns(source: Source, settings: Snapshot) -> None:
    """Raise for a key, `updated_at` or listed column that the query does not select."""
    match settings.change:
        case NewerThan(column):
            needed = (column,)
        case ColumnsDiffer(columns):
            needed = columns or ()
        case HashDiffers(column, hashed):
            needed = (column,) if hashed is None else hashed
    missing = set(settings.keys + needed) - set(source.columns)
    if missing:
        raise OracleError(Fault("column-not-selected", len(missing), (tuple(sorted(missing)),)))


def refuse_rows(before: History, source: Source, settings: Snapshot) -> None:
    """Raise every error of the rows at once."""
    faults = (
        *repeated_keys(source, settings),
        *null_keys(source, settings),
        *null_times(source, settings),
        *empty_source(before, source, settings),
    )
    if faults:
        raise OracleError(*faults)


def repeated_keys(source: Source, settings: Snapshot) -> Iterable[Fault]:
    """Find keys that occur twice; in event-time mode, twice with one `updated_at`."""
    names = Counter()
    for row in source.rows:
        key, u = key_of(row, settings), time_of(row, settings)
        if is_ignored(row, settings) or (None in key and not settings.match_null_keys):
            continue
        if not settings.event_time:
            names[key, None] += 1
        elif u is not None:
            names[key, instant(u)] += 1
    keys = {key for (key, _), count in names.items() if count > 1}
    return found("tied-versions" if settings.event_time else "duplicate-keys", keys)


def null_keys(source: Source, settings: Snapshot) -> Iterable[Fault]:
    """Find rows with NULL in a key column."""
    keys = [key_of(row, settings) for row in source.rows]
    return found("null-key", () if settings.match_null_keys else [k for k in keys if None in k])


def null_times(source: Source, settings: Snapshot) -> Iterable[Fault]:
    """Find rows without `updated_at`."""
    if not isinstance(settings.change, NewerThan) or settings.ignore_null_time:
        return ()
    rows = [row for row in source.rows if time_of(row, settings) is None]
    return found("null-updated-at", [key_of(row, settings) for row in rows])


def empty_source(before: History, source: Source, settings: Snapshot) -> Iterable[Fault]:
    """Find a source without rows that would close what is live."""
    closes = settings.hard_deletes is not HardDeletes.IGNORE and not settings.allow_empty
    if closes and not source.rows and any(version.is_live for version in before.versions):
        return (Fault("empty-source"),)
    return ()


def found(code: str, keys: Iterable[Key]) -> tuple[Fault, ...]:
    """Make one fault of the keys, if there are any."""
    keys = sorted(keys, key=in_order)
    return (Fault(code, len(keys), tuple(keys[:5])),) if keys else ()
