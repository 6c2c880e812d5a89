"""The queries of checks: rows by partitions, one query per phase, samples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from penstock.core.check_results import Sample
from penstock.core.checks.check_type import GroupValue, Measure, Values
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ArrayType, MapType, StructType, parse_type
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span, literal_at
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.literals import CELL, amount, shortened
from penstock.strategies.checks.measure import COPIES, COUNT_ALL, bracketed, failed, passed

GROUP = "__penstock_group"
ROWS = OBSERVED_ROWS
"""The name of the plain count of all rows."""


def alias(aggregate: str) -> str:
    """Return the alias of an aggregate: equal texts have equal names."""
    if aggregate == COUNT_ALL:
        return ROWS
    return f"_ps_{hashlib.sha256(aggregate.encode()).hexdigest()[:16]}"


def aggregates_of(measures: Iterable[Measure]) -> Mapping[str, str]:
    """Return the aggregates of several checks, each once, and the count of all rows."""
    asked = (aggregate for each in measures for aggregate in each.aggregates.values())
    return {ROWS: COUNT_ALL} | {alias(aggregate): aggregate for aggregate in asked}


def phase_query(rows: str, key: str, aggregates: Mapping[str, str]) -> str:
    """Return one row per group with rows; without a key one row in any case."""
    asked = [f"{aggregate} AS {quoted(name)}" for name, aggregate in aggregates.items()]
    if not key:
        return f"SELECT {', '.join(asked)} FROM (\n{rows}\n)"
    columns = ", ".join((f"{key} AS {GROUP}", *asked))
    return f"SELECT {columns} FROM (\n{rows}\n) GROUP BY {key}"


def group_of(rows: str, key: str, group: str) -> str:
    """Return the rows of one group."""
    return f"SELECT * FROM (\n{rows}\n) WHERE {key} = {literal(group)}" if key else rows


def one_group_query(rows: str, group: str, measured: Measure) -> str:
    """Return one row for one group, with the aggregates in the order of their names."""
    asked = ", ".join(
        f"{aggregate} AS {quoted(f'm{place}')}"
        for place, aggregate in enumerate((COUNT_ALL, *measured.aggregates.values()))
    )
    return f"SELECT {literal(group)} AS {GROUP}, {asked} FROM (\n{rows}\n)"


def renamed(row: Values, measured: Measure) -> Values:
    """Return the row of `one_group_query` with the names of `phase_query`."""
    aggregates = (COUNT_ALL, *measured.aggregates.values())
    return {alias(aggregate): row[f"m{place}"] for place, aggregate in enumerate(aggregates)}


KEY = quoted("_ps_group")
"""The column with the key of the partition."""


def ranged(view: str, column: Column | None, spans: Mapping[str, tuple[Span, ...]]) -> str:
    """Return the rows of a view in the spans of each key; without a column all of them.

    One partition is a condition, which skips files; several are a join with their bounds.
    """
    if len(spans) == 1:
        [(name, pieces)] = spans.items()
        where = _condition(column, pieces)
        return f"SELECT *, {literal(name)} AS {KEY} FROM {quoted(view)}{where}"
    rows = ", ".join(
        f"({literal(name)}, {_bound(column, low, FIRST)}, {_bound(column, high, LAST)})"
        for name, pieces in spans.items()
        for low, high in pieces
    )
    if not rows:
        return f"SELECT *, '' AS {KEY} FROM {quoted(view)} WHERE false"
    groups = f"(SELECT * FROM VALUES {rows} AS g({KEY}, `_ps_low`, `_ps_high`))"
    name = f"r.{quoted(column.name)}" if column is not None else "NULL"
    inside = (
        f"(g.`_ps_low` IS NULL OR {name} >= g.`_ps_low`) "
        f"AND (g.`_ps_high` IS NULL OR {name} < g.`_ps_high`)"
    )
    return f"SELECT r.*, g.{KEY} FROM {quoted(view)} r JOIN {groups} g ON {inside}"


def _condition(column: Column | None, pieces: tuple[Span, ...]) -> str:
    if column is None:
        return ""
    name, terms = quoted(column.name), []
    for low, high in pieces:
        ends = [f"{name} >= {literal_at(low, column.type)}"] if low > FIRST else []
        ends += [f"{name} < {literal_at(high, column.type)}"] if high < LAST else []
        if not ends:
            return ""
        terms.append(f"({' AND '.join(ends)})")
    return f" WHERE {' OR '.join(terms) or 'false'}"


def _bound(column: Column | None, place: int, end: int) -> str:
    return "NULL" if column is None or place == end else literal_at(place, column.type)


_LARGE = 2**63


def key_sql(grid: Grid, field: str, kind: str) -> str:
    """Return SQL for the key of a row's partition, as `Grid.key` writes it.

    `kind` is the Spark type of the field; the session's zone is UTC. NULL is in no partition.

    >>> key_sql(Grid(Grain.MONTH), "day", "date")
    'left(CAST(`day` AS STRING), 7)'
    """
    column = quoted(field)
    date = column if kind == "date" else f"CAST({column} AS DATE)"
    if grid.grain is Grain.RANGE:
        # The lower bound of an integer's partition; wide ranges are reckoned as decimals.
        is_wide = max(abs(grid.start), abs(grid.end), grid.end - grid.start) >= _LARGE
        value, start, interval = (
            f"CAST({each} AS {'DECIMAL(38,0)' if is_wide else 'BIGINT'})"
            for each in (column, f"'{grid.start}'", f"'{grid.interval}'")
        )
        inside = f"{column} >= {grid.start} AND {column} < {grid.end}"
        key = f"CAST({value} - pmod({value} - {start}, {interval}) AS STRING)"
        return f"CASE WHEN {inside} THEN {key} END"
    return {
        Grain.WHOLE: "'*'",
        Grain.HOUR: f"replace(left(CAST({column} AS STRING), 13), ' ', 'T')",
        Grain.DAY: f"CAST({date} AS STRING)",
        Grain.WEEK: f"CAST(trunc({date}, 'WEEK') AS STRING)",
        Grain.MONTH: f"left(CAST({date} AS STRING), 7)",
        Grain.YEAR: f"left(CAST({date} AS STRING), 4)",
    }[grid.grain]


KEPT, ASKED = 5, 6
"""How many rows a report keeps, and how many it queries."""

WIDE = 20
"""The greatest number of columns in a sample."""

_VALUES = 5


def shown_columns(columns: Schema, wanted: Sequence[str]) -> Schema:
    """Return the columns of a sample: those that the check names first, then the others."""
    named = [found for each in wanted if (found := columns.find(each)) is not None]
    others = [each for each in columns.columns if each not in named]
    chosen = [*named, *others][:WIDE]
    return Schema(tuple(each for each in columns.columns if each in chosen))


def sample_query(
    rows: str, key: str, groups: Sequence[str], measured: Measure, where: str, columns: Schema
) -> str:
    """Return failing rows of these groups, lowest group first.

    `columns` are those to show, `where` is the condition of the rows that count.
    """
    shown = ", ".join(cells(columns, [quoted(each) for each in columns.names]))
    within = _in_groups(key, groups)
    source = rows
    if measured.repeated:
        source = _with_copies(rows, key, measured, where, within)
    ordered = [key] if key and len(groups) > 1 else []
    ordered += [quoted(each) for each in measured.repeated]
    order = f" ORDER BY {', '.join(ordered)}" if ordered else ""
    return (
        f"SELECT {shown} FROM (\n{source}\n) "
        f"WHERE {_all(where, within, measured.breaks)}{order} LIMIT {ASKED}"
    )


def failing_query(
    rows: str, key: str, measured: Measure, where: str, columns: Schema, limit: int | None
) -> str:
    """Return every failing row of all groups, or at most `limit` of them."""
    source = _with_copies(rows, key, measured, where) if measured.repeated else rows
    names = ", ".join(map(quoted, columns.names))
    broken = f"SELECT {names} FROM (\n{source}\n) WHERE {_all(where, measured.breaks)}"
    return storable(broken, columns, limit)


def storable(sql: str, columns: Schema, limit: int | None) -> str:
    """Return rows in a form that a table can store: unique names, no column without a type."""
    names = labels(columns.names)
    shown = ", ".join(
        f"CAST(NULL AS STRING) AS {quoted(name)}" if each.type == "void" else quoted(name)
        for name, each in zip(names, columns.columns, strict=True)
    )
    most = "" if limit is None else f" LIMIT {limit}"
    return f"SELECT {shown} FROM (\n{sql}\n) AS t({', '.join(map(quoted, names))}){most}"


def _with_copies(rows: str, key: str, measured: Measure, where: str, in_groups: str = "") -> str:
    by = ", ".join((*([key] if key else []), *(quoted(each) for each in measured.repeated)))
    copies = f"SELECT *, count(*) OVER (PARTITION BY {by}) AS {COPIES} FROM (\n{rows}\n)"
    return f"{copies} WHERE {_all(where, in_groups)}"


def values_query(
    rows: str, key: str, groups: Sequence[str], measured: Measure, where: str, column: Column
) -> str:
    """Return the most frequent unaccepted values with their counts, group by group."""
    group = key or "'*'"
    value = text_of(quoted(column.name), column.type)
    frequent = (
        f"SELECT {group} AS {GROUP}, {value} AS value, count(*) AS n FROM (\n{rows}\n) "
        f"WHERE {_all(where, _in_groups(key, groups), measured.breaks)} GROUP BY ALL"
    )
    place = f"row_number() OVER (PARTITION BY {GROUP} ORDER BY n DESC, value) AS place"
    return f"SELECT * FROM (SELECT *, {place} FROM ({frequent})) WHERE place <= {_VALUES}"


def both_query(values: str, sample: str, width: int) -> str:
    """Return rows of `values_query` and `sample_query` in one query, distinguished by `n`."""
    names = places(width)
    empty = ", ".join(f"CAST(NULL AS STRING) AS {each}" for each in names)
    first = f"SELECT {GROUP}, value, n, place, {empty} FROM ({values})"
    second = f"SELECT '', '', 0, 0, {', '.join(names)} FROM ({sample})"
    return f"({first}) UNION ALL ({second})"


def sample_of(rows: Sequence[Row], columns: Schema) -> Sample:
    """Return the sample of rows whose cells are in the columns `places`."""
    names = places(len(columns.columns[:WIDE]))
    found = [[row[name] for name in names] for row in rows[:KEPT]]
    kept = (tuple(c if c is None else shortened(str(c), CELL) for c in row) for row in found)
    return Sample(labels(columns.names[:WIDE]), tuple(kept))


def cells(columns: Schema, values: Sequence[str] = ()) -> list[str]:
    """Return SQL of the columns as texts named `places`, at most 20; complex ones as JSON.

    Without values, the columns themselves are named `places`.
    """
    found = columns.columns[:WIDE]
    names = places(len(found))
    given = values or names
    return [
        f"{text_of(value, column.type)} AS {name}"
        for value, column, name in zip(given, found, names, strict=False)
    ]


def text_of(value: str, kind: str) -> str:
    """Return SQL for the beginning of a value as text: one character more than a cell shows.

    >>> text_of("`a`", "int")
    'left(CAST(`a` AS STRING), 81)'
    """
    return f"left({_text(value, kind)}, {CELL + 1})"


def places(count: int) -> tuple[str, ...]:
    """Return names for columns by position."""
    return tuple(f"c{number}" for number in range(count))


def labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return distinct labels for columns with the same name."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        label, number = name, 1
        while label.lower() in taken:
            number += 1
            label = f"{name}_{number}"
        taken.add(label.lower())
        found.append(label)
    return tuple(found)


def _text(value: str, kind: str) -> str:
    if kind == "variant" or isinstance(parse_type(kind), ArrayType | MapType | StructType):
        return f"to_json({value})"
    return f"hex({value})" if kind == "binary" else f"CAST({value} AS STRING)"


def _all(*conditions: str) -> str:
    return " AND ".join(bracketed(each) for each in conditions if each) or "true"


def _in_groups(key: str, groups: Sequence[str]) -> str:
    return f"{key} IN ({', '.join(map(literal, groups))})" if key else ""


def group_query(sql: str, group: str, columns: Schema | None) -> str:
    """Return the first rows of one group as texts; without columns no cell of a row."""
    if columns is None:
        return f"SELECT {literal(group)} AS {GROUP}, 1 AS c0 FROM (\n{sql}\n) LIMIT {ASKED}"
    names = ", ".join(places(len(columns.columns)))
    shown = ", ".join((f"{literal(group)} AS {GROUP}", *cells(columns)))
    return f"SELECT {shown} FROM (\n{sql}\n) AS t({names}) LIMIT {ASKED}"


def united(queries: Sequence[str]) -> str:
    """Return the rows of all queries."""
    return queries[0] if len(queries) == 1 else " UNION ALL ".join(f"({q})" for q in queries)


def count_query(sql: str, group: str) -> str:
    """Count all rows of one group."""
    return f"SELECT {literal(group)} AS {GROUP}, count(*) AS n FROM (\n{sql}\n)"


def verdict(rows: int, *, exact: bool = False) -> GroupValue:
    """Return the result for a number of returned rows; above the limit it is not `exact`."""
    if not rows:
        return passed("no rows", failures=0)
    if rows > KEPT and not exact:
        return failed(f"more than {KEPT} rows (expected 0)")
    return failed(f"{amount(rows, 'row')} (expected 0)", failures=rows)
