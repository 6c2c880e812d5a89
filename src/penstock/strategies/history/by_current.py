"""Event-time mode, as far as the current versions decide it (docs/history.md).

A key with one row in the source, no older than its current version, needs nothing else: it is
unchanged, or it opens a version where it closes the current one. All other rows are `pending`.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history.run_time import MARKS, keys_of_both
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.source import marked, problem
from penstock.strategies.history.words import (
    AT,
    CLASS,
    CLOSE_TO,
    COPIES,
    EARLY,
    FROM,
    IGNORED,
    IN_SOURCE,
    IN_TABLE,
    OPEN_TO,
    OPS,
    ROWS,
    STORED_TIME,
    TIED,
    TIME,
    TOMB,
    TWICE,
)


def by_current(sides: Sides) -> str:
    """Give every row of the source, and every missing key, with its class and its operations."""
    terms = sides.terms
    kind = "FULL OUTER" if terms.closes_missing else "LEFT"
    joined = (
        f"SELECT {', '.join(_joined(sides))} FROM ({marked(sides)}) s "
        f"{kind} JOIN ({_current(sides)}) c ON {terms.on('s', 'c', stored=False)}"
    )
    named = f"SELECT *, {_class(sides)} AS {CLASS} FROM ({joined})"
    closed = f"CASE WHEN {CLASS} = 'deleted' THEN {terms.at} ELSE {TIME} END"
    placed = (
        f"SELECT *, {CLASS} = 'deleted' AND {AT} >= {terms.at} AS {EARLY}, false AS {TIED}, "
        f"{TIME} AS {FROM}, CAST(NULL AS TIMESTAMP) AS {OPEN_TO}, {closed} AS {CLOSE_TO} "
        f"FROM ({named})"
    )
    return f"SELECT *, {_operations(sides)} AS {OPS} FROM ({placed})"


def _current(sides: Sides) -> str:
    time = sides.time_of(sides.table) or "CAST(NULL AS TIMESTAMP)"
    return (
        f"SELECT {listed(sides.terms.keys)}, {quoted(sides.terms.columns.valid_from)} AS {AT}, "
        f"{sides.tomb} AS {TOMB}, {time} AS {STORED_TIME}, true AS {IN_TABLE}, "
        f"count(*) OVER (PARTITION BY {listed(sides.terms.keys)}) > 1 AS {TWICE} "
        f"FROM {quoted(TARGET_VIEW)} WHERE {sides.current}"
    )


def _joined(sides: Sides) -> Iterator[str]:
    yield from keys_of_both(sides)
    yield f"s.{TIME}"
    yield from (f"coalesce(s.{mark}, false) AS {mark}" for mark in MARKS)
    yield f"coalesce(s.{COPIES}, 0) AS {COPIES}"
    yield f"s.{ROWS}"
    yield f"c.{AT}, c.{STORED_TIME}"
    yield f"coalesce(c.{IN_TABLE}, false) AS {IN_TABLE}, coalesce(c.{TOMB}, false) AS {TOMB}"
    yield f"coalesce(c.{TWICE}, false) AS {TWICE}"


def _class(sides: Sides) -> str:
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


def _operations(sides: Sides) -> str:
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
