"""Laws of typed checks: they say what plain Python says, observed or not."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.check_inputs import a_check, a_check_inputs, column_check, rows_of
from penstock.app.checking.evaluate import evaluate
from penstock.core.statement import Feed
from penstock.engine.session import SparkStepSession
from penstock.strategies.checks.typed import observables
from penstock.strategies.checks.types import (
    AcceptedValues,
    DistinctCount,
    NotNull,
    NullPercentage,
    RowCount,
    Unique,
    ValueRange,
)

deep = settings.default.max_examples > 100
few = settings(max_examples=100 if deep else 5, suppress_health_check=list(HealthCheck))
COUNTER = itertools.count()
DAYS = ("2024-12-01", "2024-12-02", "2024-12-03")
SHAPE = "date string, i bigint, f double, d decimal(10,2), s string"

FLOATS = [0.0, -0.0, 0.1, -1.5, 1e300, math.inf, -math.inf, math.nan]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(DAYS[:2]),
        st.none() | st.integers(-3, 3) | st.sampled_from([2**62, -(2**63)]),
        st.none() | st.sampled_from(FLOATS),
        st.none() | st.decimals(-2, 2, places=2),
        st.none() | st.sampled_from(["", "a", "A", "NULL", "ä"]),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def session(spark):
    return SparkStepSession(
        spark.newSession(), None, lambda: ("0", "store", "shop"), lambda _: None
    )


def key(value):
    """Give what equal values have in common, and an order: NaN last, the zeros equal."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return (0, value.encode() if isinstance(value, str) else value)


def values_of(rows, column):
    return [row[column] for row in rows if row[column] is not None]


def in_range(low, high):
    def holds(rows, column):
        return all(key(low) <= key(each) <= key(high) for each in values_of(rows, column))

    return holds


def copies(rows, *columns, nulls_equal=False):
    kept = [tuple(row[c] for c in columns) for row in rows]
    if not nulls_equal:
        kept = [each for each in kept if None not in each]
    same = Counter(tuple(None if v is None else key(v) for v in each) for each in kept)
    return sum(same.values()) - len(same)


def few_nulls(rows, column, most):
    nulls = sum(row[column] is None for row in rows)
    return nulls * 100 <= most * len(rows)


def distinct(rows, column):
    return len({key(each) for each in values_of(rows, column)})


def at_least_two(rows):
    number = values_of(rows, 1)
    return bool(number) and min(number) >= -2


# A check with what Python says of the rows of a group; most hold of no rows.
CHECKS = [
    (RowCount(2, 4), lambda rows: 2 <= len(rows) <= 4),
    (DistinctCount(("f",), 1, 3), lambda rows: 1 <= distinct(rows, 2) <= 3),
    (NullPercentage("i", Decimal("33.33")), lambda rows: few_nulls(rows, 1, Decimal("33.33"))),
    (NullPercentage("s", Decimal(50)), lambda rows: few_nulls(rows, 4, 50)),
    (ValueRange("i", "-2", "3"), lambda rows: in_range(-2, 3)(rows, 1)),
    (ValueRange("f", "-1.5", "1e300"), lambda rows: in_range(-1.5, 1e300)(rows, 2)),
    (ValueRange("f", "0"), lambda rows: all(key(f) >= key(0.0) for f in values_of(rows, 2))),
    (
        ValueRange("d", "-0.1", "1.5"),
        lambda rows: in_range(Decimal("-0.1"), Decimal("1.5"))(rows, 3),
    ),
    (ValueRange("s", "A", "a"), lambda rows: in_range("A", "a")(rows, 4)),
    (Unique(("f",)), lambda rows: not copies(rows, 2)),
    (Unique(("i", "s")), lambda rows: not copies(rows, 1, 4)),
    (
        Unique(("f", "s"), nulls_equal=True),
        lambda rows: not copies(rows, 2, 4, nulls_equal=True),
    ),
    (NotNull(("i", "d")), lambda rows: all(None not in (row[1], row[3]) for row in rows)),
    (AcceptedValues("s", ("a", "NULL")), lambda rows: {*values_of(rows, 4)} <= {"a", "NULL"}),
    (
        AcceptedValues("f", ("0", "NaN", "Infinity")),
        lambda rows: (
            {key(f) for f in values_of(rows, 2)} <= {key(0.0), key(math.nan), key(math.inf)}
        ),
    ),
    (column_check("i", "MIN({column}) >= -2"), lambda rows: not rows or at_least_two(rows)),
    (
        column_check("d", "{column} <> 0"),
        lambda rows: all(row[3] is not None and row[3] != 0 for row in rows),
    ),
]
WHERES = {"": lambda row: True, "s = 'a' OR i > 0": lambda row: row[4] == "a" or (row[1] or 0) > 0}


def looked_at(session, rows):
    """Make the rows a view, and give it with its columns."""
    view = f"law_{next(COUNTER)}"
    session._spark.createDataFrame(rows, SHAPE).createOrReplaceTempView(f"{view}_raw")
    shaped = f"SELECT CAST(date AS DATE) AS date, i, f, d, s FROM {view}_raw"
    columns = session.define(view, shaped)
    return rows_of(view, columns)


@few
@given(ROWS, st.sampled_from(list(WHERES)))
def test_typed_checks_say_what_plain_python_says_of_each_group(session, rows, where):
    rules = [rule for rule, _ in CHECKS]
    checks = [a_check(rule, where=where or None) for rule in rules]

    found = evaluate(
        session, checks, a_check_inputs(looked_at(session, rows), *DAYS), sampling=False
    )

    groups = [[r for r in rows if r[0] == day and WHERES[where](r)] for day in DAYS]
    assert [[str(value.status) == "passed" for value in result.values] for result in found] == [
        [holds(group) for group in groups] for _, holds in CHECKS
    ]


@few
@given(ROWS, st.sampled_from(list(WHERES)))
def test_observed_values_equal_scanned_ones(session, tmp_path_factory, rows, where):
    rows = [(DAYS[0], *row[1:]) for row in rows]
    checks = [a_check(rule, where=where or None) for rule, _ in CHECKS]
    given_rows = looked_at(session, rows)
    ground = a_check_inputs(given_rows, DAYS[0])
    counts = observables(checks, given_rows.columns)
    folder = tmp_path_factory.mktemp("kept")
    kept = session.side_tables.keep(
        Feed(f"kept_{next(COUNTER)}", given_rows.sql, counts), str(folder / "k")
    )

    seen = evaluate(session, checks, replace(ground, observed=kept.counts), sampling=False)
    scanned = evaluate(session, checks, ground, sampling=False)

    assert [replace(each, duration=0) for each in seen] == [
        replace(each, duration=0) for each in scanned
    ]
    assert len(counts) > len(CHECKS)


@pytest.mark.matrix
@few
@given(ROWS)
def test_a_step_of_several_partitions_has_the_values_of_single_steps(session, rows):
    checks = [a_check(rule) for rule, _ in CHECKS]
    all_rows = looked_at(session, rows)

    together = evaluate(session, checks, a_check_inputs(all_rows, *DAYS), sampling=False)
    apart = [
        evaluate(session, checks, a_check_inputs(all_rows, day), sampling=False) for day in DAYS
    ]

    assert [result.values for result in together] == [
        tuple(values for result in each for values in result.values)
        for each in zip(*apart, strict=True)
    ]
