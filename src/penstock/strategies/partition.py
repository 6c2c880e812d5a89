"""The strategy `partition`: one range of partitions replaced by one commit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core import strategy as port
from penstock.core.columns.casts import Misfit, TypeDifference, differences
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import parse_type
from penstock.core.errors import SchemaError
from penstock.core.findings import Location
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import Span, literal_at
from penstock.core.statement import Commit, Feed, Work
from penstock.strategies.build import ANSI, ROWS_VIEW, guarded_text, partition_texts, raise_sql
from penstock.strategies.values import cast, null

_CONFS = {**ANSI, "spark.sql.sources.partitionOverwriteMode": "static"}
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Partition(port.PartitionSettings, port.Strategy):
    """Ranges of partitions are replaced, and each partition has its own record."""

    name = "partition"
    settings = port.STORED | {
        "time_column",
        "partition_type",
        "partition_data_type",
        "partition_start",
        "partition_end",
        "partition_interval",
        "start",
        "ready_after",
        "batch_size",
        "lookback",
    }
    writing = port.Writing.RANGES
    rerun_is_safe = True
    dbt = ("incremental", "insert_overwrite")

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Read how it is partitioned."""
        found = settings.partitioning()
        return cls(*(getattr(found, each.name) for each in dataclasses.fields(found)))

    @property
    def partitioning(self) -> port.PartitionSettings:
        """Its settings."""
        return self

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return what assigns rows to partitions; when a partition is due does not matter."""
        del layout
        grid = self.grid
        return {
            "field": self.field.lower(),
            "grid": [str(grid.grain), grid.start, grid.end, grid.interval],
        }

    def work(self, build: port.Build) -> Work:
        """Raise: partitions are built by `replace`, from slices."""
        raise TypeError(f"{build.model.name} is built by partitions")


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of partitions from one bound SELECT; messages call them `key`: `2024-12-02`."""

    sql: str
    spans: tuple[Span, ...]
    key: str


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """The table of a step: `target` in SQL, `name` in messages; `kind` is the field's Spark type.

    `columns` are those of the table after the commit; `declared` are those of the version that is
    built, `described` those that its query returns. `spans`, which are replaced, are ascending and
    do not touch.
    """

    target: str
    name: str
    field: str
    kind: str
    columns: Schema
    declared: Schema
    described: Schema
    spans: tuple[Span, ...]
    partition_by: tuple[str, ...] = ()


def replace(table: PartitionTable, slices: tuple[Slice, ...]) -> Work:
    """Replace all rows of some ranges by those of the slices; rows and files outside stay.

    New columns and wider types are part of the same commit; a column that the query lacks is NULL.
    A row outside its own slice, or NULL in a required column, fails the job, so that a batch
    accepts exactly what single runs would accept. If ranges stay empty, nothing is committed.
    """
    return Work.just(_insert(table, feed(table, slices).sql))


def feed(table: PartitionTable, slices: tuple[Slice, ...]) -> Feed:
    """Return the rows of the slices in stored form, as a view."""
    lost = [name for name in table.described.names if table.columns.find(name) is None]
    if lost:
        raise ValueError(f"{table.name} would lose the columns {lost}")
    branches, columns = [], table.columns.columns
    for piece in slices:
        values = ", ".join(f"{_column_value(table, c, piece)} AS {quoted(c.name)}" for c in columns)
        # The line break ends a comment that the query may end with.
        branches.append(f"SELECT {values} FROM (\n{piece.sql}\n)")
    return Feed(ROWS_VIEW, " UNION ALL ".join(branches), confs=_CONFS)


def replace_from(table: PartitionTable, feed: Feed) -> Commit:
    """Return the same as `replace` for rows in the view of a feed."""
    return dataclasses.replace(_insert(table, f"SELECT * FROM {quoted(feed.view)}"), feed=feed)


def publish(table: PartitionTable) -> Commit:
    """Replace `table.spans` by the rows of these spans in the view of the feed."""
    return _insert(table, f"SELECT * FROM {quoted(ROWS_VIEW)} WHERE {in_spans(table)}")


def _insert(table: PartitionTable, rows: str) -> Commit:
    into = f"INSERT WITH SCHEMA EVOLUTION INTO {table.target} BY NAME"
    return Commit(f"{into} REPLACE WHERE {in_spans(table)} {rows}", _CONFS)


def in_spans(table: PartitionTable) -> str:
    """Return the condition for rows in one of the spans."""
    return value_in(quoted(table.field), table.kind, table.spans)


def value_in(value: str, kind: str, spans: tuple[Span, ...]) -> str:
    """Return the condition for a value in one of some spans."""
    terms = [
        f"{value} >= {literal_at(low, kind)} AND {value} < {literal_at(high, kind)}"
        for low, high in spans
    ]
    return terms[0] if len(terms) == 1 else " OR ".join(f"({term})" for term in terms)


def _column_value(table: PartitionTable, column: Column, piece: Slice) -> str:
    given, want = table.described.find(column.name), parse_type(column.type)
    value = cast(quoted(given.name), parse_type(given.type), want) if given else null(want)
    if column.name.lower() == table.field.lower():  # NULL is in no partition
        shown = literal(f"{table.name} {piece.key}: the query returned {table.field} = ")
        failed = f"{shown}, coalesce(CAST({value} AS STRING), 'NULL')"
        within = value_in(value, table.kind, piece.spans)
        return (
            f"CASE WHEN {within} THEN {value} ELSE {raise_sql('row-outside-partition', failed)} END"
        )
    if column.name in partition_texts(table.partition_by, table.columns):
        value = guarded_text(value, column.name, table.name)
    wanted = table.declared.find(column.name)
    if wanted is not None and not wanted.nullable:
        said = f"{table.name} {piece.key}: column {column.name!r} is REQUIRED and NULL in a row"
        failed = raise_sql("null-in-required-column", literal(said))
        return f"CASE WHEN {value} IS NULL THEN {failed} ELSE {value} END"
    return value


def check_columns(
    model_name: str, where: Location | None, declared: Schema, described: Schema
) -> None:
    """Check a query's columns against the declared ones, ignoring letter case; run nothing.

    One error lists every difference; without declared columns anything is accepted.
    """
    found = _differences(declared, described) if declared.columns else ()
    if not found:
        return
    code, hint = _SAYS[found[0].why]
    messages = [
        _SENTENCES[each.why].format(path=each.path, have=each.have.upper(), want=each.want.upper())
        for each in found[:_SHOWN]
    ]
    if len(found) > _SHOWN:
        messages.append(f"and {len(found) - _SHOWN} more")
    raise SchemaError(code, f"{model_name}: {'; '.join(messages)}", where=where, hint=hint)


_SAYS = {
    Misfit.MISSING: ("output-column-missing", "select it, or take it out of the schema"),
    Misfit.EXTRA: ("output-column-extra", "declare it in the schema, or do not select it"),
    Misfit.UNCASTABLE: ("output-type-mismatch", "convert it in the SELECT, or declare its type"),
}
_SENTENCES = {
    Misfit.MISSING: "the query gives no column {path!r} ({want})",
    Misfit.EXTRA: "the schema has no column {path!r} ({have})",
    Misfit.UNCASTABLE: "column {path!r} is {have} in the query and {want} in the schema",
}


def _differences(declared: Schema, described: Schema) -> tuple[TypeDifference, ...]:
    found: list[TypeDifference] = []
    for column in declared.columns:
        if given := described.find(column.name):
            found += differences(parse_type(given.type), parse_type(column.type), column.name)
        else:
            found.append(TypeDifference(Misfit.MISSING, column.name, want=column.type))
    for column in described.columns:
        if declared.find(column.name) is None:
            found.append(TypeDifference(Misfit.EXTRA, column.name, have=column.type))
    return tuple(sorted(found, key=lambda each: [*Misfit].index(each.why)))
