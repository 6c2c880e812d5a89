"""One run of one history table: classify in one pass over the source, commit in one MERGE."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.history import HardDeletes
from penstock.core.names import literal, quoted
from penstock.core.statement import Commit, Passing, Row, Stage, Work
from penstock.core.strategy import Build
from penstock.strategies.build import HASH_JOIN, create, listed
from penstock.strategies.history import terms
from penstock.strategies.history.commit import merge, opened_rows, staged, tombstones
from penstock.strategies.history.counts import (
    LATE,
    Counts,
    counted,
    counted_by_current,
    counted_late,
    counted_placed,
)
from penstock.strategies.history.event_time import placed, placed_late
from penstock.strategies.history.rules import rules
from penstock.strategies.history.run_time import by_current, classified
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.source import marked, problem
from penstock.strategies.history.terms import FROM, OP, STAGED, TO, Terms

REFUSED = "history-guard"


def from_query(build: Build, sides: Sides, properties: Mapping[str, str]) -> Commit:
    """Create the table from the query in one action.

    A row that may not be there fails the statement before it commits; who it is must be looked up
    afterwards.
    """
    refused = literal(f"penstock:{REFUSED}: the source has rows that may not be there")
    guard = f"CASE WHEN {problem(sides)} THEN CAST(raise_error({refused}) AS BOOLEAN) ELSE true END"
    nothing = "CAST(NULL AS TIMESTAMP)"
    rows = _rows(sides, sides.terms.at, nothing, "true")
    made = create(build, f"SELECT {rows} FROM ({marked(sides)}) WHERE {guard}", properties)
    return Commit(made.sql, exclusive=True)


def from_staged(
    build: Build, sides: Sides, properties: Mapping[str, str], counts: Counts
) -> Commit:
    """Create the table from rows that were classified."""
    made = create(build, first_rows(sides), properties)
    return Commit(
        made.sql,
        metrics=counts.metrics,
        expected={"numOutputRows": ("M3", counts.opens)},
        exclusive=True,
    )


def first_rows(sides: Sides) -> str:
    """Give the rows of a first run that were classified, as they are stored."""
    rows = _rows(sides, FROM, TO, f"{TO} IS NULL")
    return f"SELECT {rows} FROM {STAGED} WHERE {OP} = 'open'"


def _rows(sides: Sides, valid_from: str, valid_to: str, is_current: str) -> str:
    terms, columns = sides.terms, sides.terms.columns
    parts = [
        listed(sides.query.names),
        f"{valid_from} AS {quoted(columns.valid_from)}",
        f"{valid_to} AS {quoted(columns.valid_to)}",
        f"{is_current} AS {quoted(columns.is_current)}",
    ]
    if terms.missing is HardDeletes.NEW_RECORD:
        parts.append(f"false AS {quoted(columns.is_deleted)}")
    if terms.made_hash:
        parts.append(quoted(terms.made_hash.column))
    return ", ".join(parts)


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

    return Work(tuple(_stages(build, sides)), decide, _message, rows=rows)


def _first(build: Build, sides: Sides, properties: Mapping[str, str]) -> Work:
    """Create the table: in one action where the rows can be guarded as they are written."""
    look = Work((_classify(build, sides),), lambda seen: _create(build, sides, properties, seen))
    terms = sides.terms
    if build.staged or terms.event_time or terms.ignore_null_time:  # counts that no guard can give
        return Work(look.stages, look.decide, _message, rows=lambda _: first_rows(sides))
    create = from_query(build, sides, properties)
    return Work((), lambda _: create, again=Work(look.stages, look.decide, _message))


def _create(build: Build, sides: Sides, properties: Mapping[str, str], seen: Row) -> Commit:
    return from_staged(build, sides, properties, _checked(sides, seen))


def _message(seen: Row) -> Mapping[str, int]:
    return Counts.of(seen).metrics if seen else {}


def _checked(sides: Sides, seen: Row) -> Counts:
    counts = Counts.of(seen)
    counts.check(event_time=sides.terms.event_time)
    return counts


def _stages(build: Build, sides: Sides) -> list[Stage]:
    stages = [_classify(build, sides)]
    if sides.terms.event_time and not _needs_history(sides):
        stages.append(_late(build, sides))
    if sides.terms.missing is HardDeletes.NEW_RECORD:
        stages.append(_tombstones(sides))
    return stages


def _tombstones(sides: Sides) -> Stage:
    """Read what missing keys held; cut off like all that the MERGE is fed, Delta keeps it not."""
    return Stage(
        terms.TOMBSTONES,
        f"SELECT * FROM {quoted(terms.GONE_SEEN)}",
        passing=Passing(terms.GONE_SEEN, tombstones(sides), {"tombstones": "count(*)"}),
        when="deleted",
        confs=HASH_JOIN,
    )


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
    return Stage(
        terms.STAGED,
        staged(sides, terms.SEEN),
        rules=rules(sides, build.model.name, terms.STAGED),
        passing=Passing(terms.SEEN, rows, counts),
        confs=HASH_JOIN,
    )


def _late(build: Build, sides: Sides) -> Stage:
    """Place what needs closed versions, which are read for the keys of those rows alone."""
    return Stage(
        terms.LATE_STAGED,
        staged(sides, terms.LATE_SEEN),
        rules=rules(sides, build.model.name, terms.LATE_STAGED, LATE),
        passing=Passing(terms.LATE_SEEN, placed_late(sides), counted_late(sides)),
        when="pending",
        confs=HASH_JOIN,
    )
