"""The oracle: what a history table must hold after a run, in plain Python on lists.

It follows the tables and the pseudo code of the specification as they are written (sections 3.3
to 3.7 and 4.4 of history tables), so that it can be read beside them. The options of one run are
other settings here: `--prune --keep-last N` and `--no-prune` are `replace(settings, retention=…)`,
`--allow-empty` is `replace(settings, allow_empty=True)`.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fakes import oracle_event_time
from fakes.oracle_retention import ordered, retain
from fakes.oracle_source import arrivals, is_ignored, refuse_columns, refuse_rows, refuse_time
from fakes.oracle_types import (
    Fault,
    History,
    Inference,
    Metrics,
    OracleError,
    Outcome,
    Source,
    Version,
    in_order,
    same,
)
from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, NewerThan
from penstock.strategies.history.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Update:
    """Versions before retention; each source row's class and new version; how many keys went."""

    versions: list[Version]
    classes: list[tuple[str, Version]] = field(default_factory=list)
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one model: its source, settings and T."""

    source: Source
    settings: Snapshot
    at: dt.datetime
    inference: Inference = Inference()


def run(
    history: History | None,
    source: Source,
    settings: Snapshot,
    at: dt.datetime,
    inference: Inference | None = None,
) -> Outcome:
    """Bring the history up to date at T; None is a table that does not exist yet.

    Raise `OracleError`, with all its reasons, where the run writes nothing.
    """
    before = history or History()
    refuse_time(before, at)
    refuse_columns(source, settings)
    refuse_rows(before, source, settings)

    this = Run(source, settings, at, inference or Inference())
    stored = [timed(version, settings) for version in before.versions]
    update = update_all(stored, this)
    kept = retain(update.versions, settings.retention, at)

    metrics = measure(stored, update, kept, this)
    is_commit = history is None or kept != list(before.versions)
    after = commit(before, kept, this) if is_commit else before
    return Outcome(after, metrics, is_commit)


def timed(stored: Version, settings: Snapshot) -> Version:
    """Read the stored `updated_at`: it is a business column, NULL if it came later."""
    is_timed = isinstance(settings.change, NewerThan)
    return replace(stored, u=stored.values.get(settings.change.column) if is_timed else None)


def update_all(stored: Sequence[Version], this: Run) -> Update:
    """Update every key that the table or the source has."""
    arrived = arrivals(this.source, this.settings)
    keys = {version.key for version in stored} | arrived.keys()
    parts = [
        update_key([v for v in stored if v.key == key], arrived.get(key), this)
        for key in sorted(keys, key=in_order)
    ]
    return Update(
        ordered(version for part in parts for version in part.versions),
        [each for part in parts for each in part.classes],
        sum(part.deleted for part in parts),
    )


def update_key(stored: list[Version], rows: list[Version] | None, this: Run) -> Update:
    """Update one key. `rows` is None if it is missing, empty if all its rows are ignored."""
    if rows is None:
        return missing(stored, this)
    if not rows:
        return Update(stored)
    if this.settings.event_time:
        return Update(*oracle_event_time.arrive(stored, rows, this.at))
    return arrive(stored, rows[0], this)


def arrive(stored: list[Version], row: Version, this: Run) -> Update:
    """Run-time mode, a key with a source row."""
    c = current(stored)
    opened = replace(row, valid_from=this.at)
    if c is None:
        return Update([*stored, opened], [("opened_new", opened)])
    if not c.is_live or changed(opened, c, this):
        return Update([*closed(stored, c, this), opened], [("opened_changed", opened)])
    return Update(stored, [("unchanged", row)])


def missing(stored: list[Version], this: Run) -> Update:
    """Both modes, a key without a source row."""
    c = current(stored)
    if c is None or not c.is_live or not this.inference.scope(c):
        return Update(stored)
    match this.settings.hard_deletes:
        case HardDeletes.IGNORE:
            return Update(stored)
        case HardDeletes.INVALIDATE:
            return Update(closed(stored, c, this, **this.inference.sets), deleted=1)
        case HardDeletes.NEW_RECORD:
            tombstone = replace(c, valid_from=this.at, is_deleted=True)
            return Update([*closed(stored, c, this), tombstone], deleted=1)


def current(stored: list[Version]) -> Version | None:
    """Give the current version of a key."""
    return next((version for version in stored if version.is_current), None)


def closed(stored: list[Version], c: Version, this: Run, **sets: object) -> list[Version]:
    """Close the current version at T."""
    if this.at <= c.valid_from:
        raise OracleError(Fault("run-time-not-after-version", 1, (c.key,)))
    end = replace(c, valid_to=this.at, is_current=False, values={**c.values, **sets})
    return [end if version is c else version for version in stored]


def changed(s: Version, c: Version, this: Run) -> bool:
    """The change test, of a source row and a live current version."""
    match this.settings.change:
        case NewerThan(column, compare_rows):
            is_newer = c.u is None or s.u > c.u
            others = set(this.source.columns) - {*this.settings.keys, column}
            return is_newer and (not compare_rows or differ(s, c, others))
        case ColumnsDiffer(None):
            return differ(s, c, set(this.source.columns) - set(this.settings.keys))
        case ColumnsDiffer(columns):
            return differ(s, c, columns)
        case HashDiffers(column, None):
            return differ(s, c, (column,))
        case HashDiffers(_, hashed):
            return differ(s, c, hashed)


def differ(s: Version, c: Version, columns: Sequence[str] | set[str]) -> bool:
    """Whether any column differs; one that the table does not have is NULL there."""
    return any(not same(s.values.get(x), c.values.get(x)) for x in columns)


def measure(stored: Sequence[Version], update: Update, kept: list[Version], this: Run) -> Metrics:
    """Count what the run did."""
    then = {name(version): version for version in stored}
    now = {name(version): version for version in update.versions}
    left = {name(version) for version in kept}
    counts = Counter(
        word if word == "unchanged" or name(row) in left else "skipped"
        for word, row in update.classes
    )
    ends = [(version.valid_to, now[each].valid_to) for each, version in then.items()]
    return Metrics(
        source_rows=len(this.source.rows),
        ignored=sum(is_ignored(row, this.settings) for row in this.source.rows),
        closed=sum(old is None and new is not None for old, new in ends),
        shortened=sum(old is not None and new < old for old, new in ends),
        deleted=update.deleted,
        pruned=len(then.keys() - left),
        **counts,
    )


def name(version: Version) -> tuple[object, ...]:
    """Give what names a version: its key and where it starts."""
    return (version.key, version.valid_from)


def commit(before: History, kept: list[Version], this: Run) -> History:
    """Write the versions; columns that a written version needs are added, none is ever dropped."""
    then = {name(version) for version in before.versions}
    opened = [version for version in kept if name(version) not in then]
    is_first = before.high_time is None
    needs_columns = is_first or any(not version.is_deleted for version in opened)
    has_is_deleted = (
        before.has_is_deleted
        or any(version.is_deleted for version in opened)
        or (is_first and this.settings.hard_deletes is HardDeletes.NEW_RECORD)
    )
    new = [c for c in this.source.columns if c not in before.columns] if needs_columns else []
    columns = (*before.columns, *new)
    written = [
        replace(
            version,
            values={column: version.values.get(column) for column in columns},
            is_deleted=version.is_deleted if has_is_deleted else None,
        )
        for version in kept
    ]
    return History(tuple(written), columns, has_is_deleted, this.at)
