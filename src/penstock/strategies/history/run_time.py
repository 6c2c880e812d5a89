"""Run-time mode: intervals say when penstock saw a change (docs/history.md)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.history import HardDeletes, NewerThan
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history.sides import Sides, candidates, goes, stored_name
from penstock.strategies.history.source import marked, problem, rehashes, stored_hash
from penstock.strategies.history.terms import (
    AT,
    CHANGED,
    CLASS,
    CLOSE_TO,
    COPIES,
    EARLY,
    FROM,
    IGNORED,
    IN_SCOPE,
    IN_SOURCE,
    IN_TABLE,
    NO_TIME,
    NULL_KEY,
    NULL_TIME,
    OLD,
    OPEN_TO,
    OPS,
    PLACE,
    PRUNED,
    ROWS,
    STORED_TIME,
    TIED,
    TIME,
    TOMB,
    TWICE,
)

_OPENED = f"{CLASS} IN ('opened_new', 'opened_changed')"


def classified(sides: Sides) -> str:
    """Give every row of the source, and every missing key, with its class and its operations.

    Source and current versions are read once and joined on the key; keys that are gone are seen
    only where something depends on them.
    """
    terms = sides.terms
    joined = f"SELECT {', '.join(_joined(sides))} FROM ({marked(sides)}) s"
    if sides.table.columns:
        whole = terms.closes_missing or terms.retention is not None or rehashes(sides)
        kind = "FULL OUTER" if whole else "LEFT"
        joined += f" {kind} JOIN ({_stored(sides)}) c ON {terms.on('s', 'c', stored=False)}"
    named = f"SELECT *, {_class(sides)} AS {CLASS} FROM ({joined})"
    early = f"({CLASS} IN ('opened_changed', 'deleted') AND {AT} >= {terms.at})"
    pruned = f"SELECT *, {early} AS {EARLY}, {_pruned(sides)} AS {PRUNED} FROM ({named})"
    ends = f"{terms.at} AS {FROM}, CAST(NULL AS TIMESTAMP) AS {OPEN_TO}, {terms.at} AS {CLOSE_TO}"
    return f"SELECT *, {ends}, {_operations(sides)} AS {OPS} FROM ({pruned})"


def _stored(sides: Sides) -> str:
    """Give the current versions with as few columns as decide, and what retention may remove."""
    current = f"SELECT {', '.join(_narrow(sides))} FROM {quoted(TARGET_VIEW)} WHERE {sides.current}"
    if sides.terms.retention is None:
        return current
    keys = ", ".join(
        f"coalesce(n.{quoted(key)}, o.{quoted(key)}) AS {quoted(key)}" for key in sides.terms.keys
    )
    others = [name for name in _names(sides) if name != TWICE]
    twice = f"coalesce(n.{TWICE}, false) OR coalesce(o.{TWICE}, false) AS {TWICE}"
    return (
        f"SELECT {keys}, {', '.join(others)}, {twice}, {OLD} FROM ({current}) n "
        f"FULL OUTER JOIN ({candidates(sides)}) o ON {sides.terms.on('n', 'o')}"
    )


def _narrow(sides: Sides) -> Iterator[str]:
    yield listed(sides.terms.keys)
    yield f"{quoted(sides.terms.columns.valid_from)} AS {AT}"
    yield f"{sides.tomb} AS {TOMB}"
    yield f"true AS {IN_TABLE}"
    yield f"count(*) OVER (PARTITION BY {listed(sides.terms.keys)}) > 1 AS {TWICE}"
    if sides.terms.scope:
        yield f"coalesce({sides.terms.scope}, false) AS {IN_SCOPE}"
    if isinstance(sides.terms.change, NewerThan):
        yield f"{sides.time_of(sides.table) or 'NULL'} AS {STORED_TIME}"
    if sides.hash_name:
        stored = stored_hash(sides) if rehashes(sides) else quoted(sides.hash_name)
        yield f"{stored} AS {stored_name(0)}"
    for number, column in enumerate(sides.compared):
        if sides.table.find(column.name):
            yield f"{quoted(column.name)} AS {stored_name(number)}"


def _names(sides: Sides) -> Iterator[str]:
    for column in list(_narrow(sides))[1:]:
        yield column.rpartition(" AS ")[2]


def _joined(sides: Sides) -> Iterator[str]:
    """Give the columns after the join: keys from either side, the rest from its own."""
    terms = sides.terms
    stored = bool(sides.table.columns)
    yield from keys_of_both(sides)
    if terms.made_hash:
        name = quoted(terms.made_hash.column)
        yield (
            f"coalesce(s.{name}, c.{stored_name(0)}) AS {name}" if rehashes(sides) else f"s.{name}"
        )
    yield f"s.{TIME}"
    yield from (f"coalesce(s.{column}, false) AS {column}" for column in FOUND_WRONG)
    yield f"coalesce(s.{COPIES}, 0) AS {COPIES}"
    yield f"coalesce(s.{PLACE}, 1) AS {PLACE}"
    if not stored:
        yield f"CAST(NULL AS TIMESTAMP) AS {AT}"
        yield from (f"false AS {name}" for name in (IN_TABLE, TOMB, CHANGED, IN_SCOPE, TWICE))
        return
    yield f"c.{AT}"
    yield f"coalesce(c.{IN_TABLE}, false) AS {IN_TABLE}"
    yield f"coalesce(c.{TOMB}, false) AS {TOMB}"
    yield f"coalesce(c.{TWICE}, false) AS {TWICE}"
    yield f"coalesce({_changed(sides)}, false) AS {CHANGED}"
    yield (f"coalesce(c.{IN_SCOPE}, false)" if terms.scope else "true") + f" AS {IN_SCOPE}"
    if terms.retention is not None:
        yield f"c.{OLD}"


def keys_of_both(sides: Sides) -> Iterator[str]:
    """Give the query's columns after a join: keys from either side."""
    keys = {key.lower() for key in sides.terms.keys}
    for column in sides.query.columns:
        name = quoted(column.name)
        if column.name.lower() in keys and sides.table.columns:
            yield f"coalesce(s.{name}, c.{name}) AS {name}"
        else:
            yield f"s.{name}"


FOUND_WRONG = (
    IN_SOURCE,
    IGNORED,
    NULL_KEY,
    NULL_TIME,
    NO_TIME,
)


def _changed(sides: Sides) -> str:
    match sides.terms.change:
        case NewerThan(_, compare_rows):
            newer = f"(s.{TIME} > c.{STORED_TIME} OR c.{STORED_TIME} IS NULL)"
            return f"({newer} AND {sides.differs})" if compare_rows else newer
        case _ if sides.hash_name:
            return f"NOT (s.{quoted(sides.hash_name)} <=> c.{stored_name(0)})"
        case _:
            return sides.differs


def _class(sides: Sides) -> str:
    missing = "NULL"
    if sides.terms.closes_missing:
        missing = f"CASE WHEN {IN_TABLE} AND NOT {TOMB} AND {IN_SCOPE} THEN 'deleted' END"
    return (
        f"CASE WHEN NOT {IN_SOURCE} THEN {missing} "
        f"WHEN {IGNORED} THEN 'ignored' "
        f"WHEN NOT {IN_TABLE} THEN 'opened_new' "
        f"WHEN {TOMB} OR {CHANGED} THEN 'opened_changed' "
        "ELSE 'unchanged' END"
    )


def _opens(sides: Sides) -> str:
    """Whether the key of a row gets a new version in this run."""
    if sides.terms.missing is HardDeletes.NEW_RECORD:
        return f"coalesce({_OPENED} OR {CLASS} = 'deleted', false)"
    return f"coalesce({_OPENED}, false)"


def _pruned(sides: Sides) -> str:
    if sides.terms.retention is None or not sides.table.columns:
        return "CAST(array() AS ARRAY<TIMESTAMP>)"
    column = goes(sides.terms.retention, f"o.rank + CAST({_opens(sides)} AS INT)")
    ats = f"transform(filter(coalesce({OLD}, array()), o -> {column}), o -> o.at)"
    return f"CASE WHEN {PLACE} = 1 THEN {ats} ELSE array() END"


def _operations(sides: Sides) -> str:
    """Give the operations of a row as an array of (op, at): what the MERGE is fed."""
    nothing = "CAST(NULL AS TIMESTAMP)"
    one = f"array(struct('open' AS op, {nothing} AS at))"
    close = f"array(struct('close' AS op, {AT} AS at))"
    if sides.terms.retention is not None:
        close = f"CASE WHEN array_contains({PRUNED}, {AT}) THEN array() ELSE {close} END"
    again = ""
    if rehashes(sides):
        again = f"WHEN {IN_TABLE} THEN array(struct('rehash' AS op, {AT} AS at)) "
    made = (
        f"CASE WHEN {CLASS} = 'opened_new' THEN {one} "
        f"WHEN {CLASS} = 'opened_changed' THEN concat({one}, {close}) "
        f"WHEN {CLASS} = 'deleted' THEN {close} {again}ELSE array() END"
    )
    if sides.terms.retention is not None:
        made = f"concat({made}, transform({PRUNED}, p -> struct('delete' AS op, p AS at)))"
    wrong = f"array(struct('problem' AS op, {nothing} AS at))"
    return f"CASE WHEN {problem(sides)} OR {EARLY} OR {TWICE} THEN {wrong} ELSE {made} END"


def by_current(sides: Sides) -> str:
    """Give every row of the source, and every missing key, with its class and its operations."""
    terms = sides.terms
    kind = "FULL OUTER" if terms.closes_missing else "LEFT"
    joined = (
        f"SELECT {', '.join(_beside_current(sides))} FROM ({marked(sides)}) s "
        f"{kind} JOIN ({_current(sides)}) c ON {terms.on('s', 'c', stored=False)}"
    )
    named = f"SELECT *, {_class_beside_current(sides)} AS {CLASS} FROM ({joined})"
    closed = f"CASE WHEN {CLASS} = 'deleted' THEN {terms.at} ELSE {TIME} END"
    placed = (
        f"SELECT *, {CLASS} = 'deleted' AND {AT} >= {terms.at} AS {EARLY}, false AS {TIED}, "
        f"{TIME} AS {FROM}, CAST(NULL AS TIMESTAMP) AS {OPEN_TO}, {closed} AS {CLOSE_TO} "
        f"FROM ({named})"
    )
    return f"SELECT *, {_operations_beside_current(sides)} AS {OPS} FROM ({placed})"


def _current(sides: Sides) -> str:
    time = sides.time_of(sides.table) or "CAST(NULL AS TIMESTAMP)"
    return (
        f"SELECT {listed(sides.terms.keys)}, {quoted(sides.terms.columns.valid_from)} AS {AT}, "
        f"{sides.tomb} AS {TOMB}, {time} AS {STORED_TIME}, true AS {IN_TABLE}, "
        f"count(*) OVER (PARTITION BY {listed(sides.terms.keys)}) > 1 AS {TWICE} "
        f"FROM {quoted(TARGET_VIEW)} WHERE {sides.current}"
    )


def _beside_current(sides: Sides) -> Iterator[str]:
    yield from keys_of_both(sides)
    yield f"s.{TIME}"
    yield from (f"coalesce(s.{column}, false) AS {column}" for column in FOUND_WRONG)
    yield f"coalesce(s.{COPIES}, 0) AS {COPIES}"
    yield f"s.{ROWS}"
    yield f"c.{AT}, c.{STORED_TIME}"
    yield f"coalesce(c.{IN_TABLE}, false) AS {IN_TABLE}, coalesce(c.{TOMB}, false) AS {TOMB}"
    yield f"coalesce(c.{TWICE}, false) AS {TWICE}"


def _class_beside_current(sides: Sides) -> str:
    missing = "NULL"
    if sides.terms.closes_missing:
        missing = f"CASE WHEN NOT {TOMB} THEN 'deleted' END"
    alone = f"{ROWS} = 1 AND {IN_TABLE} AND NOT {TOMB} AND {STORED_TIME} = {AT}"
    return (
        f"CASE WHEN NOT {IN_SOURCE} THEN {missing} "
        f"WHEN {IGNORED} THEN 'ignored' "
        f"WHEN {alone} AND {TIME} = {STORED_TIME} THEN 'unchanged' "
        f"WHEN {alone} AND {TIME} > {STORED_TIME} THEN 'opened_changed' "
        "ELSE 'pending' END"
    )


def _operations_beside_current(sides: Sides) -> str:
    def one(op: str, at: str) -> str:
        return f"struct('{op}' AS op, {at} AS at)"

    nothing = "CAST(NULL AS TIMESTAMP)"
    return (
        f"CASE WHEN {problem(sides)} OR {EARLY} OR {TWICE} "
        f"THEN array({one('problem', nothing)}) "
        f"WHEN {CLASS} = 'pending' THEN array({one('pending', nothing)}) "
        f"WHEN {CLASS} = 'opened_changed' THEN array({one('open', nothing)}, {one('close', AT)}) "
        f"WHEN {CLASS} = 'deleted' THEN array({one('close', AT)}) ELSE array() END"
    )
