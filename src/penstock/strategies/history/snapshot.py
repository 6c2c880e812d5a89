"""The strategy `snapshot`: a history of the query's rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core.history import (
    ChangeTest,
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
)
from penstock.core.names import quoted
from penstock.core.statement import Commit, Passing, Row, Stage, Work
from penstock.core.strategy import (
    STORED,
    Build,
    GivenSettings,
    HistoryRun,
    Layout,
    Strategy,
    Writing,
)
from penstock.strategies.build import HASH_JOIN
from penstock.strategies.history import terms as views
from penstock.strategies.history.commit import (
    first_rows,
    from_query,
    from_staged,
    merge,
    opened_rows,
    staged,
    tombstones,
)
from penstock.strategies.history.counts import (
    LATE,
    Counts,
    counted,
    counted_by_current,
    counted_late,
    counted_placed,
    first_metrics,
)
from penstock.strategies.history.event_time import by_current, placed, placed_late
from penstock.strategies.history.run_time import classified
from penstock.strategies.history.source import rules
from penstock.strategies.history.terms import Sides, Terms


@dataclass(frozen=True, slots=True)
class Snapshot(HistorySettings, Strategy):
    """Every version of the rows is kept, with the interval in which it was valid."""

    name = "snapshot"
    settings = STORED | {"unique_key", "null_keys"}
    writing = Writing.MERGED
    rerun_is_safe = True
    command = "snapshot run"
    dbt = ("snapshot", "")

    @classmethod
    def read(cls, given: GivenSettings) -> Self:
        """Read how it keeps versions."""
        found = given.history()
        return cls(*(getattr(found, each.name) for each in dataclasses.fields(found)))

    @property
    def history(self) -> HistorySettings:
        """Its settings."""
        return self

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Give all its settings, but where its rows lie."""
        del layout
        retention = self.retention
        return {
            "keys": _folded(self.keys),
            "change": _change(self.change),
            "event_time": self.event_time,
            "hard_deletes": str(self.hard_deletes),
            "match_null_keys": self.match_null_keys,
            "ignore_null_time": self.ignore_null_time,
            "allow_empty": self.allow_empty,
            "retention": [retention.keep_last, retention.keep_days] if retention else None,
            "system_columns": list(self.columns.names),
        }

    def work(self, build: Build) -> Work:
        """Open what the source shows new, close what ended (docs/history.md)."""
        if build.history is None:
            raise TypeError(f"{build.model.name} has no run timestamp")
        return history(build, terms_of(self, build.history), build.history.properties)

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Count a first run that was guarded as it was written: all its rows are new."""
        if "source_rows" in metrics:
            return {}
        return first_metrics(metrics.get("numOutputRows", 0))


def _change(change: ChangeTest) -> list[object]:
    match change:
        case NewerThan(column, compare_rows):
            return ["newer", column.lower(), compare_rows]
        case ColumnsDiffer(columns):
            return ["columns", None if columns is None else _folded(columns)]
        case HashDiffers(column, hashed):
            return ["hash", column, None if hashed is None else _folded(hashed)]


def _folded(names: tuple[str, ...]) -> list[str]:
    """Give names without case and order: neither says anything."""
    return sorted(name.lower() for name in names)


def terms_of(snapshot: HistorySettings, run: HistoryRun) -> Terms:
    """Give the terms of a snapshot's run."""
    return Terms(
        keys=snapshot.keys,
        change=snapshot.change,
        moment=run.run_timestamp,
        columns=snapshot.columns,
        event_time=snapshot.event_time,
        missing=snapshot.hard_deletes,
        match_null_keys=snapshot.match_null_keys,
        ignore_null_time=snapshot.ignore_null_time,
        allow_empty=snapshot.allow_empty or run.allow_empty,
        retention=run.retention,
    )


def history(build: Build, terms: Terms, properties: Mapping[str, str]) -> Work:
    """Bring a history table up to date: what the source shows new is opened, what ended is closed.

    The source is read once and the MERGE is fed only rows that must change, so a run that
    changes nothing makes no commit. `properties` are written with the table's first version.
    """
    sides = Sides.of(build, terms)
    if build.table is None:
        return _first(build, sides, properties)

    def decide(seen: Row) -> Commit | None:
        counts = _checked(sides, seen)
        return merge(build, sides, counts) if counts.writes else None

    def rows(seen: Row) -> str:
        return opened_rows(sides, Counts.of(seen))

    return Work(tuple(_stages(build, sides)), decide, _metrics, rows=rows)


def _first(build: Build, sides: Sides, properties: Mapping[str, str]) -> Work:
    """Create the table: in one action where the rows can be guarded as they are written."""

    def decide(seen: Row) -> Commit:
        return from_staged(build, sides, properties, _checked(sides, seen))

    look, terms = Work((_classify(build, sides),), decide, _metrics), sides.terms
    if build.staged or terms.event_time or terms.ignore_null_time:  # counts that no guard can give
        return dataclasses.replace(look, rows=lambda _: first_rows(sides))
    create = from_query(build, sides, properties)
    return Work((), lambda _: create, again=look)


def _metrics(seen: Row) -> Mapping[str, int]:
    return Counts.of(seen).metrics if seen else {}


def _checked(sides: Sides, seen: Row) -> Counts:
    counts = Counts.of(seen)
    counts.check(event_time=sides.terms.event_time)
    return counts


def _stages(build: Build, sides: Sides) -> list[Stage]:
    stages = [_classify(build, sides)]
    if sides.terms.event_time and not _needs_history(sides):
        # What needs closed versions: they are read for the keys of those rows alone.
        passing = Passing(views.LATE_SEEN, placed_late(sides), counted_late(sides))
        stages.append(_placing(build, sides, views.LATE_STAGED, passing, LATE))
    if sides.terms.missing is HardDeletes.NEW_RECORD:
        # Cut off like all that the MERGE is fed: Delta keeps it not.
        passing = Passing(views.GONE_SEEN, tombstones(sides), {"tombstones": "count(*)"})
        kept = f"SELECT * FROM {quoted(views.GONE_SEEN)}"
        stages.append(
            Stage(views.TOMBSTONES, kept, passing=passing, when="deleted", confs=HASH_JOIN)
        )
    return stages


def _needs_history(sides: Sides) -> bool:
    """Whether closed versions are looked at for every key: retention ranks them all."""
    return sides.terms.retention is not None or not sides.table.columns


def _classify(build: Build, sides: Sides) -> Stage:
    if not sides.terms.event_time:
        rows, counts = classified(sides), counted(sides)
    elif _needs_history(sides):
        rows, counts = placed(sides), counted_placed(sides)
    else:
        rows, counts = by_current(sides), counted_by_current(sides)
    return _placing(build, sides, views.STAGED, Passing(views.SEEN, rows, counts))


def _placing(build: Build, sides: Sides, view: str, passing: Passing, late: str = "") -> Stage:
    return Stage(
        view,
        staged(sides, passing.view),
        rules=rules(sides, build.model.name, view, late),
        passing=passing,
        when="pending" if late else "",
        confs=HASH_JOIN,
    )
