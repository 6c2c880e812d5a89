"""A few rows that break a check, as texts that people can read (spec/checks.md §4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import Sample
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ArrayType, MapType, StructType, parse_type
from penstock.core.names import literal, quoted
from penstock.core.statement import Row
from penstock.strategies.checks.measure import COPIES, Measure
from penstock.strategies.checks.phase import GROUP
from penstock.strategies.checks.restriction import bracketed
from penstock.strategies.checks.written import CELL, shortened

KEPT, ASKED = 5, 6
"""How many rows a report keeps, and how many it asks for."""

WIDE = 20
"""How many columns a sample has at most."""

_VALUES = 5


def shown_columns(columns: Schema, wanted: Sequence[str]) -> Schema:
    """Give the columns of a sample: those that the check names, and others in their order."""
    named = [found for each in wanted if (found := columns.find(each)) is not None]
    others = [each for each in columns.columns if each not in named]
    chosen = [*named, *others][:WIDE]
    return Schema(tuple(each for each in columns.columns if each in chosen))


def sample_query(
    rows: str, key: str, groups: Sequence[str], measured: Measure, where: str, columns: Schema
) -> str:
    """Give rows of these groups that break a check, lowest group first.

    `columns` are those shown, `where` is the condition of the rows that count.
    """
    shown = ", ".join(cells(columns, [quoted(each) for each in columns.names]))
    within = _within(key, groups)
    source = rows
    if measured.repeated:
        by = ", ".join((*([key] if key else []), *(quoted(each) for each in measured.repeated)))
        counted = f"SELECT *, count(*) OVER (PARTITION BY {by}) AS {COPIES} FROM (\n{rows}\n)"
        source = f"{counted} WHERE {_all(where, within)}"
    order = _order(key, groups, measured)
    return (
        f"SELECT {shown} FROM (\n{source}\n) "
        f"WHERE {_all(where, within, measured.breaks)}{order} LIMIT {ASKED}"
    )


def values_query(
    rows: str, key: str, groups: Sequence[str], measured: Measure, where: str, column: Column
) -> str:
    """Give the most frequent values that are not accepted, with their counts, group by group."""
    group = key or "'*'"
    value = text_of(quoted(column.name), column.type)
    counted = (
        f"SELECT {group} AS {GROUP}, {value} AS value, count(*) AS n FROM (\n{rows}\n) "
        f"WHERE {_all(where, _within(key, groups), measured.breaks)} GROUP BY ALL"
    )
    place = f"row_number() OVER (PARTITION BY {GROUP} ORDER BY n DESC, value) AS place"
    return f"SELECT * FROM (SELECT *, {place} FROM ({counted})) WHERE place <= {_VALUES}"


def both_query(values: str, sample: str, width: int) -> str:
    """Give the rows of `values_query` and of `sample_query` by one query; `n` tells them apart."""
    names = places(width)
    empty = ", ".join(f"CAST(NULL AS STRING) AS {each}" for each in names)
    first = f"SELECT {GROUP}, value, n, place, {empty} FROM ({values})"
    second = f"SELECT '', '', 0, 0, {', '.join(names)} FROM ({sample})"
    return f"({first}) UNION ALL ({second})"


def sample_of(rows: Sequence[Row], columns: Schema) -> Sample:
    """Give the sample of rows whose cells are under `places`."""
    names = places(len(columns.columns[:WIDE]))
    kept = tuple(tuple(_cell(row[name]) for name in names) for row in rows[:KEPT])
    return Sample(labels(columns.names[:WIDE]), kept)


def cells(columns: Schema, values: Sequence[str] = ()) -> list[str]:
    """Give SQL of the columns as texts under `places`, at most 20; complex ones as JSON.

    Without values the columns are those under `places` themselves.
    """
    found = columns.columns[:WIDE]
    names = places(len(found))
    given = values or names
    return [
        f"{text_of(value, column.type)} AS {name}"
        for value, column, name in zip(given, found, names, strict=False)
    ]


def text_of(value: str, kind: str) -> str:
    """Give SQL for the beginning of a value as text: one character more than a cell shows.

    >>> text_of("`a`", "int")
    'left(CAST(`a` AS STRING), 81)'
    """
    return f"left({_text(value, kind)}, {CELL + 1})"


def places(count: int) -> tuple[str, ...]:
    """Name columns by their place, whatever they are called."""
    return tuple(f"c{number}" for number in range(count))


def labels(names: Sequence[str]) -> tuple[str, ...]:
    """Tell columns of one name apart.

    >>> labels(("a", "b", "A", "a_2"))
    ('a', 'b', 'A_2', 'a_2_2')
    """
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


def _cell(value: object) -> str | None:
    return None if value is None else shortened(str(value), CELL)


def _all(*conditions: str) -> str:
    return " AND ".join(bracketed(each) for each in conditions if each) or "true"


def _within(key: str, groups: Sequence[str]) -> str:
    return f"{key} IN ({', '.join(map(literal, groups))})" if key else ""


def _order(key: str, groups: Sequence[str], measured: Measure) -> str:
    wanted = [key] if key and len(groups) > 1 else []
    wanted += [quoted(each) for each in measured.repeated]
    return f" ORDER BY {', '.join(wanted)}" if wanted else ""
