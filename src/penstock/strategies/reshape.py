"""Changes of a table beside its rows, each a commit of its own, before or without a build."""

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
    """Make the table without rows, or replace somebody else's; a catalog is told its `location`."""
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
    """Write all rows anew with other types or another layout; a cast that fails commits nothing.

    Columns that `columns` has not are gone afterwards, and so is NOT NULL, which Delta sets at
    creation alone. Rows without a value in a new partition field belong to no partition and go too.
    """
    rows = rewritten_rows(model, target, columns, facts)
    partition_by = model.layout.partition_by
    if partition_by and facts.cluster_by:
        return Commit(rows, _ANSI, overwrite=TableOverwrite(uri, partition_by))
    made = f"CREATE OR REPLACE TABLE {target} USING delta {_clauses(model, location)}"
    return Commit(f"{made} AS {rows}", _ANSI)


def rewritten_rows(model: Model, rows: str, columns: Schema, facts: TableFacts) -> str:
    """Return the rows of a table as `rewrite` leaves them; `rows` is SQL that names them."""
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
    """Let columns be NULL from now on, all in one commit."""
    dropped = ", ".join(f"{quoted(name)} DROP NOT NULL" for name in names)
    return (f"ALTER TABLE {target} ALTER COLUMN {dropped}",) if names else ()


def restore(target: str, version: int) -> Commit:
    """Bring rows, columns and layout of a version back; it always makes a commit."""
    return Commit(f"RESTORE TABLE {target} TO VERSION AS OF {version}", once=False)


def physical_layout(layout: Layout) -> Layout:
    """Return the layout that Delta is told: columns to sort by within partitions are no clustering.

    >>> physical_layout(Layout(("date",), ("id",)))
    Layout(partition_by=('date',), cluster_by=(), properties={})
    """
    return replace(layout, cluster_by=()) if layout.partition_by else layout


def _clauses(model: Model, location: str) -> str:
    return table_clauses(model, physical_layout(model.layout), location)


_WIDENING = "delta.enableTypeWidening"


def allow_widening(target: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Let a table take wider types once it needs to: other readers lose it."""
    if properties.get(_WIDENING, "false").lower() == "true":
        return ()
    return (f"ALTER TABLE {target} SET TBLPROPERTIES ({properties_sql({_WIDENING: 'true'})})",)


def preparing_sql(target: str, model: Model, facts: TableFacts, *, widens: bool) -> tuple[str, ...]:
    """Return the changes of a table that must come before rows which may widen its columns."""
    allowed = allow_widening(target, facts.properties) if widens else ()
    return (*allowed, *alter_properties(target, model, facts))


def alter_properties(target: str, model: Model, facts: TableFacts) -> tuple[str, ...]:
    """Bring properties, the table's comment and those of columns to what the project says."""
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
