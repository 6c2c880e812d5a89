"""What each type of check says of fixture S.

Every check of one partition is also held against the values that a write would have observed.
"""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from fakes.check_inputs import (
    THIS,
    a_check,
    a_check_inputs,
    a_query,
    column_check,
    rows_of,
    said,
)
from penstock.core.check_results import RowsBefore, Sample
from penstock.core.checks.check import CheckScope, Phase
from penstock.core.checks.check_type import CheckStatus, Condition, Empty, GroupValue
from penstock.core.findings import Severity
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import mention, parameter
from penstock.core.statement import Feed
from penstock.strategies.checks.typed import observables
from penstock.strategies.checks.types import (
    AcceptedValues,
    ColumnCheck,
    DistinctCount,
    Freshness,
    NotNull,
    NullPercentage,
    Relationships,
    RowCount,
    RowCountChange,
    SqlCheck,
    Unique,
    ValueRange,
)

P1, P2, P3, P4 = "2024-12-01", "2024-12-02", "2024-12-03", "2024-12-04"
CODES = InputName(InputKind.MODEL, "codes")


def told(result):
    return (str(result.status), result.message, result.details)


def test_rows_are_counted(looker):
    def on(day, minimum=None, maximum=None):
        return told(looker.on(a_check(RowCount(minimum, maximum)), day))

    assert on(P1, 3) == ("passed", "rows 3", None)
    assert on(P2, 3) == ("failed", "rows 2 < min 3", None)
    assert on(P1, 3, 3) == ("passed", "rows 3", None)
    assert on(P3, 1) == ("failed", "rows 0 < min 1", None)
    assert on(P3, None, 0) == ("passed", "rows 0", None)


def test_a_condition_of_a_group(looker):
    check = a_check(column_check("revenue", "MIN({column}) >= 0"))
    fails_empty = replace(check, empty=Empty.FAIL)

    found = [told(looker.on(check, day)) for day in (P1, P2, P3, P4)]

    null = "condition is NULL (no rows?)"
    assert found == [
        ("passed", "condition is true", None),
        ("failed", "condition is false", "MIN(revenue) = -3.5"),
        ("passed", "no rows", None),
        ("failed", null, "MIN(revenue) = NULL"),
    ]
    assert told(looker.on(fails_empty, P3)) == ("failed", "no rows", None)
    assert told(looker.on(fails_empty, P4))[:2] == ("failed", null)


def test_a_condition_of_a_row_and_its_sample(looker):
    check = a_check(column_check("revenue", "{column} >= 0"))

    one, two, four = (looker.on(check, day) for day in (P1, P2, P4))

    assert told(one)[:2] == ("passed", "every row meets the condition")
    assert told(two)[:2] == ("failed", "1 row breaks the condition")
    assert two.failures == 1
    assert two.sample == Sample(
        ("date", "region", "user_count", "revenue"), ((P2, "us", "110", "-3.5"),)
    )
    assert told(four)[:2] == ("failed", "1 row breaks the condition")


def test_null_percentage(looker):
    def on(day, most):
        return told(looker.on(a_check(NullPercentage("user_count", Decimal(most))), day))

    nulls = a_check(NullPercentage("revenue", Decimal(100)))
    shown = "nulls 33.333 % > max 33.33 %"
    assert on(P1, "33.33") == ("failed", shown, "1 of 3 rows")
    assert on(P1, "33.34") == ("passed", "nulls 33.33 %", None)
    assert on(P3, "0") == ("passed", "no rows", None)
    assert told(looker.on(nulls, P4)) == ("passed", "nulls 100.00 %", None)


def test_distinct_count(looker):
    check = a_check(DistinctCount(("region",), 1, 1))

    assert told(looker.on(check, P1)) == ("failed", "distinct 2 > max 1", None)
    assert told(looker.on(check, P3)) == ("failed", "distinct 0 < min 1", None)
    assert told(looker.on(replace(check, empty=Empty.PASS), P3)) == ("passed", "no rows", None)


def test_values_lie_in_a_range(looker):
    check = a_check(ValueRange("revenue", "0"))
    both = a_check(ValueRange("revenue", "5", "20"))
    strict = a_check(ValueRange("revenue", "5", "20", strict=True))

    assert [told(looker.on(check, day))[:2] for day in (P1, P2, P3, P4)] == [
        ("passed", "range 5.0 to 20.0"),
        ("failed", "min -3.5 < 0"),
        ("passed", "no rows"),
        ("passed", "no values"),
    ]
    assert told(looker.on(both, P1))[0] == "passed"
    assert told(looker.on(strict, P1))[:2] == ("failed", "min 5.0 <= 5, max 20.0 >= 20")


def test_bounds_are_compared_in_the_type_of_the_column(looker):
    sql = """SELECT DATE '2024-12-01' AS date, CAST('NaN' AS DOUBLE) AS n, 0.10BD AS d,
        -0.0D AS z, TIMESTAMP '2024-12-01 10:00:00' AS t"""

    def on(column, low=None, high=None):
        check = a_check(ValueRange(column, low, high))
        return looker.on(check, P1, sql=sql).status is CheckStatus.PASSED

    assert not on("n", None, "100")
    assert on("n", "0")
    assert on("d", "0.1", "0.1")
    assert not on("d", "0.1000001")
    assert on("z", "0", "-0.0")
    assert not on("date", "2024-12-02")
    assert on("date", "2024-12-01", "2024-12-01")
    assert on("t", "2024-12-01T10:00:00", "2024-12-01 12:00:00+02:00")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Unique(("v",)), "1 duplicate row"),
        (Unique(("v",), nulls_equal=True), "2 duplicate rows"),
    ],
)
def test_unique_values(looker, rule, message):
    sql = f"SELECT DATE '{P1}' AS date, v FROM VALUES ('eu'), ('eu'), (NULL), (NULL) AS t(v)"

    found = looker.on(a_check(rule), P1, sql=sql)

    assert told(found)[:2] == ("failed", message)
    assert {row[1] for row in found.sample.rows} <= {"eu", None}


def test_pairs_are_unique(looker):
    found = looker.on(a_check(Unique(("region", "user_count"))), P1)

    assert told(found) == ("passed", "unique", None)


def test_not_null_and_accepted_values(looker):
    nulls = looker.on(a_check(NotNull(("region", "user_count"))), P1)
    others = looker.on(a_check(AcceptedValues("region", ("eu",))), P1)

    assert (nulls.message, nulls.failures) == ("1 NULL in region, 1 in user_count", 1)
    assert told(others) == ("failed", "1 row with other values", "us (1)")
    assert others.sample.rows == ((P1, "us", "80", "20.0"),)


def test_relationships(looker):
    columns = looker.view("s", f"SELECT * FROM ({SOURCE})")
    looker.view("codes_view", "SELECT * FROM VALUES ('eu'), ('eu'), (NULL) AS t(code)")
    rule = Relationships(("region",), CODES, ("code",), "staging.codes")
    check_inputs = a_check_inputs(rows_of("s", columns), P1, P3, views={CODES: "codes_view"})

    (found,) = looker.look([a_check(rule)], check_inputs)

    message = "1 row without a partner in staging.codes (code)"
    assert found.message == f"1 of 2 partitions failed: {P1}: {message}"
    assert found.sample.rows == ((P1, "us"),)
    assert found.values[1] == GroupValue(
        P3, CheckStatus.PASSED, {"rows": "0"}, "no rows", failures=0
    )


SOURCE = f"SELECT DATE '{P1}' AS date, * FROM VALUES ('eu'), ('us'), (NULL) AS t(region)"


def test_relationships_of_pairs_find_partners_in_the_own_table(looker):
    pairs = "(1, 2), (2, 1), (NULL, 7), (9, 9), (3, 9)"
    columns = looker.view("s", f"SELECT DATE '{P1}' AS date, * FROM VALUES {pairs} AS t(a, `b c`)")
    rule = Relationships(("a", "b c"), THIS, ("b c", "a"), "user_stats")
    check_inputs = a_check_inputs(rows_of("s", columns), P1, views={THIS: "s"})

    (found,) = looker.look([a_check(rule, where="date IS NOT NULL")], check_inputs)

    assert found.message == "1 row without a partner in user_stats (b c, a)"
    assert found.sample.rows == ((P1, "3", "9"),)


def test_relationships_of_a_text_with_a_number_are_not_compared(looker):
    columns = looker.view("s", SOURCE)
    looker.view("codes_view", "SELECT 1 AS code")
    rule = Relationships(("region",), CODES, ("code",), "staging.codes")
    check_inputs = a_check_inputs(rows_of("s", columns), P1, views={CODES: "codes_view"})

    (found,) = looker.look([a_check(rule)], check_inputs)

    said_so = 'could not be evaluated: column "region": STRING with INT is not compared'
    assert (found.message, found.error) == (said_so, "check-error")


def stamps(*texts):
    values = ", ".join(f"(TIMESTAMP '{text}')" for text in texts)
    return f"SELECT CAST(t AS DATE) AS date, t FROM VALUES {values} AS v(t)"


def test_freshness_of_a_whole_table(looker):
    columns = looker.view("s", stamps("2024-12-03 09:00:00", "2024-12-01 10:00:00"))
    rows = replace(rows_of("s", columns), key="")

    def on(days, rows=rows, **changes):
        check = a_check(Freshness("t", dt.timedelta(days=days), f"{days} days"), **changes)
        return said(looker.look([check], a_check_inputs(rows)))[0]

    none = replace(rows, sql=f"{rows.sql} WHERE false")
    newest = "newest 2024-12-03 09:00:00, age 2d 3h"
    assert on(2) == ("failed", f"{newest} > max 2d")
    assert on(3) == ("passed", newest)
    assert on(3, none) == ("failed", "no rows")
    assert on(3, none, empty=Empty.PASS) == ("passed", "no rows")


def test_freshness_of_a_partition_is_told_from_its_end(looker):
    check = a_check(Freshness("t", dt.timedelta(hours=2), "2h"))

    found = looker.on(check, P1, sql=stamps("2024-12-01 23:00:00", "2024-12-01 10:00:00"))

    assert told(found) == ("passed", "newest 2024-12-01 23:00:00, age 1h", None)


def test_where_restricts_the_rows_of_every_aggregate(looker):
    where = "region = 'eu'"
    rows = looker.on(a_check(RowCount(None, 1), where=where), P1)
    total = looker.on(a_check(column_check("user_count", "SUM(user_count) = 120"), where=where), P1)
    first = a_check(column_check("user_count", "first(user_count) = 80"), where="region = 'us'")

    assert told(rows) == ("passed", "rows 1", None)
    assert told(total) == ("passed", "condition is true", None)
    assert told(looker.on(first, P1)) == ("passed", "condition is true", None)


def no_negative():
    table = mention(THIS, "user_stats")
    day = parameter("partition_date")
    text = f"SELECT * FROM {table} WHERE date = {day} AND revenue < 0 -- none"
    return a_check(SqlCheck(a_query(text)), name="no_negative")


def test_a_query_per_group(looker):
    columns = looker.view("s", S_TEXT)
    check_inputs = a_check_inputs(rows_of("s", columns), P1, P2, views={THIS: "s"})

    (found,) = looker.look([no_negative()], check_inputs)

    assert found.message == f"1 of 2 partitions failed: {P2}: 1 row (expected 0)"
    assert (found.partitions, found.failures) == ((P2,), 1)
    assert found.sample.rows == ((P2, "us", "110", "-3.5"),)
    assert len(looker.ran) == 1


S_TEXT = f"""SELECT * FROM VALUES (DATE '{P1}', 'eu', 120L, 10.0D), (DATE '{P2}', 'us', 110L, -3.5D)
    AS t(date, region, user_count, revenue)"""


def test_more_than_five_rows_and_none_at_all(looker):
    eight = a_check(SqlCheck(a_query("SELECT id, id AS ID, array(id) AS l FROM range(8)")))
    no_source = a_check(
        SqlCheck(a_query(f"SELECT 1 AS n WHERE {parameter('partition_date')} = DATE '{P3}'")),
        phase=Phase.BEFORE,
    )

    found, before = looker.look([eight, no_source], a_check_inputs(None, P3))

    assert (found.message, found.failures) == ("more than 5 rows (expected 0)", None)
    assert found.sample.columns == ("id", "ID_2", "l")
    assert found.sample.rows == tuple((str(n), str(n), f"[{n}]") for n in range(5))
    assert told(before)[:2] == ("failed", "1 row (expected 0)")


def test_an_unknown_column_takes_only_its_own_check_out(looker):
    columns = looker.view("s", S_TEXT)
    unknown = a_check(NotNull(("revenu",)), severity=Severity.WARNING)
    hidden = a_check(column_check("revenue", "MAX(revenu) > 1"))
    checks = [a_check(RowCount(1)), unknown, hidden, a_check(NotNull(("region",)))]

    found = looker.look(checks, a_check_inputs(rows_of("s", columns), P1))

    message = 'could not be evaluated: unknown column "revenu"'
    assert said(found) == [
        ("passed", "rows 1"),
        ("failed", message),
        ("failed", message),
        ("passed", "no NULL"),
    ]
    assert [each.error for each in found] == [None, "check-error", "check-error", None]
    assert found[1].partitions == (P1,)
    assert not found[1].failed_gate


def test_a_division_by_zero_takes_only_its_own_check_out(looker):
    columns = looker.view("s", S_TEXT)
    culprit = a_check(column_check("user_count", "SUM(user_count) / (COUNT(*) - 1) > 1"))
    checks = [a_check(RowCount(1)), culprit, a_check(NotNull(("region",)))]

    found = looker.look(checks, a_check_inputs(rows_of("s", columns), P1))

    assert said(found) == [
        ("passed", "rows 1"),
        ("failed", "could not be evaluated: Division by zero"),
        ("passed", "no NULL"),
    ]
    assert len(looker.ran) == 4


@pytest.mark.parametrize(
    ("grid", "field", "values", "keys"),
    [
        (
            Grid(Grain.HOUR),
            "TIMESTAMP",
            ("2024-12-01 10:59:59.9", "2024-12-01 11:00:00", "2024-12-01 11:30:00"),
            ("2024-12-01T10", "2024-12-01T11"),
        ),
        (
            Grid(Grain.WEEK),
            "TIMESTAMP_NTZ",
            ("2024-12-01 23:59:59", "2024-12-02 00:00:00", "2024-12-08 00:00:00"),
            ("2024-11-25", "2024-12-02"),
        ),
        (
            Grid(Grain.MONTH),
            "DATE",
            ("2024-11-30", "2024-12-01", "2024-12-31"),
            ("2024-11", "2024-12"),
        ),
        (Grid(Grain.RANGE, 0, 250, 100), "INT", ("99", "200", "249"), ("0", "200")),
    ],
)
def test_each_check_counts_its_own_partition(looker, grid, field, values, keys):
    rows = ", ".join(f"(CAST('{value}' AS {field}))" for value in values)
    columns = looker.view("s", f"SELECT * FROM VALUES {rows} AS t(f)")
    check_inputs = a_check_inputs(rows_of("s", columns, grid, "f"), *keys, grid=grid)

    (found,) = looker.look([a_check(RowCount(3))], check_inputs)

    assert [(value.group, value.message) for value in found.values] == [
        (keys[0], "rows 1 < min 3"),
        (keys[1], "rows 2 < min 3"),
    ]


def test_one_query_for_all_partitions_of_a_step(looker):
    columns = looker.view("s", S_TEXT)
    checks = [a_check(RowCount(1)), a_check(NotNull(("region",))), a_check(Unique(("region",)))]

    found = looker.look(checks, a_check_inputs(rows_of("s", columns), P1, P2, P3, P4))

    assert found[0].partitions == (P3, P4)
    assert found[0].message == (
        f"2 of 4 partitions failed: {P3}: rows 0 < min 1; {P4}: rows 0 < min 1"
    )
    assert len(looker.ran) == 1


def test_changes_of_row_counts(looker):
    columns = looker.view("s", S_TEXT)
    check_inputs = a_check_inputs(rows_of("s", columns), P1, P2, P3)
    bases = RowsBefore({check_inputs.grid.parse(P1): 3})
    change = RowCountChange(Decimal(50), Decimal(60))

    (previous,) = looker.look([a_check(change)], replace(check_inputs, bases=bases))
    (trailing,) = looker.look([a_check(replace(change, last=2))], check_inputs)

    assert [value.message for value in previous.values] == [
        "rows 1, -66.7 % of 3 (max decrease 60 %)",
        "no earlier execution",
        "no earlier execution",
    ]
    assert [value.message for value in trailing.values] == [
        "no earlier execution",
        "rows 1, +0.0 % of 1",
        "rows 0, -100.0 % of 1 (max decrease 60 %)",
    ]


def test_a_condition_with_the_date_of_its_group_is_asked_group_by_group(looker):
    columns = looker.view("s", S_TEXT)
    check = a_check(column_check("date", "MIN({column}) = @partition_date"))
    row = a_check(column_check("date", "{column} <> @partition_date"))

    found = looker.look([check, row], a_check_inputs(rows_of("s", columns), P1, P2, P3))

    assert said(found)[0] == ("passed", "3 partitions passed")
    assert found[1].partitions == (P1, P2)
    assert found[1].sample.rows == ((P1, "eu", "120", "10.0"),)


def test_a_check_of_a_query_looks_at_its_rows(looker):
    looker.view("s", S_TEXT)
    table, day = mention(THIS, "user_stats"), parameter("partition_date")
    whole = a_query(f"SELECT region FROM {table}")
    daily = a_query(f"SELECT region FROM {table} WHERE date = {day}")
    checks = [
        a_check(RowCount(3), query=whole),
        a_check(RowCount(1), query=daily),
    ]

    found = looker.look(checks, a_check_inputs(None, P1, P2, P3, views={THIS: "s"}))

    assert said(found) == [
        ("failed", "rows 2 < min 3"),
        ("failed", f"1 of 3 partitions failed: {P3}: rows 0 < min 1"),
    ]
    assert found[0].partitions == (P1, P2, P3)
    assert found[1].partitions == (P3,)


def test_scope_table_is_one_group_that_stands_for_all_partitions(looker):
    columns = looker.view("s", S_TEXT)
    rows = rows_of("s", columns)
    check = a_check(Unique(("region",)), scope=CheckScope.TABLE)
    doubled = replace(rows, sql=f"{rows.sql} UNION ALL {rows.sql}")

    (found,) = looker.look([check], a_check_inputs(None, P1, P2, table=doubled))

    assert (found.message, found.partitions) == ("2 duplicate rows", (P1, P2))
    assert [value.group for value in found.values] == ["*"]


def test_without_sample_no_cell_leaves_spark(looker):
    sql = f"SELECT DATE '{P1}' AS date, 'S3CRET' AS t, 1 AS n"
    columns = looker.view("s", sql)
    this = mention(THIS, "user_stats")
    rules = [
        AcceptedValues("t", ("x",)),
        column_check("t", "{column} = 'x'"),
        column_check("t", "CAST({column} AS INT) > 1"),
        column_check("t", "collect_list({column})[0] = 'x'"),
        Unique(("n",)),
        SqlCheck(a_query(f"SELECT t FROM {this}")),
    ]
    checks = [a_check(rule, sample=False) for rule in rules]
    rows = rows_of("s", columns)

    found = looker.look(checks, a_check_inputs(rows, P1, views={THIS: "s"}))

    assert "S3CRET" not in repr(found)
    assert [str(each.status) for each in found].count("failed") == 5
    assert found[2].message == "could not be evaluated: cast invalid input"


def test_one_sample_query_for_each_failed_check_and_none_without_sampling(looker):
    columns = looker.view("s", S_TEXT)
    checks = [a_check(column_check("user_count", f"user_count < {n}")) for n in range(12)]
    check_inputs = a_check_inputs(rows_of("s", columns), P1)

    found = looker.look(checks, check_inputs)
    with_samples = len(looker.ran)
    again = looker.look(checks, check_inputs, sampling=False)

    assert [each.failures for each in found] == [1] * 12
    assert (with_samples, len(looker.ran) - with_samples) == (13, 1)
    assert {each.sample for each in again} == {None}


OBSERVED = [
    RowCount(3),
    column_check("user_count", "SUM({column}) = 200 AND COUNT(*) > AVG({column}) / 1000"),
    column_check("revenue", "{column} >= 6 AND region IN ('eu', 'us')"),
    NullPercentage("user_count", Decimal("33.33")),
    ValueRange("revenue", "5", "19.5"),
    ValueRange("region", None, "eu"),
    NotNull(("region", "user_count")),
    AcceptedValues("region", ("eu",)),
    Freshness("date", dt.timedelta(hours=1), "1h"),
    RowCountChange(Decimal(1), Decimal(1)),
]


def test_what_a_write_observes_equals_what_a_scan_finds(looker, tmp_path):
    checks = [a_check(rule) for rule in OBSERVED]
    checks += [a_check(rule, where="user_count > 80") for rule in OBSERVED]
    columns = looker.view("s", S_OF_P1)
    rows = rows_of("s", columns)
    check_inputs = a_check_inputs(rows, P1, bases=RowsBefore({20058: 2}))
    counts = observables(checks, columns)

    kept = looker.session.side_tables.keep(Feed("kept", rows.sql, counts), str(tmp_path / "kept"))
    seen = looker.look(checks, replace(check_inputs, observed=kept.counts), sampling=False)
    asked = len(looker.ran)
    found = looker.look(checks, check_inputs, sampling=False)

    assert (kept.rows, asked, len(looker.ran)) == (3, 1, 2)  # failing rows are counted when needed
    assert [replace(each, duration=0) for each in seen] == [
        replace(each, duration=0) for each in found
    ]
    assert {str(each.status) for each in found[:10]} == {"failed", "passed"}


S_OF_P1 = f"""SELECT * FROM VALUES (DATE '{P1}', 'eu', 120L, 10.0D),
    (DATE '{P1}', 'us', 80L, 20.0D), (DATE '{P1}', NULL, NULL, 5.0D)
    AS t(date, region, user_count, revenue)"""


def test_what_could_fail_the_write_is_not_observed(looker):
    columns = looker.view("s", S_OF_P1)
    texts = ["revenue / 0 > 1", "CAST(region AS INT) > 1", "region > 5", "rand() > -1"]

    checks = [a_check(ColumnCheck("revenue", Condition(each))) for each in texts]

    assert observables(checks, columns) == {}


def test_a_wide_sample_is_cut(looker):
    cells = ", ".join(f"repeat('x', 90) AS c{n}" for n in range(25))
    sql = f"SELECT DATE '{P1}' AS date, {cells}, map('k', array(1)) AS m, X'0aff' AS b"
    columns = looker.view("s", sql)

    found = looker.look(
        [a_check(NotNull(("m",))), a_check(column_check("b", "{column} IS NULL"))],
        a_check_inputs(rows_of("s", columns), P1),
    )

    assert found[0].sample is None
    assert found[1].sample.columns == ("date", *(f"c{n}" for n in range(18)), "b")
    assert found[1].sample.rows == ((P1, *["x" * 79 + "…"] * 18, "0AFF"),)
