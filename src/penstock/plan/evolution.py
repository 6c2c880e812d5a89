"""Schema changes: what a query's columns mean for the table they go to (spec/project.md §3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.core.errors import SchemaError
from penstock.core.model import Model, OnSchemaChange
from penstock.core.schema import Column, Schema

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class Evolution:
    """How a query fits its table; names are column names.

    `written` are the columns of the query that are written, in its order; `added` are new to the
    table, `widened` hold a wider type than it, `gone` are the table's and not the query's.
    """

    written: tuple[str, ...]
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def changes_table(self) -> bool:
        """Whether the table's schema changes with the commit."""
        return bool(self.added or self.widened)


def evolve(model: Model, query: Schema, table: Schema | None) -> Evolution:
    """Compare before anything is written: Delta would cast silently, so penstock looks first.

    Raises `incompatible-type`, `schema-changed` (with `on_schema_change: fail`),
    `duplicate-column` or `void-column`; every difference is named in one error.
    """
    check_query(model, query)
    if table is None:
        return Evolution(query.names)
    added, widened, wrong = [], [], []
    for column in query.columns:
        known = table.find(column.name)
        if known is None:
            added.append(column.name)
        elif column.type == known.type or widens(column.type, known.type):
            continue
        elif widens(known.type, column.type):
            widened.append(column.name)
        else:
            wrong.append((column, known))
    gone = tuple(name for name in table.names if query.find(name) is None)
    if wrong:
        raise incompatible(model, *wrong[0], more=len(wrong) - 1)
    if model.on_schema_change is OnSchemaChange.FAIL and (added or widened or gone):
        raise SchemaError(
            "schema-changed",
            f"{model.name}: added=[{', '.join(added)}], removed=[{', '.join(gone)}], "
            f"widened=[{', '.join(widened)}]",
            where=model.where,
            hint="allow it with on_schema_change='append', or --full-refresh",
        )
    written = query.names
    if model.on_schema_change is OnSchemaChange.IGNORE:
        written = tuple(name for name in query.names if name not in added)
        added = []
    return Evolution(written, tuple(added), tuple(widened), gone)


def check_query(model: Model, query: Schema) -> None:
    """Refuse columns that no table can have: the same name twice, or no type."""
    seen: set[str] = set()
    for column in query.columns:
        if column.name.lower() in seen:
            raise SchemaError(
                "duplicate-column",
                f"the query of {model.name!r} gives the column {column.name!r} twice",
                where=model.where,
                hint="names differ only by case, or a join keeps both sides; rename one",
            )
        seen.add(column.name.lower())
        if column.type == "void":
            raise SchemaError(
                "void-column",
                f"column {column.name!r} of {model.name!r} is NULL without a type",
                where=model.where,
                hint=f"write CAST(NULL AS STRING) AS {column.name}, or its real type",
            )


def incompatible(model: Model, query: Column, table: Column, more: int) -> SchemaError:
    """Give the error that names both types (case J16)."""
    others = f" (and {more} more columns)" if more else ""
    return SchemaError(
        "incompatible-type",
        f"column {query.name!r} is {query.type.upper()} in the query and {table.type.upper()} in "
        f"{model.table}{others}",
        where=model.where,
        hint="cast it in the SELECT, or --full-refresh to replace the table",
    )


def widens(narrow: str, wide: str) -> bool:
    """Whether every value of one type is a value of the other (spec/drift.md §7).

    >>> widens("int", "bigint"), widens("int", "double"), widens("bigint", "double")
    (True, True, False)
    >>> widens("decimal(10,2)", "decimal(12,4)"), widens("decimal(10,2)", "decimal(10,4)")
    (True, False)
    """
    if narrow in _INTEGERS and wide in _INTEGERS:
        return _INTEGERS.index(narrow) < _INTEGERS.index(wide)
    if narrow in _INTEGERS[:3] and wide == "double":
        return True
    if (narrow, wide) == ("float", "double"):
        return True
    to = _DECIMAL.fullmatch(wide)
    if to is None:
        return False
    whole = int(to[1]) - int(to[2])
    if narrow in _DIGITS:
        return whole >= max(_DIGITS[narrow], 10)
    of = _DECIMAL.fullmatch(narrow)
    return of is not None and whole >= int(of[1]) - int(of[2]) and int(to[2]) >= int(of[2])
