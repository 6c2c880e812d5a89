"""The strategy `snapshot`: a history of the query's rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core import strategy as port
from penstock.core.history import (
    ChangeTest,
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
)
from penstock.core.names import quoted
from penstock.core.statement import FEW_ROWS, Commit, Passing, Row, Stage, Work
from penstock.strategies.build import HASH_JOIN, keeps_types
from penstock.strategies.history import commit, event_time, feed, operations, run_time, source
from penstock.strategies.history import terms as ps
from penstock.strategies.history.commit import Counts
from penstock.strategies.history.source import rules
from penstock.strategies.history.terms import Sides, Terms


@dataclass(frozen=True, slots=True)
class Snapshot(HistorySettings, port.Strategy):
    """Every version of the rows is kept, with its interval of validity."""

    name = "snapshot"
    settings = port.STORED | {"unique_key", "null_keys"}
    writing = port.Writing.MERGED
    rerun_is_safe = True
    hides_rows = True
    command = "snapshot run"
    dbt = ("snapshot", "")

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Read how it keeps versions."""
        found = settings.history()
        return cls(*(getattr(found, each.name) for each in dataclasses.fields(found)))

    @property
    def history(self) -> HistorySettings:
        """Its settings."""
        return self

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return all its settings, except the layout."""
        del layout
        retention = self.retention
        return {
            "keys": _lower_sorted(self.keys),
            "change": _change_key(self.change),
            "event_time": self.event_time,
            "hard_deletes": str(self.hard_deletes),
            "match_null_keys": self.match_null_keys,
            "ignore_null_time": self.ignore_null_time,
            "allow_empty": self.allow_empty,
            "retention": [retention.keep_last, retention.keep_days] if retention else None,
            "system_columns": list(self.columns.meaning),
        }

    def work(self, build: port.Build) -> Work:
        """Open versions for new data, close ended ones (docs/history.md)."""
        if build.history is None:
            raise TypeError(f"{build.model.name} has no run timestamp")
        return history(build, terms_of(self, build.history), build.history.properties)

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of a first run with guards: all its rows are new."""
        if "source_rows" in metrics:
            return {}
        rows = metrics.get("numOutputRows", 0)
        return Counts(source_rows=rows, opened_new=rows).metrics


def _change_key(change: ChangeTest) -> list[object]:
    match change:
        case NewerThan(column, compare_rows):
            return ["newer", column.lower(), compare_rows]
        case ColumnsDiffer(columns):
            return ["columns", None if columns is None else _lower_sorted(columns)]
        case HashDiffers(column, hashed):
            return ["hash", column, None if hashed is None else _lower_sorted(hashed)]


def _lower_sorted(names: tuple[str, ...]) -> list[str]:
    """Return names in lower case and sorted: case and order do not matter."""
    return sorted(name.lower() for name in names)


def terms_of(snapshot: HistorySettings, run: port.HistoryRun) -> Terms:
    """Return the terms of a snapshot's run."""
    names = (each.name for each in dataclasses.fields(HistorySettings))
    terms = Terms(*(getattr(snapshot, each) for each in names), moment=run.run_timestamp)
    allow_empty = snapshot.allow_empty or run.allow_empty
    return dataclasses.replace(terms, allow_empty=allow_empty, retention=run.retention)


def history(build: port.Build, terms: Terms, properties: Mapping[str, str]) -> Work:
    """Open versions for new data, close ended ones; `properties` are for a new table."""
    sides = Sides.of(build, terms)
    if build.table is None:
        return _create(build, sides, properties)

    def decide(row: Row) -> Commit | None:
        found = _checked_counts(sides, row)
        return commit.merge(build, sides, found) if found.writes else None

    def rows(row: Row) -> str:
        return commit.opened_rows(sides, Counts.of(row))

    def after(row: Row) -> str:
        return commit.table_after(sides, Counts.of(row))

    says = keeps_types(sides.table, build.query)
    stages = tuple(_stages(build, sides))
    return Work(stages, decide, _metrics, rows=rows, after=after if says else None)


def _create(build: port.Build, sides: Sides, properties: Mapping[str, str]) -> Work:
    """Create the table; in one action if guards can check the rows while they are written."""

    def decide(row: Row) -> Commit:
        return commit.from_staged(build, sides, properties, _checked_counts(sides, row))

    look, terms = Work((_classify_stage(build, sides),), decide, _metrics), sides.terms
    if build.staged or terms.event_time or terms.ignore_null_time:  # counts that no guard can give
        return dataclasses.replace(look, rows=lambda _: commit.first_rows(sides))
    create = commit.from_query(build, sides, properties)
    return Work((), lambda _: create, again=look)


def _metrics(row: Row) -> Mapping[str, int]:
    return Counts.of(row).metrics if row else {}


def _checked_counts(sides: Sides, row: Row) -> Counts:
    found = Counts.of(row)
    found.check(event_time=sides.terms.event_time)
    return found


def _stages(build: port.Build, sides: Sides) -> list[Stage]:
    terms, stages = sides.terms, [_classify_stage(build, sides)]
    if not (terms.event_time or terms.retention or terms.ignore_null_time):
        stages = _unique_stages(build, sides)
    elif sides.replays and not (terms.event_time and _needs_history(sides)):
        stages = [source.count_repeats(sides), _join_free(build, sides)]
    if sides.terms.event_time and not _needs_history(sides):
        # What needs closed versions: they are read for the keys of those rows alone.
        late, tallies = event_time.classify_late(sides), commit.counts_late(sides)
        passing = Passing(ps.LATE_SEEN, late, tallies)
        placing = _place(build, sides, ps.LATE_STAGED, passing, commit.LATE)
        few = event_time.classify_late(sides, "/*+ BROADCAST(p) */ ")
        stages.append(_small_variant(placing, few))
    if sides.terms.hard_deletes is HardDeletes.NEW_RECORD:
        # Cut off like all that the MERGE is fed: Delta keeps it not.
        passing = Passing(ps.GONE_SEEN, operations.tombstones(sides), {"tombstones": "count(*)"})
        kept = f"SELECT * FROM {quoted(ps.GONE_SEEN)}"
        gone = Stage(ps.TOMBSTONES, kept, passing=passing, when="deleted", confs=HASH_JOIN)
        stages.append(_small_variant(gone, operations.tombstones(sides, "/*+ BROADCAST(g) */ ")))
    return stages


def _unique_stages(build: port.Build, sides: Sides) -> list[Stage]:
    """Return stages that assume unique keys on both sides, and verify the assumption.

    If it fails, or any row is invalid, other rows of each key are read, and all errors are found.
    """
    counted = dataclasses.replace(sides, twins=False, copies=False, counts=True)
    changed = build.history.changed if build.history else None
    if sides.replays and not sides.decisive and changed is None:
        counted = dataclasses.replace(counted, narrow=not source.rehashes(sides))
    again = _classify_stage(build, sides)
    stage = dataclasses.replace(_classify_stage(build, counted), retry=_other(counted, again))
    twice = operations.count_doubles(counted, stage.view)
    return [
        *([stage] if changed is None else _feed_stages(build, counted, stage, changed)),
        dataclasses.replace(twice, retry=lambda seen: again if seen["doubles"] else None),
        *((_fetch_stage(counted, again),) if counted.narrow else ()),
    ]


def _other(sides: Sides, again: Stage, *, names: bool = False) -> Callable[[Row], Stage | None]:
    """Return the retry of a stage that counts its sides: `again` where keys are not unique."""
    invalid = [rule.count for rule in rules(sides, "", "")]

    def retry(row: Row) -> Stage | None:
        why = feed.not_enough(row) if names else ""
        if not why and source.is_unique(row) and not any(row[count] for count in invalid):
            return None
        return feed.reading_all(again, why or "rows are invalid") if names else again

    return retry


def _feed_stages(build: port.Build, unique: Sides, full: Stage, changed: int) -> list[Stage]:
    """Return the stages that classify changed rows alone, and all rows where those are too few."""
    sides = dataclasses.replace(unique, changed=changed)
    stage = _classify_stage(build, sides)
    stages = [dataclasses.replace(stage, retry=_other(sides, full, names=True))]
    asks = sides.terms.closes_missing and not sides.terms.allow_empty
    return [*stages, feed.any_left(sides, full)] if asks else stages


def _fetch_stage(sides: Sides, again: Stage) -> Stage:
    """Return the stage that completes found rows; if one is missing, all are read `again`."""

    def chosen(row: Row) -> Stage:
        number = int(row["found"] or 0)
        passing = Passing(ps.FETCHED, operations.full_rows(sides, number), {"fetched": "count(*)"})
        return Stage(
            ps.STAGED,
            f"SELECT * FROM {quoted(ps.FETCHED)}",
            passing=passing,
            confs=HASH_JOIN,
            retry=lambda look: None if look["fetched"] == number else again,
        )

    return dataclasses.replace(chosen({"found": 0}), when="found", chosen=chosen)


def _small_variant(stage: Stage, sql: str) -> Stage:
    """Return a stage with other SQL for few rows."""
    assert stage.passing is not None  # noqa: S101  both stages count what passes by
    few = dataclasses.replace(stage, passing=dataclasses.replace(stage.passing, sql=sql))
    return dataclasses.replace(
        stage, chosen=lambda seen: few if int(seen[stage.when] or 0) <= FEW_ROWS else stage
    )


def _join_free(build: port.Build, sides: Sides) -> Stage:
    """Return the stage that classifies rows; it joins rows of the same key only if needed."""

    def chosen(row: Row) -> Stage:
        twins, copies = bool(row["twins"]), int(row["copies"] or 0)
        named = sides.terms.event_time and not sides.terms.ignore_null_time
        apart = named and copies <= FEW_ROWS
        found = dataclasses.replace(sides, twins=twins, copies=bool(copies), apart=apart)
        return _classify_stage(build, found)

    return dataclasses.replace(_classify_stage(build, sides), chosen=chosen)


def _needs_history(sides: Sides) -> bool:
    """Return whether closed versions are needed for every key: retention ranks all of them."""
    return sides.terms.retention is not None or not sides.table.columns


def _classify_stage(build: port.Build, sides: Sides) -> Stage:
    read: Mapping[str, str] = {}
    view = ps.FOUND if sides.narrow else ps.STAGED
    if not sides.terms.event_time:
        rows, tallies = run_time.classify(sides), commit.counts(sides)
        read = run_time.sides_of(sides)
    elif _needs_history(sides):
        rows, tallies = event_time.classify_all(sides), commit.counts_placed(sides)
    else:
        rows, tallies = event_time.classify_by_current(sides), commit.counts_by_current(sides)
    return _place(build, sides, view, Passing(ps.SEEN, rows, tallies, read))


def _place(build: port.Build, sides: Sides, view: str, passing: Passing, late: str = "") -> Stage:
    return Stage(
        view,
        operations.operation_rows(sides, passing.view),
        rules=rules(sides, build.model.name, view, late),
        passing=passing,
        when="pending" if late else "",
        confs=HASH_JOIN,
    )
