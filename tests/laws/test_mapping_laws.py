"""The inferred range holds every row that can change what a query gives.

SQLite runs the same text on whole tables and on what the mapping leaves of them.
"""

import datetime as dt
import sqlite3
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY, day_number
from penstock.core.partitions.mapping import Everything, floored, last_day, moved, spans
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import mention
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import InputShape

DAILY = InputName(InputKind.MODEL, "daily")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
SHAPES = {
    DAILY: InputShape("date", "date", ("date", "k"), Grid(Grain.DAY)),
    EVENTS: InputShape(),
}
NAMES = {DAILY: "daily", EVENTS: "events"}
FIRST = dt.date(2024, 1, 20)

OPERATORS = st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=", ">="])
UNITS = st.sampled_from(["WEEK", "MONTH", "QUARTER", "YEAR"])
CONSTANTS = st.one_of(
    st.sampled_from(["@partition_date", "@start_date", "@end_date"]),
    st.integers(-3, 18).map(lambda n: f"'{FIRST + dt.timedelta(n)}'"),
    st.builds("date_sub(@partition_date, {})".format, st.integers(-2, 5)),
    st.builds("date_add(@end_date, {})".format, st.integers(-2, 5)),
    st.builds("add_months(@partition_date, {})".format, st.integers(-1, 1)),
    st.builds("trunc(@partition_date, '{}')".format, UNITS),
    st.just("last_day(@start_date)"),
)


def terms(column):
    """Give a column, bare or truncated."""
    return st.one_of(
        st.just(column),
        st.just(f"DATE({column})"),
        st.builds(f"DATE(DATE_TRUNC('{{}}', {column}))".format, UNITS),
        st.builds(f"TRUNC({column}, '{{}}')".format, UNITS),
        st.builds(f"date_add({column}, {{}})".format, st.integers(-3, 3)),
    )


def atoms(column):
    """Give one condition on a column."""
    term = terms(column)
    return st.one_of(
        st.builds("{} {} {}".format, term, OPERATORS, CONSTANTS),
        st.builds("{2} {1} {0}".format, term, OPERATORS, CONSTANTS),
        st.builds("{} BETWEEN {} AND {}".format, term, CONSTANTS, CONSTANTS),
        st.builds("{} IN ({}, {})".format, term, CONSTANTS, CONSTANTS),
        st.builds("{} NOT IN ({}, {})".format, term, CONSTANTS, CONSTANTS),
        st.sampled_from([f"{column} IS NULL", f"{column} IS NOT NULL"]),
    )


def conditions(*columns):
    """Give conditions on columns, joined by AND, OR and NOT."""
    equal = st.builds("{} = {}".format, terms(columns[0]), terms(columns[-1]))
    near = st.builds(
        f"{columns[0]} BETWEEN date_sub(@start_date, {{}}) AND date_add(@start_date, {{}})".format,
        st.integers(0, 5),
        st.integers(0, 5),
    )
    own = [atoms(column) for column in columns]
    atom = st.one_of([near, near, *own, near, equal, near, near, st.just("1 = 1")])
    return st.recursive(
        atom,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=3,
    )


@st.composite
def relations(draw, alias):
    """Give a FROM item with a column `date`."""
    condition = draw(conditions("date"))
    table = draw(st.sampled_from(["daily", "events"]))
    form = draw(
        st.sampled_from(
            [
                "{token}",
                "(SELECT * FROM {token} WHERE {condition})",
                "(SELECT date, k FROM {token} ORDER BY k, date LIMIT 5)",
                "(SELECT date, count(*) AS k FROM {token} GROUP BY date)",
                "(SELECT date, count(*) AS k FROM {token} GROUP BY 1 HAVING {condition})",
                "(SELECT max(date) AS date, k FROM {token} GROUP BY k)",
                "(SELECT trunc(date, 'MONTH') AS date, sum(k) AS k FROM {token} GROUP BY 1)",
                "(SELECT date, row_number() OVER (PARTITION BY date ORDER BY k) AS k FROM {token})",
                "(SELECT date, count(*) OVER (PARTITION BY k) AS k FROM {token})",
                "(SELECT DISTINCT date, k + 1 AS k FROM {token})",
                "(SELECT date, k FROM {token} UNION SELECT date_add(date, 7), k FROM {{daily}})",
                "(SELECT date, k FROM {token} EXCEPT SELECT date, k FROM {{events}})",
                "(WITH c AS (SELECT k, date AS d FROM {token}) SELECT d AS date, k FROM c)",
            ]
        )
    )
    return form.format(token="{" + table + "}", condition=condition) + f" AS {alias}"


@st.composite
def queries(draw):
    """Give a query of one or two relations."""
    left = draw(relations("a"))
    tail = draw(
        st.sampled_from(
            [
                "",
                "",
                "",
                " AND EXISTS (SELECT 1 FROM {{daily}} AS c WHERE c.date = a.date AND {inner})",
                " AND NOT EXISTS (SELECT 1 FROM {{daily}} AS c WHERE c.k = a.k AND {inner})",
                " AND a.date IN (SELECT date FROM {{events}} AS c WHERE {inner})",
                " AND a.date NOT IN (SELECT date FROM {{daily}} AS c WHERE {inner})",
            ]
        )
    ).format(inner=draw(conditions("c.date", "a.date")))
    if draw(st.sampled_from([True, True, False])):
        return f"SELECT a.date, a.k FROM {left} WHERE {draw(conditions('a.date'))}{tail}"
    side = draw(st.sampled_from(["", "LEFT", "RIGHT", "FULL"]))
    on = draw(st.sampled_from(["a.k = b.k AND ", "a.date = b.date AND ", ""]))
    right = draw(relations("b"))
    return (
        f"SELECT a.date, a.k, b.date, b.k FROM {left} {side} JOIN {right}"
        f" ON {on}{draw(conditions('b.date', 'a.date'))}"
        f" WHERE {draw(conditions('a.date', 'b.date'))}{tail}"
    )


def position(day):
    """Give the position of a written date."""
    date = dt.date.fromisoformat(day)
    return day_number(date.year, date.month, date.day) * DAY


def written(place):
    """Write a position as a date."""
    return str(dt.date(1970, 1, 1) + dt.timedelta(days=place // DAY))


def of_dates(function):
    """Make a function of positions one of written dates, NULL for NULL."""
    return lambda day, *rest: None if day is None else written(function(position(day), *rest))


def run(query, grid, number, rows):
    """Give the rows of a query over tables with the given rows."""
    database = sqlite3.connect(":memory:")
    functions = {
        "date_add": (2, of_dates(lambda place, n: place + n * DAY)),
        "date_sub": (2, of_dates(lambda place, n: place - n * DAY)),
        "add_months": (2, of_dates(lambda place, n: moved(place, n, 0))),
        "trunc": (2, of_dates(lambda place, unit: floored(place, unit.lower()))),
        "date_trunc": (2, lambda unit, day: day and functions["trunc"][1](day, unit)),
        "last_day": (1, of_dates(last_day)),
    }
    for name, (count, function) in functions.items():
        database.create_function(name, count, function)
    for table, content in rows.items():
        database.execute(f"CREATE TABLE {table} (date TEXT, k INTEGER)")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", content)
    low, high = grid.span(number)
    values = {"partition_date": written(low), "start_date": written(low), "end_date": written(high)}
    return Counter(database.execute(query.format(daily="daily", events="events"), values))


ROWS = st.lists(
    st.tuples(st.integers(-3, 18).map(lambda n: str(FIRST + dt.timedelta(n))), st.integers(1, 3)),
    min_size=8,
    max_size=16,
)
WITH_NULL = st.lists(st.tuples(st.none(), st.integers(1, 3)), max_size=2)


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 39), reason="FULL JOIN came with 3.39")
@given(
    queries(),
    st.sampled_from([Grain.DAY, Grain.WEEK, Grain.MONTH]).map(Grid),
    st.integers(0, 14),
    ROWS,
    st.builds(list.__add__, ROWS, WITH_NULL),
)
def test_rows_outside_of_the_inferred_range_change_nothing(query, grid, days, daily, events):
    number = grid.at(position(str(FIRST)) + days * DAY)
    text = query.format(daily=mention(DAILY), events=mention(EVENTS))
    whole = {"daily": daily, "events": events}

    inferred = infer((text,), grid, SHAPES)

    kept = dict(whole)
    for name, found in inferred.items():
        if isinstance(found.mapping, Everything):
            continue
        ranges = spans(found.mapping, grid.span(number), SHAPES[name].grid)
        kept[NAMES[name]] = [
            (date, k)
            for date, k in whole[NAMES[name]]
            if date and any(low <= position(date) < high for low, high in ranges)
        ]
    assert run(query, grid, number, kept) == run(query, grid, number, whole)
