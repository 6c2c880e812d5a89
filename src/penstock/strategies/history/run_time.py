"""Run-time mode: intervals start and end when penstock sees a change (docs/history.md)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.history import HardDeletes, NewerThan
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history import source
from penstock.strategies.history import terms as ps
from penstock.strategies.history.feed import changed_versions
from penstock.strategies.history.source import is_bad, rows_of
from penstock.strategies.history.terms import Sides, candidates, is_removed, operation, stored_name


def classify(sides: Sides) -> str:
    """Return every row of the source, and every missing key, with its class and its operations."""
    terms, (rows, stored) = sides.terms, _sources(sides)
    joined = f"SELECT {', '.join(_joined_columns(sides))} FROM {rows} s"
    if sides.table.columns:
        whole = terms.closes_missing or terms.retention is not None or source.rehashes(sides)
        kind = "FULL OUTER" if whole or sides.counts else "LEFT"
        joined += f" {kind} JOIN {stored} c ON {terms.on('s', 'c', stored=False)}"
    named = f"SELECT *, {_class(sides)} AS {ps.CLASS} FROM ({joined})"
    early = f"({ps.CLASS} IN ('opened_changed', 'deleted') AND {ps.AT} >= {terms.at})"
    pruned = f"SELECT *, {early} AS {ps.EARLY}, {_is_pruned(sides)} AS {ps.PRUNED} FROM ({named})"
    ends = f"{terms.at} AS {ps.FROM}, {ps.NO_INSTANT} AS {ps.OPEN_TO}, {terms.at} AS {ps.CLOSE_TO}"
    return f"SELECT *, {ends}, {_operations(sides)} AS {ps.OPS} FROM ({pruned})"


def _sources(sides: Sides) -> tuple[str, str]:
    """Return the inputs: the query and the table, or views in which their rows are counted."""
    if sides.counts:
        return quoted(ps.SOURCE_SIDE), quoted(ps.TABLE_SIDE)
    return f"({rows_of(sides)})", f"({_versions(sides)})" if sides.table.columns else ""


def sides_of(sides: Sides) -> dict[str, str]:
    """Return the SQL of the views that are counted."""
    return {ps.SOURCE_SIDE: rows_of(sides), ps.TABLE_SIDE: _versions(sides)} if sides.counts else {}


def _versions(sides: Sides) -> str:
    """Return the current versions with only the columns needed, and those for retention."""
    narrow = _narrow_columns(sides)
    columns = ", ".join(f"{sql} AS {name}" for name, sql in narrow.items())
    keys = sides.terms.keys
    target = f"FROM {quoted(TARGET_VIEW)} WHERE {sides.is_current}"
    current = f"SELECT {listed(keys)}, {columns} {target}"
    if sides.changed is not None:
        return changed_versions(sides, current)
    if sides.terms.retention is None:
        return current
    both = (f"coalesce(n.{quoted(key)}, o.{quoted(key)}) AS {quoted(key)}" for key in keys)
    others = (name for name in narrow if name != ps.TWICE)
    twice = f"coalesce(n.{ps.TWICE}, false) OR coalesce(o.{ps.TWICE}, false) AS {ps.TWICE}"
    return (
        f"SELECT {', '.join(both)}, {', '.join(others)}, {twice}, {ps.OLD} FROM ({current}) n "
        f"FULL OUTER JOIN ({candidates(sides)}) o ON {sides.terms.on('n', 'o')}"
    )


def _narrow_columns(sides: Sides) -> dict[str, str]:
    """Return SQL of the columns beside the keys, by name."""
    columns = {
        ps.AT: quoted(sides.terms.columns.valid_from),
        ps.TOMB: sides.is_tomb,
        ps.IN_TABLE: "true",
        ps.TWICE: sides.is_repeated,
    }
    if sides.terms.scope:
        columns[ps.IN_SCOPE] = f"coalesce({sides.terms.scope}, false)"
    if isinstance(sides.terms.change, NewerThan):
        columns[ps.STORED_TIME] = sides.time_sql(sides.table) or "NULL"
    if sides.hash_name:
        stored = source.stored_hash(sides) if source.rehashes(sides) else quoted(sides.hash_name)
        columns[stored_name(0)] = stored
    for number, column in enumerate(sides.decisive):
        if sides.table.find(column.name):
            columns[stored_name(number)] = quoted(column.name)
    return columns


def _joined_columns(sides: Sides) -> Iterator[str]:
    """Return the columns after the join: keys from either side, others from their own side."""
    terms = sides.terms
    yield from source.joined_columns(sides)
    yield f"coalesce(s.{ps.PLACE}, 1) AS {ps.PLACE}"
    if not sides.table.columns:
        yield f"{ps.NO_INSTANT} AS {ps.AT}"
        yield from (
            f"false AS {name}" for name in (ps.IN_TABLE, ps.TOMB, ps.CHANGED, ps.IN_SCOPE, ps.TWICE)
        )
        return
    yield f"c.{ps.AT}"
    yield from (f"coalesce(c.{name}, false) AS {name}" for name in (ps.IN_TABLE, ps.TOMB, ps.TWICE))
    yield f"coalesce({_is_changed(sides)}, false) AS {ps.CHANGED}"
    yield (f"coalesce(c.{ps.IN_SCOPE}, false)" if terms.scope else "true") + f" AS {ps.IN_SCOPE}"
    if sides.changed is not None:
        yield f"c.{ps.NEW}"
    if terms.retention is not None:
        yield f"c.{ps.OLD}"


def _is_changed(sides: Sides) -> str:
    match sides.terms.change:
        case NewerThan(_, compare_rows):
            newer = f"(s.{ps.TIME} > c.{ps.STORED_TIME} OR c.{ps.STORED_TIME} IS NULL)"
            return f"({newer} AND {sides.is_changed})" if compare_rows else newer
        case _ if sides.hash_name:
            return f"NOT (s.{quoted(sides.hash_name)} <=> c.{stored_name(0)})"
        case _:
            return sides.is_changed


def _class(sides: Sides) -> str:
    missing = "NULL"
    if sides.terms.closes_missing:
        missing = f"CASE WHEN {ps.IN_TABLE} AND NOT {ps.TOMB} AND {ps.IN_SCOPE} THEN 'deleted' END"
    return (
        f"CASE WHEN NOT {ps.IN_SOURCE} THEN {missing} "
        f"WHEN {ps.IGNORED} THEN 'ignored' "
        f"WHEN NOT {ps.IN_TABLE} THEN 'opened_new' "
        f"WHEN {ps.TOMB} OR {ps.CHANGED} THEN 'opened_changed' "
        "ELSE 'unchanged' END"
    )


def _is_pruned(sides: Sides) -> str:
    if sides.terms.retention is None or not sides.table.columns:
        return "CAST(array() AS ARRAY<TIMESTAMP>)"
    opens = f"{ps.CLASS} IN ('opened_new', 'opened_changed')"  # the key gets a new version
    if sides.terms.hard_deletes is HardDeletes.NEW_RECORD:
        opens += f" OR {ps.CLASS} = 'deleted'"
    condition = is_removed(sides.terms.retention, f"o.rank + CAST(coalesce({opens}, false) AS INT)")
    ats = f"transform(filter(coalesce({ps.OLD}, array()), o -> {condition}), o -> o.at)"
    return f"CASE WHEN {ps.PLACE} = 1 THEN {ats} ELSE array() END"


def _operations(sides: Sides) -> str:
    """Return the operations of a row as an array of (op, at), the input of the MERGE."""
    one, close = f"array({operation('open')})", f"array({operation('close', ps.AT)})"
    if sides.terms.retention is not None:
        close = f"CASE WHEN array_contains({ps.PRUNED}, {ps.AT}) THEN array() ELSE {close} END"
    rehash = f"WHEN {ps.IN_TABLE} THEN array({operation('rehash', ps.AT)}) "
    again = rehash if source.rehashes(sides) else ""
    made = (
        f"CASE WHEN {ps.CLASS} = 'opened_new' THEN {one} "
        f"WHEN {ps.CLASS} = 'opened_changed' THEN concat({one}, {close}) "
        f"WHEN {ps.CLASS} = 'deleted' THEN {close} {again}ELSE array() END"
    )
    if sides.terms.retention is not None:
        made = f"concat({made}, transform({ps.PRUNED}, p -> {operation('delete', 'p')}))"
    wrong = f"array({operation('problem')})"
    return f"CASE WHEN {is_bad(sides)} OR {ps.EARLY} OR {ps.TWICE} THEN {wrong} ELSE {made} END"
