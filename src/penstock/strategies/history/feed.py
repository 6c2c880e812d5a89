"""Changed rows alone: the keys with a change since the last run, and their rows now.

The query's rows of two images of a change feed, before and after each change, are added up. As the
query makes each row out of one row, the sum is what its result gained and lost. A key that is in no
sum has the version that the last run left (docs/decisions/0079-changed-rows-of-a-history.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from penstock.core.columns.schema import Schema
from penstock.core.history import ENGINE_PREFIX
from penstock.core.names import literal, quoted
from penstock.core.statement import FEW_ROWS, TARGET_VIEW, Passing, Row, Stage
from penstock.strategies.build import listed
from penstock.strategies.history import terms as ps
from penstock.strategies.history.terms import Sides

AFTER, BEFORE = "penstock_rows_after", "penstock_rows_before"
"""The query over the rows that changes added or removed."""
IMAGES = {AFTER: ("insert", "update_postimage"), BEFORE: ("delete", "update_preimage")}
KEYS, UNCLEAR = "changed_keys", "unclear_keys"
_SUMMED = "penstock_summed"
_SIGN, _GAINED, _LOST, _ROW = (
    quoted(f"{ENGINE_PREFIX}{word}") for word in ("sign", "gained", "lost", "row")
)
_UNGROUPED = re.compile(
    r"(?:^|[<:,] ?)(?:map<|(?:variant|void|interval|geometry|geography)(?![\w:]))|\bcollate\b"
)
READS_ALL = "reads_all"
"""The reason why the changed rows did not suffice, among the values of a step's stages."""


def ungrouped_column(query: Schema) -> str:
    """Return a column whose values Spark cannot group, or not by all they are; "" without any.

    >>> from penstock.core.columns.schema import Column
    >>> ungrouped_column(Schema((Column("void", "struct<void:int>"), Column("m", "map<int,int>"))))
    'column m is MAP<INT,INT>'
    """
    wrong = (column for column in query.columns if _UNGROUPED.search(column.type))
    return next((f"column {column.name} is {column.type.upper()}" for column in wrong), "")


def changed_stage(keys: tuple[str, ...], query: Schema) -> Stage:
    """Return the stage that finds the changed keys, with their rows now; it counts both.

    A key that gained or lost several rows is unclear: all rows have to be read.
    """
    columns = listed(query.names)
    signed = (f"SELECT {columns}, {s} AS {_SIGN} FROM {v}" for v, s in ((AFTER, 1), (BEFORE, -1)))
    summed = (
        f"SELECT {columns}, sum({_SIGN}) AS {_SIGN} FROM ({' UNION ALL '.join(signed)}) "
        f"GROUP BY {columns} HAVING sum({_SIGN}) <> 0"
    )
    by_key = (
        f"SELECT {listed(keys)}, sum(greatest({_SIGN}, 0)) AS {_GAINED}, "
        f"sum(greatest(-{_SIGN}, 0)) AS {_LOST}, "
        f"first(CASE WHEN {_SIGN} > 0 THEN struct({columns}) END, true) AS {_ROW} "
        f"FROM ({summed}) GROUP BY {listed(keys)}"
    )
    folded = {key.lower() for key in keys}
    values = (
        quoted(name) if name.lower() in folded else f"{_ROW}.{quoted(name)} AS {quoted(name)}"
        for name in query.names
    )
    rows = f"SELECT {', '.join(values)}, {_GAINED}, {_LOST} FROM ({by_key})"
    unclear = f"count_if({_GAINED} > 1 OR {_LOST} > 1)"
    passing = Passing(_SUMMED, rows, {KEYS: "count(*)", UNCLEAR: unclear})
    return Stage(ps.CHANGED_ROWS, f"SELECT * FROM {quoted(_SUMMED)}", passing=passing)


def present_rows() -> str:
    """Return the rows of changed keys that the query still has."""
    return f"(SELECT * FROM {quoted(ps.CHANGED_ROWS)} WHERE {_GAINED} > 0)"


def changed_versions(sides: Sides, current: str) -> str:
    """Return the current versions of changed keys, and whether the key only gained a row."""
    hint = "/*+ BROADCAST(k) */ " if (sides.changed or 0) <= FEW_ROWS else ""
    keys = (
        f"SELECT {listed(sides.terms.keys)}, {_LOST} = 0 AS {ps.NEW} FROM {quoted(ps.CHANGED_ROWS)}"
    )
    on = sides.terms.on("v", "k")
    return f"SELECT {hint}v.*, k.{ps.NEW} FROM ({current}) v JOIN ({keys}) k ON {on}"


def counts_of_changes(sides: Sides) -> Mapping[str, str]:
    """Return the aggregates that show whether the changed rows suffice.

    `known` counts keys that only gained a row and have a live version: the query may have two rows
    of them now, or the key comes back. `emptied` is whether every changed key is gone.
    """
    if sides.changed is None:
        return {}
    gone = f"count_if({ps.IN_SOURCE}) = 0 AND count_if({ps.CLASS} = 'deleted') > 0"
    asks = sides.terms.closes_missing and not sides.terms.allow_empty
    return {
        "known": f"count_if({ps.IN_TABLE} AND NOT {ps.TOMB} AND {ps.NEW})",
        "emptied": f"CAST({gone} AS BIGINT)" if asks else "count_if(false)",
    }


def any_left(sides: Sides, full: Stage) -> Stage:
    """Return the stage that looks for a live key beside those that are gone; else all are read."""
    kept = f"{sides.is_current} AND NOT {sides.is_tomb}"
    beside = (
        f"SELECT {listed(sides.terms.keys)} FROM {quoted(TARGET_VIEW)} t LEFT ANTI JOIN "
        f"{quoted(ps.CHANGED_ROWS)} k ON {sides.terms.on('t', 'k')} WHERE {kept} LIMIT 1"
    )

    def retry(row: Row) -> Stage | None:
        return None if row["left"] else reading_all(full, "they leave no key")

    look = f"SELECT count(*) AS `left` FROM {quoted(ps.LEFT_KEYS)}"
    return Stage(ps.LEFT_KEYS, beside, look, when="emptied", is_kept=False, retry=retry)


def not_enough(row: Row) -> str:
    """Return why the changed rows do not suffice, "" if they do."""
    known = row["known"]
    return f"{known} keys came back, or have another row" if known else ""


def reading_all(stage: Stage, why: str) -> Stage:
    """Return the stage that reads all rows, with the reason among its values."""
    assert stage.passing is not None  # noqa: S101  rows that are classified pass by
    counts = {**stage.passing.counts, READS_ALL: f"max({literal(why)})"}
    return replace(stage, passing=replace(stage.passing, counts=counts))
