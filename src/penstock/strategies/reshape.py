"""Changes of a table apart from its rows, each its own commit, before or without a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.columns.schema import Schema
from penstock.core.columns.types import parse_type, sql_type
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import literal, quoted
from penstock.core.statement import Commit, TableOverwrite
from penstock.core.strategy import Layout
from penstock.strategies.build import properties_sql, table_clauses
from penstock.strategies.values import cast, null

_ANSI = {"spark.sql.ansi.enabled": "true"}


def create_empty(
    model: Model, target: str, columns: Schema, *, location: str = "", replaces: bool = False
) -> Commit:
    """Create the table without rows, or replace a foreign one; `location` is for a catalog."""
    descriptions = {each.name.lower(): each.description for each in model.columns}
    declared = []
    for column in columns.columns:
        parts = [quoted(column.name), sql_type(parse_type(column.type))]
        if not column.nullable:
            parts.append("NOT NULL")
        if comment := column.comment or descriptions.get(column.name.lower()):
            parts.append(f"COMMENT {literal(comment)}")
        declared.append(" ".join(parts))
    verb = "REPLACE" if replaces else "CREATE"
    sql = f"{verb} TABLE {target} ({', '.join(declared)}) USING delta {_clauses(model, location)}"
    return Commit(sql, once=False)


def rewrite(  # the sides of one statement
    model: Model,
    target: str,
    columns: Schema,
    facts: TableFacts,
    *,
    uri: str = "",
    location: str = "",
) -> Commit:
    """Rewrite all rows with other types or another layout; a failing cast commits nothing.

    Columns that are not in `columns` are removed, and so is NOT NULL, which Delta sets only at
    creation. Rows without a value in a new partition field belong to no partition and are removed.
    """
    rows = rewritten_rows(model, target, columns, facts)
    partition_by = model.layout.partition_by
    if partition_by and facts.cluster_by:
        return Commit(rows, _ANSI, overwrite=TableOverwrite(uri, partition_by))
    made = f"CREATE OR REPLACE TABLE {target} USING delta {_clauses(model, location)}"
    return Commit(f"{made} AS {rows}", _ANSI)


def rewritten_rows(model: Model, rows: str, columns: Schema, facts: TableFacts) -> str:
    """Return the rows of a table after `rewrite`; `rows` is SQL that reads them."""
    chosen = []
    for column in columns.columns:
        known, want = facts.schema.find(column.name), parse_type(column.type)
        value = cast(quoted(known.name), parse_type(known.type), want) if known else null(want)
        chosen.append(f"{value} AS {quoted(column.name)}")
    found = f"SELECT {', '.join(chosen)} FROM {rows}"
    field = model.partition.field if model.partition else ""
    laid_out_by = next(iter((*facts.partition_by, *facts.cluster_by)), "")
    if field and laid_out_by.lower() != field.lower():
        return f"SELECT * FROM ({found}) WHERE {quoted(field)} IS NOT NULL"
    return found


def drop_not_null(target: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Allow NULL in columns, in one commit."""
    dropped = ", ".join(f"{quoted(name)} DROP NOT NULL" for name in names)
    return (f"ALTER TABLE {target} ALTER COLUMN {dropped}",) if names else ()


def restore(target: str, version: int) -> Commit:
    """Restore rows, columns and layout of a version; this always makes a commit."""
    return Commit(f"RESTORE TABLE {target} TO VERSION AS OF {version}", once=False)


def physical_layout(layout: Layout) -> Layout:
    """Return the layout for Delta: columns to sort by within partitions are not clustering.

    >>> physical_layout(Layout(("date",), ("id",)))
    Layout(partition_by=('date',), cluster_by=(), properties={})
    """
    return replace(layout, cluster_by=()) if layout.partition_by else layout


def _clauses(model: Model, location: str) -> str:
    return table_clauses(model, physical_layout(model.layout), location)


_WIDENING = "delta.enableTypeWidening"


def allow_widening(target: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Allow wider types in a table once it needs them: other readers then lose access."""
    if properties.get(_WIDENING, "false").lower() == "true":
        return ()
    return (f"ALTER TABLE {target} SET TBLPROPERTIES ({properties_sql({_WIDENING: 'true'})})",)


def preparing_sql(target: str, model: Model, facts: TableFacts, *, widens: bool) -> tuple[str, ...]:
    """Return the table changes that must precede rows which may widen its columns."""
    allowed = allow_widening(target, facts.properties) if widens else ()
    return (*allowed, *alter_properties(target, model, facts))


def alter_properties(target: str, model: Model, facts: TableFacts) -> tuple[str, ...]:
    """Set properties, the table's comment and column comments as in the project."""
    wanted = model.layout.properties
    wrong = {key: value for key, value in wanted.items() if facts.properties.get(key) != value}
    statements = []
    if wrong:
        statements.append(f"ALTER TABLE {target} SET TBLPROPERTIES ({properties_sql(wrong)})")
    if model.description and facts.comment != model.description:
        statements.append(f"COMMENT ON TABLE {target} IS {literal(model.description)}")
    comments = []
    for column in model.columns:
        known = facts.schema.find(column.name)
        if known is not None and column.description and known.comment != column.description:
            comments.append(f"{quoted(known.name)} COMMENT {literal(column.description)}")
    if comments:
        statements.append(f"ALTER TABLE {target} ALTER COLUMN {', '.join(comments)}")
    return tuple(statements)
