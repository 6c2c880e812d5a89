"""The SQL that checks ask with, and what of it may ride on a write."""

import pytest

from fakes.check_inputs import a_check, column_check
from penstock.core.checks.check import CheckScope
from penstock.core.columns.schema import Column, Schema
from penstock.strategies.checks.harmless import is_harmless
from penstock.strategies.checks.literals import literal_of
from penstock.strategies.checks.measure import Restriction
from penstock.strategies.checks.queries import (
    aggregates_of,
    group_query,
    labels,
    phase_query,
    sample_query,
    shown_columns,
)
from penstock.strategies.checks.typed import measured, observables
from penstock.strategies.checks.types import (
    AcceptedValues,
    DistinctCount,
    NotNull,
    RowCount,
    Unique,
    ValueRange,
)

COLUMNS = Schema(
    (
        Column("n", "bigint"),
        Column("f", "double"),
        Column("t", "string"),
        Column("d", "date"),
        Column("x", "decimal(10,2)"),
        Column("a`b", "int"),
        Column("m", "map<int,int>"),
    )
)


def sql_of(rule, **changes):
    return list(measured(a_check(rule, **changes), COLUMNS).aggregates.values())


def test_where_wraps_the_argument_of_every_aggregate():
    assert sql_of(Unique(("n", "t")), where="n > 1") == [
        "count(CASE WHEN (n > 1) THEN 1 END)",
        "count(CASE WHEN (n > 1) AND (`n` IS NOT NULL AND `t` IS NOT NULL) THEN 1 END)",
        "count(DISTINCT CASE WHEN (n > 1) THEN `n` END, `t`)",
    ]
    assert sql_of(column_check("n", "MIN({column}) >= 0"), where="t = 'x'") == [
        "count(CASE WHEN (t = 'x') THEN 1 END)",
        "CAST((MIN(CASE WHEN (t = 'x') THEN `n` END) >= 0) AS STRING)",
        "CAST(MIN(CASE WHEN (t = 'x') THEN `n` END) AS STRING)",
    ]


@pytest.mark.parametrize(
    ("call", "restricted"),
    [
        ("count(*)", "count(CASE WHEN (w) THEN 1 END)"),
        ("sum( a + b )", "sum(CASE WHEN (w) THEN a + b END)"),
        ("count(a, b)", "count(a, b) FILTER (WHERE (w))"),
        ("count(distinct a)", "count(distinct a) FILTER (WHERE (w))"),
        ("first(a)", "first(a) FILTER (WHERE (w))"),
        ("max(a) filter (where b > 1)", "max(a) FILTER (WHERE (w) AND ( b > 1))"),
        ("sum(a -- total\n)", "sum(CASE WHEN (w) THEN a END)"),
        ("count(* /* all */)", "count(CASE WHEN (w) THEN 1 END)"),
        ("max(`a--b`)", "max(CASE WHEN (w) THEN `a--b` END)"),
    ],
)
def test_a_call_of_the_user_is_restricted_without_changing_what_it_means(call, restricted):
    assert Restriction("w").call(call) == restricted


@pytest.mark.parametrize(
    ("text", "kind", "sql"),
    [
        ("0.1", "decimal(10,2)", "0.1BD"),
        ("1e3", "bigint", "1000"),
        ("-1.50", "int", "(-1.50BD)"),
        ("0.1", "double", "CAST('0.1' AS double)"),
        ("-0.0", "float", "CAST('0' AS float)"),
        ("inf", "double", "CAST('Infinity' AS double)"),
        ("2024-12-02", "date", "DATE '2024-12-02'"),
        ("2024-12-02 10:00", "date", "TIMESTAMP_NTZ '2024-12-02 10:00:00'"),
        ("2024-12-02 12:00+02:00", "timestamp", "TIMESTAMP '2024-12-02T10:00:00.000000Z'"),
        ("it's", "string", r"'it\'s'"),
        ("TRUE", "boolean", "true"),
        ("soon", "date", "CAST('soon' AS date)"),
    ],
)
def test_a_bound_is_written_in_the_type_of_the_column(text, kind, sql):
    assert literal_of(text, kind) == sql


def test_one_query_asks_each_aggregate_once():
    checks = [a_check(RowCount(1)), a_check(RowCount(9)), a_check(NotNull(("n",)))]

    aggregates = aggregates_of([measured(check, COLUMNS) for check in checks])
    sql = phase_query("SELECT * FROM v", "`d`", aggregates)

    nulls = "count(CASE WHEN (`n` IS NULL) THEN 1 END)"
    assert list(aggregates.values()) == ["count(*)", nulls]
    assert sql.startswith("SELECT `d` AS __penstock_group, count(*) AS `_ps_n`, count(CASE")
    assert sql.endswith("FROM (\nSELECT * FROM v\n) GROUP BY `d`")


def test_a_sample_takes_the_lowest_groups_first_and_shows_texts():
    means = measured(a_check(NotNull(("n",)), where="f > 1"), COLUMNS)
    columns = Schema((COLUMNS.columns[0], COLUMNS.columns[6]))

    sql = sample_query("SELECT * FROM v", "`d`", ["2", "3"], means, "f > 1", columns)

    assert sql == (
        "SELECT left(CAST(`n` AS STRING), 81) AS c0, left(to_json(`m`), 81) AS c1 "
        "FROM (\nSELECT * FROM v\n) WHERE (f > 1) AND (`d` IN ('2', '3')) AND (`n` IS NULL) "
        "ORDER BY `d` LIMIT 6"
    )


def test_a_sample_of_duplicates_counts_the_copies_of_a_key():
    means = measured(a_check(Unique(("n",))), COLUMNS)

    sql = sample_query("SELECT 1", "", [], means, "", Schema(COLUMNS.columns[:1]))

    copies = "count(*) OVER (PARTITION BY `n`) AS __penstock_copies"
    assert f"SELECT *, {copies} FROM (\nSELECT 1\n) WHERE true" in sql
    assert sql.endswith("WHERE (`n` IS NOT NULL AND __penstock_copies > 1) ORDER BY `n` LIMIT 6")


def test_a_wide_sample_keeps_the_columns_of_the_check():
    wide = Schema(tuple(Column(f"c{n}", "int") for n in range(30)))

    shown = shown_columns(wide, ("C29",))

    assert shown.names == (*(f"c{n}" for n in range(19)), "c29")


def test_columns_of_one_name_are_told_apart():
    assert labels(("a", "A", "b", "a")) == ("a", "A_2", "b", "a_3")
    assert labels(("a", "b", "A", "a_2")) == ("a", "b", "A_2", "a_2_2")


def test_a_query_without_sample_selects_no_cell():
    assert group_query("SELECT 1 -- one", "it's", None) == (
        "SELECT 'it\\'s' AS __penstock_group, 1 AS c0 FROM (\nSELECT 1 -- one\n) LIMIT 6"
    )


def test_what_rides_on_the_write():
    checks = [
        a_check(RowCount(1)),
        a_check(column_check("n", "SUM(n) > 1")),
        a_check(ValueRange("x", "0.1")),
    ]

    counts = observables(checks, COLUMNS)

    assert list(counts.values()) == [
        "count(*)",
        "CAST((try_sum(n) > 1) AS STRING)",
        "CAST(try_sum(n) AS STRING)",
        "CAST(min(`x`) AS STRING)",
        "CAST(max(`x`) AS STRING)",
        "CAST((min(`x`) < 0.1BD) AS STRING)",
    ]
    assert next(iter(counts)) == "_ps_n"


@pytest.mark.parametrize(
    "check",
    [
        a_check(Unique(("n",))),
        a_check(DistinctCount(("n",), 1)),
        a_check(RowCount(1), scope=CheckScope.TABLE),
        a_check(NotNull(("gone",))),
        a_check(column_check("n", "count(distinct n) > 1")),
        a_check(column_check("n", "n > @partition_date")),
        a_check(column_check("n", "first(n) > 1"), where="n > 1"),
        a_check(column_check("n", "n / 0 > 1")),
        a_check(RowCount(1), where="t > 5"),
        a_check(ValueRange("d", "soon")),
        a_check(AcceptedValues("x", ("0.001",))),
        a_check(AcceptedValues("m", ("1",))),
    ],
)
def test_what_does_not_ride_on_the_write(check):
    assert observables([check], COLUMNS) == {}


def test_a_parameter_rides_on_the_write_with_its_value():
    check = a_check(column_check("d", "{column} = @partition_date"))

    counts = observables([check], COLUMNS, {"partition_date": "DATE '2024-12-01'"})

    assert list(counts.values())[1] == (
        "count(CASE WHEN (NOT coalesce((`d` = DATE '2024-12-01'), false)) THEN 1 END)"
    )


@pytest.mark.parametrize(
    "condition",
    [
        "n >= -1 AND f < 1e300 OR NOT t IN ('a', 'b')",
        "MIN(n) >= 0 AND MAX(f) < 1000000 AND AVG(n) > 1.5",
        "SUM(n) = 120",
        "COUNT(*) = COUNT(m)",
        "d BETWEEN '2024-01-01' AND DATE '2024-12-31'",
        "x < 0.1 AND `a``b` <> n",
        "t LIKE 'a%' AND length(trim(t)) > 1",
        "COUNT_IF(n > 1) = 0",
        "n / 2 > f * 2.5",
        "m IS NOT NULL",
        "(n > 1) = TRUE AND n <> NULL",
        "n > -5 AND n < 1.5 AND n < 123456789012345678",
        "upper(t) = 'A' AND lower(t) <> 'b'",
        "abs(f) + n > 1",
    ],
)
def test_conditions_that_cannot_fail(condition):
    assert is_harmless(condition, COLUMNS)


@pytest.mark.parametrize(
    "condition",
    [
        "n / f > 1",
        "n / f = n / f",
        "m = m",
        "n * 2 > 1",
        "t > 5",
        "d > t",
        "d > 'soon'",
        "CAST(t AS INT) > 1",
        "d > CAST('soon' AS DATE)",
        "n > CAST('2024-12-01' AS INT)",
        "t LIKE 'a\\\\b'",
        "t RLIKE '('",
        "n > (SELECT 1)",
        "SUM(n) / COUNT(*) > 1",
        "AVG(x) > 1",
        "gone > 1",
        "rand() > 0.5",
        "n >",
        "n",
        "n > 1234567890123456789",
        "COUNT(DISTINCT n) > 1",
        "COUNT(gone) > 1",
        "MAX(n, 2) > 1",
        "MAX(m) = MAX(m)",
        "COUNT_IF(n) > 1",
        "SUM(t) = 'a'",
        "abs(n) > 1",
        "n / 0 > 1",
        "f * t > 1",
        "NULL = NULL",
        "CAST('x' AS INT) > 1",
        "n > -t",
        "gone IS NULL",
        "n IN (SELECT 1)",
        "t LIKE t",
        "d = concat('2024', t)",
        "t AND n > 1",
    ],
)
def test_conditions_that_could_fail(condition):
    assert not is_harmless(condition, COLUMNS)


def test_texts_of_two_collations_are_not_compared_while_rows_are_written():
    columns = Schema((Column("a", "string collate UTF8_LCASE"), Column("b", "string")))

    assert not is_harmless("a = b", columns)
    assert is_harmless("a IS NOT NULL AND b = 'x'", columns)


def test_a_sum_in_a_text_stays_as_it_is_written():
    counts = observables([a_check(column_check("t", 'MAX(t) <> "sum(foo)"'))], COLUMNS)

    assert [*counts.values()][1] == 'CAST((MAX(t) <> "sum(foo)") AS STRING)'


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        *(("decimal(38,18)", True), ("decimal(38,17)", False)),
        *(("decimal(19,18)", True), ("decimal(19,19)", False)),
    ],
)
def test_decimals_that_cannot_be_widened_are_not_observed(kind, fits):
    columns = Schema((Column("x", kind), Column("n", "bigint")))

    assert is_harmless("x > n", columns) is fits
