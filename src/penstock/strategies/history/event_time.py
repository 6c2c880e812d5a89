"""Event-time mode: intervals start when the source says that a row changed (docs/history.md).

Here rows are placed among all versions of their keys; by_current.py has the rows that need none.

Placing rows one by one, oldest first, has a closed form: a new version ends where the next start
is, or where the stored version that it falls into ends, whichever comes first; a stored version
ends at the first start that falls into it. So one pass over each key's rows does it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.columns.schema import Column
from penstock.core.history import HardDeletes
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history.sides import Sides, goes, horizon
from penstock.strategies.history.source import marked, problem
from penstock.strategies.history.terms import (
    AT,
    CLASS,
    CLOSE_TO,
    COPIES,
    EARLY,
    FROM,
    IGNORED,
    IN_SOURCE,
    IN_TABLE,
    NO_TIME,
    NULL_KEY,
    NULL_TIME,
    OP,
    OPEN_TO,
    OPS,
    PRUNED,
    STAGED,
    TIED,
    TIME,
    TO,
    TOMB,
    TWICE,
)

_NOT_FOUND = (NULL_KEY, NULL_TIME, NO_TIME, IGNORED, IN_SOURCE)
_PLACED = f"({IN_SOURCE} AND {FROM} IS NOT NULL)"


def placed(sides: Sides) -> str:
    """Give every row of the source and every stored version with its class and its operations."""
    versions = f"SELECT {_version(sides)} FROM {quoted(TARGET_VIEW)}"
    return _place(sides, marked(sides), versions)


def placed_late(sides: Sides) -> str:
    """Place the pending rows, with all stored versions of their keys at hand."""
    pending = f"SELECT * FROM {STAGED} WHERE {OP} = 'pending'"
    keys = f"SELECT DISTINCT {listed(sides.terms.keys)} FROM {STAGED} WHERE {OP} = 'pending'"
    columns = _version(sides, "t")
    versions = (
        f"SELECT {columns} FROM {quoted(TARGET_VIEW)} t "
        f"LEFT SEMI JOIN ({keys}) p ON {sides.terms.on('t', 'p')}"
    )
    return _place(sides, pending, versions)


def _version(sides: Sides, alias: str = "") -> str:
    """Give the columns of a stored version: key, interval, time, tombstone."""
    dot = f"{alias}." if alias else ""
    columns = sides.terms.columns
    keys = [f"{dot}{quoted(key)}" for key in sides.terms.keys]
    time = sides.time_of(sides.table) or "CAST(NULL AS TIMESTAMP)"
    return ", ".join(
        [
            *keys,
            f"{quoted(columns.valid_from)} AS {AT}",
            f"{quoted(columns.valid_to)} AS {TO}",
            f"{time} AS {TIME}",
            f"{sides.tomb} AS {TOMB}",
        ]
    )


def _place(sides: Sides, source: str, versions: str) -> str:
    rows = f"SELECT {', '.join(_of_source(sides))} FROM ({source})"
    if sides.table.columns:
        rows += f" UNION ALL SELECT {', '.join(_of_table(sides))} FROM ({versions})"
    known = f"SELECT *, {', '.join(_about_key(sides))} FROM ({rows})"
    started = f"SELECT *, {_start(sides)} AS {FROM} FROM ({known})"
    near = f"SELECT *, {', '.join(_near(sides))} FROM ({started})"
    ended = f"SELECT *, {_end(sides)} AS {OPEN_TO} FROM ({near})"
    ranked = f"SELECT *, {_prune(sides)} AS {PRUNED} FROM ({ended})"
    named = f"SELECT *, {_class(sides)} AS {CLASS}, {_early(sides)} AS {EARLY} FROM ({ranked})"
    return f"SELECT *, {OPEN_TO} AS {CLOSE_TO}, {_operations(sides)} AS {OPS} FROM ({named})"


def _of_source(sides: Sides) -> Iterator[str]:
    yield listed(sides.query.names)
    yield from (str(column) for column in _NOT_FOUND)
    yield f"{COPIES}, {TIME}, CAST(NULL AS TIMESTAMP) AS {AT}, CAST(NULL AS TIMESTAMP) AS {TO}"
    yield f"false AS {TOMB}, false AS {IN_TABLE}"


def _of_table(sides: Sides) -> Iterator[str]:
    keys = {key.lower() for key in sides.terms.keys}
    for column in sides.query.columns:
        name = quoted(column.name)
        yield name if column.name.lower() in keys else f"{_typed_null(column)} AS {name}"
    yield from (f"false AS {column}" for column in _NOT_FOUND)
    yield f"1 AS {COPIES}, {TIME}, {AT}, {TO}, {TOMB}, true AS {IN_TABLE}"


def _typed_null(column: Column) -> str:
    return f"CAST(NULL AS {column.type})"


def _about_key(sides: Sides) -> Iterator[str]:
    """Ask the rows of a key together."""
    key = f"OVER (PARTITION BY {listed(sides.terms.keys)})"
    same = f"OVER (PARTITION BY {listed(sides.terms.keys)}, {TIME})"
    usable = f"({IN_SOURCE} AND NOT {IGNORED})"
    live = f"({IN_TABLE} AND {TO} IS NULL AND NOT {TOMB})"
    yield f"bool_or({IN_TABLE} AND NOT {TOMB}) {same} AS `__penstock_known`"
    yield f"bool_or({live}) {key} AS `__penstock_live`"
    yield f"bool_or({IN_TABLE}) {key} AS `__penstock_any`"
    yield f"bool_or({IN_SOURCE}) {key} AS `__penstock_present`"
    yield f"max(CASE WHEN {IN_TABLE} THEN {AT} END) {key} AS `__penstock_newest`"
    yield f"max(CASE WHEN {usable} THEN {TIME} END) {key} AS `__penstock_last`"
    tomb = f"max(CASE WHEN {IN_TABLE} AND {TO} IS NULL AND {TOMB} THEN {AT} END) {key}"
    closed = f"max(CASE WHEN {IN_TABLE} THEN {TO} END) {key}"
    yield f"coalesce({tomb}, {closed}) AS `__penstock_ended`"


def _start(sides: Sides) -> str:
    back = (
        "`__penstock_any` AND NOT `__penstock_live` AND `__penstock_last` <= `__penstock_ended` "
        f"AND {TIME} = `__penstock_last`"
    )
    return (
        f"CASE WHEN {IN_TABLE} THEN {AT} WHEN {IGNORED} OR {problem(sides)} THEN NULL "
        f"WHEN {back} THEN {sides.terms.at} WHEN `__penstock_known` THEN NULL ELSE {TIME} END"
    )


def _near(sides: Sides) -> Iterator[str]:
    """Give the starts around a row, and the stored version that it falls into."""
    part = f"PARTITION BY {listed(sides.terms.keys)}"
    before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    later = f"OVER ({part} ORDER BY {FROM} DESC NULLS LAST {before})"
    earlier = f"OVER ({part} ORDER BY {FROM} ASC NULLS LAST {before})"
    yield f"min(CASE WHEN {_PLACED} THEN {FROM} END) {later} AS `__penstock_next`"
    yield f"min(CASE WHEN {IN_TABLE} THEN {FROM} END) {later} AS `__penstock_next_stored`"
    under = f"CASE WHEN {IN_TABLE} THEN struct({FROM} AS at, {TO} AS until) END"
    yield f"last_value({under}, true) {earlier} AS `__penstock_under`"
    same = f"OVER ({part}, {FROM})"
    yield (f"({_PLACED} AND count_if({IN_TABLE} OR {_PLACED}) {same} > 1) AS {TIED}")
    current = f"count_if({IN_TABLE} AND {TO} IS NULL) OVER ({part}) > 1"
    twin = f"({IN_TABLE} AND count_if({IN_TABLE}) {same} > 1)"
    yield f"({current} OR {twin}) AS {TWICE}"
    first = f"min(CASE WHEN {_PLACED} THEN {FROM} END) OVER ({part})"
    yield f"{first} AS `__penstock_first_placed`"


def _end(sides: Sides) -> str:
    """Where a version ends after this run; NULL is open."""
    covered = (
        "`__penstock_under` IS NOT NULL AND (`__penstock_under`.until IS NULL "
        f"OR `__penstock_under`.until > {FROM})"
    )
    placed_end = (
        f"CASE WHEN {covered} THEN least(`__penstock_under`.until, `__penstock_next`) "
        "ELSE least(`__penstock_next_stored`, `__penstock_next`) END"
    )
    missing = ""
    if sides.terms.closes_missing:
        missing = f"WHEN {_missing()} THEN {sides.terms.at} "
    return (
        f"CASE WHEN {_PLACED} THEN {placed_end} {missing}"
        f"WHEN {IN_TABLE} THEN least({TO}, `__penstock_next`) END"
    )


def _missing() -> str:
    return f"({IN_TABLE} AND {TO} IS NULL AND NOT {TOMB} AND NOT `__penstock_present`)"


def _prune(sides: Sides) -> str:
    """Whether retention removes a version, or never writes it."""
    if sides.terms.retention is None:
        return "false"
    part = f"PARTITION BY {listed(sides.terms.keys)}"
    rank = f"row_number() OVER ({part} ORDER BY {FROM} DESC NULLS LAST)"
    if sides.terms.missing is HardDeletes.NEW_RECORD:
        rank = f"({rank} + CAST(bool_or({_missing()}) OVER ({part}) AS INT))"
    old = f"coalesce({OPEN_TO} <= {horizon(sides.terms)}, false)"
    return f"({FROM} IS NOT NULL AND {goes(sides.terms.retention, rank, old)})"


def _class(sides: Sides) -> str:
    missing = f"WHEN {_missing()} THEN 'deleted' " if sides.terms.closes_missing else ""
    return (
        f"CASE WHEN {IGNORED} THEN 'ignored' "
        f"WHEN {IN_SOURCE} AND {FROM} IS NULL THEN 'unchanged' "
        f"WHEN {IN_SOURCE} AND {PRUNED} THEN 'skipped' "
        f"WHEN {IN_SOURCE} AND {FROM} <> {TIME} THEN 'reopened' "
        f"WHEN {IN_SOURCE} AND NOT `__penstock_any` AND {FROM} = `__penstock_first_placed` "
        "THEN 'opened_new' "
        f"WHEN {IN_SOURCE} AND {TIME} < `__penstock_newest` THEN 'opened_late' "
        f"WHEN {IN_SOURCE} THEN 'opened_changed' {missing}"
        f"WHEN {IN_TABLE} AND {TO} IS NULL AND {OPEN_TO} IS NOT NULL THEN 'closed' "
        f"WHEN {IN_TABLE} AND {OPEN_TO} < {TO} THEN 'shortened' END"
    )


def _early(sides: Sides) -> str:
    if not sides.terms.closes_missing:
        return "false"
    return f"({_missing()} AND {AT} >= {sides.terms.at})"


def _operations(sides: Sides) -> str:
    nothing = "CAST(NULL AS TIMESTAMP)"

    def one(op: str, at: str) -> str:
        return f"array(struct('{op}' AS op, {at} AS at))"

    return (
        f"CASE WHEN {problem(sides)} OR {TIED} OR {EARLY} OR {TWICE} "
        f"THEN {one('problem', nothing)} "
        f"WHEN {IN_TABLE} AND {PRUNED} THEN {one('delete', AT)} "
        f"WHEN {CLASS} IN ('closed', 'deleted') THEN {one('close', AT)} "
        f"WHEN {CLASS} = 'shortened' THEN {one('move', AT)} "
        f"WHEN {CLASS} IN ('opened_new', 'opened_changed', 'opened_late', 'reopened') "
        f"THEN {one('open', nothing)} ELSE array() END"
    )
