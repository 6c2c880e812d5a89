"""The one statement of a run that commits, and the rows that it is fed."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.columns.schema import Column
from penstock.core.names import literal, quoted
from penstock.core.statement import ROW_CHANGE, TARGET_VIEW, Commit
from penstock.core.strategy import Build
from penstock.strategies.build import HASH_JOIN
from penstock.strategies.comparing import converted
from penstock.strategies.history.counts import Counts
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.source import rehashes, stored_hash
from penstock.strategies.history.terms import (
    AT,
    CLASS,
    CLOSE_TO,
    COPIES,
    EARLY,
    FROM,
    GONE,
    LATE_STAGED,
    NO_TIME,
    NULL_KEY,
    NULL_TIME,
    OP,
    OPEN_TO,
    OPS,
    SEEN,
    STAGED,
    TIED,
    TIME,
    TO,
    TOMBSTONES,
    TWICE,
)

_UNDERNEATH = (
    "penstock:history-changed-underneath: a version that was classified is no longer there"
)
# What is fed is cut off from its query already: Delta need not keep it once more.
_CONFS = {"spark.databricks.delta.merge.materializeSource": "none", **HASH_JOIN}
_FEW = 100_000
"""So many staged rows are sent to every executor, which spares moving the table's rows."""
_FOUND_WRONG = (NULL_KEY, NULL_TIME, NO_TIME, COPIES, EARLY, TWICE)


def staged(sides: Sides, seen: str = SEEN) -> str:
    """Give one row per operation; business values only where they are needed."""
    terms = sides.terms
    keys = {key.lower() for key in terms.keys}
    columns = [f"op.op AS {OP}, op.at AS {AT}"]
    for column in sides.query.columns:
        name = quoted(column.name)
        if column.name.lower() in keys:
            columns.append(name)
        else:
            columns.append(
                f"CASE WHEN op.op IN ('open', 'pending', 'problem') THEN {name} END AS {name}"
            )
    if terms.made_hash:
        columns.append(quoted(terms.made_hash.column))
    columns += [
        FROM,
        f"CASE WHEN op.op = 'open' THEN {OPEN_TO} ELSE {CLOSE_TO} END AS {TO}",
        f"coalesce({_gone()}, false) AS {GONE}",
        TIME,
        *_FOUND_WRONG,
        *((TIED, *_RECEIVED) if terms.event_time else ()),
    ]
    return f"SELECT {', '.join(columns)} FROM (SELECT *, explode({OPS}) AS op FROM {quoted(seen)})"


def _gone() -> str:
    """Whether an operation ends the version of a missing key; retention may remove it at once."""
    return f"{CLASS} = 'deleted' AND op.op IN ('close', 'delete') AND op.at = {AT}"


_RECEIVED = ("`__penstock_in_source`", "`__penstock_ignored`")


def tombstones(sides: Sides) -> str:
    """Give a tombstone for every key that is gone, with the values that its version had."""
    terms = sides.terms
    keys = f"SELECT * FROM {STAGED} WHERE {GONE}"
    columns = [f"t.{quoted(column.name)}" for column in sides.stored]
    if terms.made_hash:
        name = quoted(terms.made_hash.column)
        columns.append(f"{stored_hash(sides)} AS {name}" if rehashes(sides) else f"t.{name}")
    valid_from = f"t.{quoted(terms.columns.valid_from)}"
    return (
        f"SELECT {', '.join(columns)} FROM {quoted(TARGET_VIEW)} t LEFT SEMI JOIN ({keys}) g "
        f"ON {terms.on('t', 'g')} AND {valid_from} = g.{AT} WHERE t.{sides.current}"
    )


def merge(build: Build, sides: Sides, counts: Counts) -> Commit:
    """Give the MERGE that opens, closes, moves and removes what was staged, or fails as a whole.

    A version that was classified and is no longer there makes it fail before it commits.
    """
    terms = sides.terms
    columns = terms.columns
    alone = not (counts.pruned or counts.moves)
    current = ""
    if alone:
        current = (
            f" AND t.{quoted(columns.is_current)} = true AND t.{quoted(columns.valid_to)} IS NULL"
        )
    few = counts.opens + counts.updates + counts.pruned + counts.rehashed <= _FEW
    hint = "/*+ BROADCAST(fed) */ " if few else ""
    fed = f"SELECT {hint}* FROM ({_fed(sides, counts)}) fed"
    return Commit(
        f"MERGE WITH SCHEMA EVOLUTION INTO {build.target} t USING ({fed}) s "
        f"ON {terms.on('t', 's')} AND t.{quoted(columns.valid_from)} = s.{AT}{current} "
        + " ".join(_clauses(sides, counts)),
        _CONFS,
        metrics=counts.metrics,
        expected={
            "numTargetRowsInserted": ("M3", counts.opens),
            "numTargetRowsUpdated": ("M4", counts.updates + counts.rehashes),
            "numTargetRowsDeleted": ("M4", counts.pruned),
            ROW_CHANGE: ("M5", counts.opens - counts.pruned),
        },
        exclusive=True,
    )


def _clauses(sides: Sides, counts: Counts) -> list[str]:
    """Give what happens to each kind of staged row; kinds that are not there get no clause."""
    terms = sides.terms
    clauses = []
    if counts.pruned:
        clauses.append(f"WHEN MATCHED AND s.{OP} = 'delete' THEN DELETE")
    if counts.updates:
        clauses.append(
            f"WHEN MATCHED AND s.{OP} IN ('close', 'move') THEN UPDATE SET {_ends(sides)}"
        )
    if counts.rehashes and terms.made_hash:
        name = quoted(terms.made_hash.column)
        clauses.append(f"WHEN MATCHED AND s.{OP} = 'rehash' THEN UPDATE SET t.{name} = s.{name}")
    if counts.opens:
        names, values = _row(sides, counts)
        clauses.append(
            f"WHEN NOT MATCHED AND s.{OP} = 'open' THEN INSERT ({', '.join(names)}) "
            f"VALUES ({', '.join(values)})"
        )
    key = quoted(terms.keys[0])
    clauses.append(
        f"WHEN NOT MATCHED THEN INSERT ({key}) VALUES (raise_error({literal(_UNDERNEATH)}))"
    )
    return clauses


def _ends(sides: Sides) -> str:
    columns = sides.terms.columns
    sets = [
        f"t.{quoted(columns.valid_to)} = s.{TO}",
        f"t.{quoted(columns.is_current)} = false",
    ]
    for name, value in sides.terms.missing_sets:
        sets.append(f"t.{quoted(name)} = CASE WHEN s.{GONE} THEN {value} ELSE t.{quoted(name)} END")
    return ", ".join(sets)


def _row(sides: Sides, counts: Counts) -> tuple[list[str], list[str]]:
    """Give the columns of a new version and their values."""
    terms = sides.terms
    names = [quoted(column.name) for column in _business(sides, counts)]
    values = [f"s.{name}" for name in names]
    columns = terms.columns
    names += map(quoted, (columns.valid_from, columns.valid_to, columns.is_current))
    values += [f"s.{FROM}", f"s.{TO}", f"s.{TO} IS NULL"]
    if writes_tombstones(sides, counts):
        names.append(quoted(columns.is_deleted))
        values.append(f"s.{quoted(columns.is_deleted)}")
    if terms.made_hash:
        names.append(quoted(terms.made_hash.column))
        values.append(f"s.{quoted(terms.made_hash.column)}")
    return names, values


def writes_tombstones(sides: Sides, counts: Counts) -> bool:
    """Whether rows of this commit say if they are tombstones."""
    return sides.has_deleted or counts.tombstones > 0


def opened_rows(sides: Sides, counts: Counts) -> str:
    """Give the versions that the MERGE opens, as they are stored."""
    names, values = _row(sides, counts)
    pairs = ", ".join(f"{value} AS {name}" for name, value in zip(names, values, strict=True))
    return f"SELECT {pairs} FROM ({_fed(sides, counts)}) s WHERE s.{OP} = 'open'"


def _business(sides: Sides, counts: Counts) -> tuple[Column, ...]:
    """Give what a new version holds: the query's columns; a tombstone also those it lost."""
    return (*sides.query.columns, *(sides.gone if counts.tombstones else ()))


def _fed(sides: Sides, counts: Counts) -> str:
    """Give the staged rows of every stage that ran, in one shape."""
    only = f" AND {OP} <> 'rehash'" if counts.rehashed and not counts.rehashes else ""
    columns = ", ".join(_shaped(sides, counts))
    parts = [f"SELECT {columns} FROM {STAGED} WHERE {OP} <> 'pending'{only}"]
    if counts.pending:
        parts.append(f"SELECT {', '.join(_shaped(sides, counts))} FROM {LATE_STAGED}")
    if counts.tombstones:
        parts.append(f"SELECT {', '.join(_tombs(sides, counts))} FROM {TOMBSTONES}")
    return " UNION ALL ".join(parts)


def _shaped(sides: Sides, counts: Counts) -> Iterator[str]:
    columns = sides.terms.columns
    yield f"{OP}, {AT}, {FROM}, {TO}, {GONE}"
    for column in _business(sides, counts):
        name = quoted(column.name)
        known = sides.table.find(column.name)
        if sides.query.find(column.name) is None:
            yield f"CAST(NULL AS {column.type}) AS {name}"
        elif known is not None and known.type != column.type:
            yield f"{converted(name, column.type, sides.held(column))} AS {name}"
        else:
            yield name
    if sides.terms.made_hash:
        yield quoted(sides.terms.made_hash.column)
    if writes_tombstones(sides, counts):
        yield f"false AS {quoted(columns.is_deleted)}"


def _tombs(sides: Sides, counts: Counts) -> Iterator[str]:
    columns = sides.terms.columns
    nothing = "CAST(NULL AS TIMESTAMP)"
    yield f"'open' AS {OP}, {nothing} AS {AT}, {sides.terms.at} AS {FROM}"
    yield f"{nothing} AS {TO}, true AS {GONE}"
    for column in _business(sides, counts):
        name = quoted(column.name)
        known = sides.table.find(column.name)
        if known is None:
            yield f"CAST(NULL AS {column.type}) AS {name}"
        elif sides.query.find(column.name) is not None:
            wanted = sides.query.find(column.name) or column
            yield f"{converted(name, known.type, sides.held(wanted))} AS {name}"
        else:
            yield name
    if sides.terms.made_hash:
        yield quoted(sides.terms.made_hash.column)
    yield f"true AS {quoted(columns.is_deleted)}"
