"""How many failing rows are too many, and where they are kept: what evaluating makes of answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

from fakes.check_inputs import a_check, a_check_inputs, a_query, answered
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.results import CheckedRows
from penstock.core.checks.check import ANY_ROW, Threshold, Thresholds
from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Severity
from penstock.strategies.checks.queries import GROUP
from penstock.strategies.checks.types import NotNull, SqlCheck, Unique

P1, P2, P3 = "2024-12-01", "2024-12-02", "2024-12-03"
COLUMNS = Schema((Column("date", "date"), Column("n", "bigint"), Column("v", "void")))
ROWS = CheckedRows("SELECT * FROM s", COLUMNS)
KEYED = replace(ROWS, key="CAST(`date` AS STRING)")
NOT_NULL = a_check(NotNull(("n",)), sample=False)
ODD = a_check(SqlCheck(a_query("SELECT * FROM s WHERE n % 2 = 1")), sample=False)
OVER_TWO = Thresholds(Threshold(">", Decimal(2)), ANY_ROW)
ONE_IN_TEN = Thresholds(Threshold(">", Decimal(10), percent=True))


@dataclass
class Answering:
    """A session that gives answers in turn, and tables that note what they are made of."""

    answers: list[tuple[dict[str, object], ...]]
    asked: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def describe(self, sql):
        return COLUMNS

    def rows(self, sql):
        self.asked.append(sql)
        return self.answers.pop(0)

    def keep(self, check, sql):
        self.kept.append(sql)
        return f"kept {check.name}" * bool(sql)

    def of(self, check, rows=ROWS, *keys):
        return evaluate(self, [check], a_check_inputs(rows, *keys, keep=self.keep))[0]


def nulls(count, rows=10, **group):
    named = answered(NOT_NULL, COLUMNS, rows, failures=count, **{"nulls n": count})
    return {**named, **group}


def outcome(result):
    return (str(result.status), str(result.severity), result.message)


def test_a_failure_is_as_grave_as_the_threshold_that_it_meets():
    check = replace(NOT_NULL, thresholds=OVER_TWO)

    found = [outcome(Answering([(nulls(count),)]).of(check)) for count in (0, 1, 2, 3)]

    assert found == [
        ("passed", "error", "no NULL"),
        ("failed", "warning", "1 NULL in n (1 failing, != 0)"),
        ("failed", "warning", "2 NULLs in n (2 failing, != 0)"),
        ("failed", "error", "3 NULLs in n (3 failing, > 2)"),
    ]


def test_a_share_is_one_of_the_rows_that_count():
    check = replace(NOT_NULL, thresholds=ONE_IN_TEN)

    found = [Answering([(nulls(count, 20),)]).of(check) for count in (2, 3)]

    assert [(outcome(each), each.failures) for each in found] == [
        (("passed", "error", "2 NULLs in n (2 of 20 failing, not > 10 %)"), 2),
        (("failed", "error", "3 NULLs in n (3 of 20 failing, > 10 %)"), 3),
    ]


def test_of_several_partitions_only_the_gravest_are_those_that_failed():
    check = replace(NOT_NULL, thresholds=OVER_TWO)
    days = tuple(nulls(n, **{GROUP: day}) for day, n in ((P1, 1), (P2, 5), (P3, 0)))

    result = Answering([days]).of(check, KEYED, P1, P2, P3)

    assert (result.partitions, result.severity) == ((P2,), Severity.ERROR)
    assert result.message == (
        f"2 of 3 partitions failed: {P1}: 1 NULL in n (1 failing, != 0); "
        f"{P2}: 5 NULLs in n (5 failing, > 2)"
    )
    assert [(each.group, str(each.status), each.severity) for each in result.values] == [
        (P1, "failed", Severity.WARNING),
        (P2, "failed", Severity.ERROR),
        (P3, "passed", None),
    ]


def test_sql_is_counted_again_only_where_too_many_rows_came_back():
    check = replace(ODD, thresholds=Thresholds(Threshold(">", Decimal(7)), ANY_ROW))
    few, many = [{GROUP: "*", "c0": 1}] * 5, [{GROUP: "*", "c0": 1}] * 6

    first, second = Answering([tuple(few)]), Answering([tuple(many), ({GROUP: "*", "n": 8},)])

    assert outcome(first.of(check)) == (
        "failed",
        "warning",
        "5 rows (expected 0) (5 failing, != 0)",
    )
    assert outcome(second.of(check)) == ("failed", "error", "8 rows (expected 0) (8 failing, > 7)")
    assert len(first.asked) == 1
    assert second.asked[1] == (
        "SELECT '*' AS __penstock_group, count(*) AS n FROM (\nSELECT * FROM s WHERE n % 2 = 1\n)"
    )


def test_rows_that_fail_are_kept_and_a_check_that_passes_takes_them_away():
    check = replace(NOT_NULL, store=True, limit=3)
    failing, passing = Answering([(nulls(2),)]), Answering([(nulls(0),)])

    assert failing.of(check).details == "kept checked"
    assert passing.of(check).details is None
    assert passing.kept == [""]
    assert failing.kept == [
        (
            "SELECT `date`, `n`, CAST(NULL AS STRING) AS `v` FROM (\nSELECT `date`, `n`, `v` FROM "
            "(\nSELECT * FROM s\n) WHERE (`n` IS NULL)\n) AS t(`date`, `n`, `v`) LIMIT 3"
        )
    ]


def test_rows_of_sql_are_kept_as_it_gives_them_and_copies_as_they_are():
    sql, unique = (
        Answering([({GROUP: "*", "c0": 1},)]),
        replace(a_check(Unique(("n",))), store=True),
    )
    copies = Answering([(answered(unique, COLUMNS, 3, complete=3, keys=2),), ()])

    sql.of(replace(ODD, store=True))
    copies.of(unique)

    assert sql.kept == [
        (
            "SELECT `date`, `n`, CAST(NULL AS STRING) AS `v` FROM (\nSELECT * FROM (\n"
            "SELECT * FROM s WHERE n % 2 = 1\n)\n) AS t(`date`, `n`, `v`)"
        )
    ]
    [kept] = copies.kept
    assert "count(*) OVER (PARTITION BY `n`) AS __penstock_copies" in kept


def test_without_a_table_to_keep_them_in_nothing_is_kept():
    session = Answering([(nulls(2),)])

    [result] = evaluate(session, [replace(NOT_NULL, store=True)], a_check_inputs(ROWS))

    assert (result.details, session.kept) == (None, [])
