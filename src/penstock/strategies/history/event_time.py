"""Event-time mode: intervals start when the source says that a row changed (docs/history.md).

Rows that current versions alone decide come first (`classify_by_current`). Others are placed among
all versions of their keys, in one pass over each key's rows. A new version ends at the next start,
or where the stored version around it ends, whichever comes first; a stored version ends at the
first new start inside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.history import HardDeletes
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history import terms as ps
from penstock.strategies.history.source import is_bad, joined_columns, rows_of
from penstock.strategies.history.terms import Sides, horizon, is_removed, operation

_NOT_FOUND = (ps.NULL_KEY, ps.NULL_TIME, ps.NO_TIME, ps.IGNORED, ps.IN_SOURCE)
_PLACED = f"({ps.IN_SOURCE} AND {ps.FROM} IS NOT NULL)"
_MISSING = f"({ps.IN_TABLE} AND {ps.TO} IS NULL AND NOT {ps.TOMB} AND NOT `__penstock_present`)"


def classify_by_current(sides: Sides) -> str:
    """Return every row of the source, and every missing key, with its class and its operations."""
    terms = sides.terms
    kind = "FULL OUTER" if terms.closes_missing else "LEFT"
    joined = (
        f"SELECT {', '.join(_current_columns(sides))} FROM ({rows_of(sides)}) s "
        f"{kind} JOIN ({_current_versions(sides)}) c ON {terms.on('s', 'c', stored=False)}"
    )
    missing = f"CASE WHEN NOT {ps.TOMB} THEN 'deleted' END" if terms.closes_missing else "NULL"
    alone = f"{ps.ROWS} = 1 AND {ps.IN_TABLE} AND NOT {ps.TOMB} AND {ps.STORED_TIME} = {ps.AT}"
    found = (
        f"CASE WHEN NOT {ps.IN_SOURCE} THEN {missing} "
        f"WHEN {ps.IGNORED} THEN 'ignored' "
        f"WHEN {alone} AND {ps.TIME} = {ps.STORED_TIME} THEN 'unchanged' "
        f"WHEN {alone} AND {ps.TIME} > {ps.STORED_TIME} THEN 'opened_changed' "
        "ELSE 'pending' END"
    )
    closed = f"CASE WHEN {ps.CLASS} = 'deleted' THEN {terms.at} ELSE {ps.TIME} END"
    placed = (
        f"SELECT *, {ps.CLASS} = 'deleted' AND {ps.AT} >= {terms.at} AS {ps.EARLY}, "
        f"false AS {ps.TIED}, {ps.TIME} AS {ps.FROM}, {ps.NO_INSTANT} AS {ps.OPEN_TO}, "
        f"{closed} AS {ps.CLOSE_TO} FROM (SELECT *, {found} AS {ps.CLASS} FROM ({joined}))"
    )
    operations = (
        f"CASE WHEN {is_bad(sides)} OR {ps.EARLY} OR {ps.TWICE} "
        f"THEN array({operation('problem')}) "
        f"WHEN {ps.CLASS} = 'pending' THEN array({operation('pending')}) "
        f"WHEN {ps.CLASS} = 'opened_changed' "
        f"THEN array({operation('open')}, {operation('close', ps.AT)}) "
        f"WHEN {ps.CLASS} = 'deleted' THEN array({operation('close', ps.AT)}) ELSE array() END"
    )
    return f"SELECT *, {operations} AS {ps.OPS} FROM ({placed})"


def _current_versions(sides: Sides) -> str:
    keys, time = listed(sides.terms.keys), sides.time_sql(sides.table) or ps.NO_INSTANT
    return (
        f"SELECT {keys}, {quoted(sides.terms.columns.valid_from)} AS {ps.AT}, "
        f"{sides.is_tomb} AS {ps.TOMB}, {time} AS {ps.STORED_TIME}, "
        f"true AS {ps.IN_TABLE}, {sides.is_repeated} AS {ps.TWICE} "
        f"FROM {quoted(TARGET_VIEW)} WHERE {sides.is_current}"
    )


def _current_columns(sides: Sides) -> Iterator[str]:
    yield from joined_columns(sides)
    yield f"s.{ps.ROWS}, c.{ps.AT}, c.{ps.STORED_TIME}"
    yield from (f"coalesce(c.{name}, false) AS {name}" for name in (ps.IN_TABLE, ps.TOMB, ps.TWICE))


def classify_all(sides: Sides) -> str:
    """Return every row of the source and every stored version with its class and its operations."""
    return _place(sides, rows_of(sides), f"SELECT {_version(sides)} FROM {quoted(TARGET_VIEW)}")


def classify_late(sides: Sides, hint: str = "") -> str:
    """Place the pending rows `p` among all stored versions of their keys."""
    pending = f"FROM {ps.STAGED} WHERE {ps.OP} = 'pending'"
    versions = (
        f"SELECT {hint}{_version(sides, 't.')} FROM {quoted(TARGET_VIEW)} t LEFT SEMI JOIN "
        f"(SELECT DISTINCT {listed(sides.terms.keys)} {pending}) p ON {sides.terms.on('t', 'p')}"
    )
    return _place(sides, f"SELECT * {pending}", versions)


def _version(sides: Sides, prefix: str = "") -> str:
    """Return the columns of a stored version: key, interval, time, tombstone."""
    columns, time = sides.terms.columns, sides.time_sql(sides.table) or ps.NO_INSTANT
    return (
        f"{listed(sides.terms.keys, prefix)}, {quoted(columns.valid_from)} AS {ps.AT}, "
        f"{columns.end(quoted(columns.valid_to))} AS {ps.TO}, {time} AS {ps.TIME}, "
        f"{sides.is_tomb} AS {ps.TOMB}"
    )


def _place(sides: Sides, source: str, versions: str) -> str:
    rows = f"SELECT {', '.join(_source_columns(sides))} FROM ({source})"
    if sides.table.columns:
        rows += f" UNION ALL SELECT {', '.join(_table_columns(sides))} FROM ({versions})"
    known = f"SELECT *, {', '.join(_key_columns(sides))} FROM ({rows})"
    started = f"SELECT *, {_start(sides)} AS {ps.FROM} FROM ({known})"
    near = f"SELECT *, {', '.join(_neighbours(sides))} FROM ({started})"
    ended = f"SELECT *, {_end(sides)} AS {ps.OPEN_TO} FROM ({near})"
    ranked = f"SELECT *, {_is_pruned(sides)} AS {ps.PRUNED} FROM ({ended})"
    at = sides.terms.at
    early = f"({_MISSING} AND {ps.AT} >= {at})" if sides.terms.closes_missing else "false"
    named = f"SELECT *, {_class(sides)} AS {ps.CLASS}, {early} AS {ps.EARLY} FROM ({ranked})"
    return (
        f"SELECT *, {ps.OPEN_TO} AS {ps.CLOSE_TO}, {_operations(sides)} AS {ps.OPS} FROM ({named})"
    )


def _source_columns(sides: Sides) -> Iterator[str]:
    yield listed(sides.query.names)
    yield from _NOT_FOUND
    yield f"{ps.COPIES}, {ps.TIME}, {ps.NO_INSTANT} AS {ps.AT}, {ps.NO_INSTANT} AS {ps.TO}"
    yield f"false AS {ps.TOMB}, false AS {ps.IN_TABLE}"


def _table_columns(sides: Sides) -> Iterator[str]:
    for column in sides.query.columns:
        name = quoted(column.name)
        yield name if sides.terms.is_key(column) else f"CAST(NULL AS {column.type}) AS {name}"
    yield from (f"false AS {column}" for column in _NOT_FOUND)
    yield f"1 AS {ps.COPIES}, {ps.TIME}, {ps.AT}, {ps.TO}, {ps.TOMB}, true AS {ps.IN_TABLE}"


def _key_columns(sides: Sides) -> Iterator[str]:
    """Return window columns that group the rows of a key."""
    key = f"OVER (PARTITION BY {listed(sides.terms.keys)})"
    same = f"OVER (PARTITION BY {listed(sides.terms.keys)}, {ps.TIME})"
    usable = f"({ps.IN_SOURCE} AND NOT {ps.IGNORED})"
    live = f"({ps.IN_TABLE} AND {ps.TO} IS NULL AND NOT {ps.TOMB})"
    yield f"bool_or({ps.IN_TABLE} AND NOT {ps.TOMB}) {same} AS `__penstock_known`"
    yield f"bool_or({live}) {key} AS `__penstock_live`"
    yield f"bool_or({ps.IN_TABLE}) {key} AS `__penstock_any`"
    yield f"bool_or({ps.IN_SOURCE}) {key} AS `__penstock_present`"
    yield f"max(CASE WHEN {ps.IN_TABLE} THEN {ps.AT} END) {key} AS `__penstock_newest`"
    yield f"max(CASE WHEN {usable} THEN {ps.TIME} END) {key} AS `__penstock_last`"
    tomb = f"max(CASE WHEN {ps.IN_TABLE} AND {ps.TO} IS NULL AND {ps.TOMB} THEN {ps.AT} END) {key}"
    closed = f"max(CASE WHEN {ps.IN_TABLE} THEN {ps.TO} END) {key}"
    yield f"coalesce({tomb}, {closed}) AS `__penstock_ended`"


def _start(sides: Sides) -> str:
    back = (
        "`__penstock_any` AND NOT `__penstock_live` AND `__penstock_last` <= `__penstock_ended` "
        f"AND {ps.TIME} = `__penstock_last`"
    )
    return (
        f"CASE WHEN {ps.IN_TABLE} THEN {ps.AT} WHEN {ps.IGNORED} OR {is_bad(sides)} THEN NULL "
        f"WHEN {back} THEN {sides.terms.at} WHEN `__penstock_known` THEN NULL ELSE {ps.TIME} END"
    )


def _neighbours(sides: Sides) -> Iterator[str]:
    """Return the starts around a row, and the stored version that contains it."""
    part = f"PARTITION BY {listed(sides.terms.keys)}"
    before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    later = f"OVER ({part} ORDER BY {ps.FROM} DESC NULLS LAST {before})"
    earlier = f"OVER ({part} ORDER BY {ps.FROM} ASC NULLS LAST {before})"
    yield f"min(CASE WHEN {_PLACED} THEN {ps.FROM} END) {later} AS `__penstock_next`"
    yield f"min(CASE WHEN {ps.IN_TABLE} THEN {ps.FROM} END) {later} AS `__penstock_next_stored`"
    under = f"CASE WHEN {ps.IN_TABLE} THEN struct({ps.FROM} AS at, {ps.TO} AS until) END"
    yield f"last_value({under}, true) {earlier} AS `__penstock_under`"
    same = f"OVER ({part}, {ps.FROM})"
    yield (f"({_PLACED} AND count_if({ps.IN_TABLE} OR {_PLACED}) {same} > 1) AS {ps.TIED}")
    current = f"count_if({ps.IN_TABLE} AND {ps.TO} IS NULL) OVER ({part}) > 1"
    twin = f"({ps.IN_TABLE} AND count_if({ps.IN_TABLE}) {same} > 1)"
    yield f"({current} OR {twin}) AS {ps.TWICE}"
    first = f"min(CASE WHEN {_PLACED} THEN {ps.FROM} END) OVER ({part})"
    yield f"{first} AS `__penstock_first_placed`"


def _end(sides: Sides) -> str:
    """Return the end of a version after this run; NULL is open."""
    covered = (
        "`__penstock_under` IS NOT NULL AND (`__penstock_under`.until IS NULL "
        f"OR `__penstock_under`.until > {ps.FROM})"
    )
    placed_end = (
        f"CASE WHEN {covered} THEN least(`__penstock_under`.until, `__penstock_next`) "
        "ELSE least(`__penstock_next_stored`, `__penstock_next`) END"
    )
    missing = f"WHEN {_MISSING} THEN {sides.terms.at} " if sides.terms.closes_missing else ""
    return (
        f"CASE WHEN {_PLACED} THEN {placed_end} {missing}"
        f"WHEN {ps.IN_TABLE} THEN least({ps.TO}, `__penstock_next`) END"
    )


def _is_pruned(sides: Sides) -> str:
    """Return the condition for versions that retention removes, or never writes."""
    if sides.terms.retention is None:
        return "false"
    part = f"PARTITION BY {listed(sides.terms.keys)}"
    rank = f"row_number() OVER ({part} ORDER BY {ps.FROM} DESC NULLS LAST)"
    if sides.terms.hard_deletes is HardDeletes.NEW_RECORD:
        rank = f"({rank} + CAST(bool_or({_MISSING}) OVER ({part}) AS INT))"
    old = f"coalesce({ps.OPEN_TO} <= {horizon(sides.terms)}, false)"
    return f"({ps.FROM} IS NOT NULL AND {is_removed(sides.terms.retention, rank, old)})"


def _class(sides: Sides) -> str:
    missing = f"WHEN {_MISSING} THEN 'deleted' " if sides.terms.closes_missing else ""
    return (
        f"CASE WHEN {ps.IGNORED} THEN 'ignored' "
        f"WHEN {ps.IN_SOURCE} AND {ps.FROM} IS NULL THEN 'unchanged' "
        f"WHEN {ps.IN_SOURCE} AND {ps.PRUNED} THEN 'skipped' "
        f"WHEN {ps.IN_SOURCE} AND {ps.FROM} <> {ps.TIME} THEN 'reopened' "
        f"WHEN {ps.IN_SOURCE} AND NOT `__penstock_any` AND {ps.FROM} = `__penstock_first_placed` "
        "THEN 'opened_new' "
        f"WHEN {ps.IN_SOURCE} AND {ps.TIME} < `__penstock_newest` THEN 'opened_late' "
        f"WHEN {ps.IN_SOURCE} THEN 'opened_changed' {missing}"
        f"WHEN {ps.IN_TABLE} AND {ps.TO} IS NULL AND {ps.OPEN_TO} IS NOT NULL THEN 'closed' "
        f"WHEN {ps.IN_TABLE} AND {ps.OPEN_TO} < {ps.TO} THEN 'shortened' END"
    )


def _operations(sides: Sides) -> str:
    return (
        f"CASE WHEN {is_bad(sides)} OR {ps.TIED} OR {ps.EARLY} OR {ps.TWICE} "
        f"THEN array({operation('problem')}) "
        f"WHEN {ps.IN_TABLE} AND {ps.PRUNED} THEN array({operation('delete', ps.AT)}) "
        f"WHEN {ps.CLASS} IN ('closed', 'deleted') THEN array({operation('close', ps.AT)}) "
        f"WHEN {ps.CLASS} = 'shortened' THEN array({operation('move', ps.AT)}) "
        f"WHEN {ps.CLASS} IN ('opened_new', 'opened_changed', 'opened_late', 'reopened') "
        f"THEN array({operation('open')}) ELSE array() END"
    )
