"""The would-be table: the target as it will be after a step, before it is (spec/checks.md §5.3)."""

from __future__ import annotations

from penstock.core.names import quoted
from penstock.core.schema import Schema


def with_rows(target: str, columns: Schema, rows: str, given: Schema, kept: str = "") -> str:
    """Give the rows of a target that stay, and those that come, under the columns of both.

    `target` and `rows` are views, `kept` is the condition of a row of the target that stays. A
    column that one side lacks is NULL there.
    """
    added = [column for column in given.columns if columns.find(column.name) is None]
    names = [column.name for column in (*columns.columns, *added)]
    where = f" WHERE {kept}" if kept else ""
    return (
        f"SELECT {_listed(names, columns)} FROM {quoted(target)}{where} "
        f"UNION ALL SELECT {_listed(names, given)} FROM {quoted(rows)}"
    )


def _listed(names: list[str], there: Schema) -> str:
    return ", ".join(
        quoted(name) if there.find(name) is not None else f"NULL AS {quoted(name)}"
        for name in names
    )
