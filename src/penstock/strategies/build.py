"""The pieces of SQL that several strategies share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.names import literal, quoted
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW, Commit, Feed, Stage, Work
from penstock.core.strategy import Build, Layout
from penstock.core.types import parse_type
from penstock.strategies.casting import cast
from penstock.strategies.partition_texts import (
    CODE,
    any_lost,
    is_lost,
    lost_counts,
    lost_rules,
    partition_texts,
    told,
)

ROWS_VIEW = "penstock_rows"
"""The view of a feed: the rows of a step as they are stored."""
_LOST_VIEW = "penstock_lost"
CLUSTER_PROPERTY = "penstock.clusterBy"
ANSI = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
}
# One side is small beside the other: hashing it spares sorting the large one (decision 6).
HASH_JOIN = {"spark.sql.join.preferSortMergeJoin": "false"}


def texts_of(build: Build) -> tuple[str, ...]:
    """Give the query's columns of text that partition the table."""
    by = build.model.layout.partition_by if build.partition_by is None else build.partition_by
    return partition_texts(by, build.query) if by else ()


def create_from(build: Build, source: str = "") -> Commit:
    """Replace the table by the rows of a view."""
    return create(build, f"SELECT {selected(build)} FROM {quoted(source or build.source)}")


def insert(build: Build, overwrites: str = "", confs: Mapping[str, str] | None = None) -> Work:
    """Insert the query's rows; a table that is not there, or is made anew, is created of them.

    `overwrites` is the word for an INSERT that replaces rows.
    """
    if not build.inserts:
        statement = create_from(build)
    else:
        evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
        statement = Commit(
            f"INSERT {evolution}{overwrites or 'INTO'} {build.target} BY NAME "
            f"SELECT {selected(build)} FROM {quoted(build.source)}",
            confs or {},
        )
    return Work((), lambda _: statement, again=counted_texts(build))


def selected(build: Build) -> str:
    """Give the query's columns; a text that would become NULL fails the statement."""
    texts = set(texts_of(build))
    return ", ".join(
        f"{guarded(quoted(name), name, build.model.name)} AS {quoted(name)}"
        if name in texts
        else quoted(name)
        for name in build.query.names
    )


def guarded(value: str, name: str, model: str) -> str:
    """Give the value of a text column that partitions a table, or fail."""
    failed = refusing(CODE, literal(told(name, model, "rows")))
    return f"CASE WHEN {is_lost(value)} THEN {failed} ELSE {value} END"


def refusing(code: str, told: str) -> str:
    """Give SQL that fails; cut so that only the message has the mark, not SQL that Spark quotes."""
    return f"raise_error(concat('penstock:', {literal(f'{code}: ')}, {told}))"


def counted_texts(build: Build) -> Work | None:
    """Give the work that counts the rows for which `selected` failed; None where it cannot."""
    names = texts_of(build)
    if not names:
        return None
    counts = ", ".join(f"{sql} AS `{name}`" for name, sql in lost_counts(names).items())
    stage = Stage(
        _LOST_VIEW,
        f"SELECT {listed(names)} FROM {quoted(QUERY_VIEW)} WHERE {any_lost(names)}",
        f"SELECT {counts} FROM {quoted(_LOST_VIEW)}",
        lost_rules(names, build.model.name, ""),
    )
    return Work((stage,), lambda _: None)


def fed(build: Build) -> Build:
    """Give the build whose rows pass through the view of a feed."""
    return replace(build, source=ROWS_VIEW)


def feed_of(build: Build) -> Feed:
    """Give the rows of the query with the columns and types under which the table stores them."""
    columns = []
    for column in build.query.columns:
        known = build.table.find(column.name) if build.table else None
        name = quoted(column.name)
        if known is None or known.type == column.type or build.evolves:
            columns.append(name)
        else:
            columns.append(
                f"{cast(name, parse_type(column.type), parse_type(known.type))} AS {name}"
            )
    return Feed(ROWS_VIEW, f"SELECT {', '.join(columns)} FROM {quoted(QUERY_VIEW)}", confs=ANSI)


def stored(build: Build) -> Schema:
    """Give the columns of `feed_of`, with the types that the table has."""
    known = build.table
    if known is None or build.evolves:
        return build.query
    return Schema(tuple(known.find(column.name) or column for column in build.query.columns))


def create(build: Build, rows: str, properties: Mapping[str, str] | None = None) -> Commit:
    """One atomic replace: readers see the old rows or the new ones, never neither.

    Creates the table with schema, layout, properties and the rows of a query in one commit.
    """
    layout = build.model.layout
    clauses = [f"CREATE OR REPLACE TABLE {build.target} USING delta"]
    if layout.partition_by:
        clauses.append(f"PARTITIONED BY ({listed(layout.partition_by)})")
    if layout.cluster_by:
        clauses.append(f"CLUSTER BY ({listed(layout.cluster_by)})")
    if build.model.description:
        clauses.append(f"COMMENT {literal(build.model.description)}")
    if build.location:
        clauses.append(f"LOCATION {literal(build.location)}")
    told = table_properties(layout) | dict(properties or {})
    clauses.append(f"TBLPROPERTIES ({written(told)})")
    clauses.append(f"AS {rows}")
    return Commit(" ".join(clauses))


def table_properties(layout: Layout) -> dict[str, str]:
    """Give every property a new table is created with; deletion vectors are on by default."""
    properties = {"delta.enableDeletionVectors": "true"} | dict(layout.properties)
    if layout.cluster_by:
        properties[CLUSTER_PROPERTY] = ",".join(layout.cluster_by)
    return properties


def written(properties: Mapping[str, str]) -> str:
    r"""Give properties as SQL, sorted by key.

    >>> written({"b": "2", "a": "it's"})
    "'a' = 'it\\'s', 'b' = '2'"
    """
    return ", ".join(f"{literal(k)} = {literal(v)}" for k, v in sorted(properties.items()))


def listed(names: tuple[str, ...], prefix: str = "") -> str:
    """Give quoted names, comma-separated.

    >>> listed(("a", "b"), "s.")
    's.`a`, s.`b`'
    """
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)
