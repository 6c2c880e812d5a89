"""What evaluating makes of answers, without Spark: verdicts, messages, who is asked what."""

import datetime as dt
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from fakes.check_inputs import THIS, a_check, a_check_inputs, a_query, column_check, said
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.results import CheckedRows
from penstock.core.check_results import CheckResult, RowsBefore
from penstock.core.checks.check import CheckScope, Phase
from penstock.core.checks.check_type import CheckStatus, Empty, GroupValue
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import InterruptedRunError, QueryError, TableError
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import mention, parameter
from penstock.core.statement import OBSERVED_ROWS
from penstock.strategies.checks.queries import GROUP, alias
from penstock.strategies.checks.typed import observables
from penstock.strategies.checks.types import (
    Freshness,
    NotNull,
    RowCount,
    RowCountChange,
    SqlCheck,
    Unique,
)

P1, P2, P3, P4 = "2024-12-01", "2024-12-02", "2024-12-03", "2024-12-04"
COLUMNS = Schema((Column("date", "date"), Column("n", "bigint"), Column("t", "timestamp")))
ROWS = CheckedRows("SELECT * FROM s", COLUMNS)
KEYED = replace(ROWS, key="CAST(`date` AS STRING)")
RAW = InputName(InputKind.SOURCE, "raw.events")
LATE = InputName(InputKind.SOURCE, "raw.late")


@dataclass
class Told:
    """A session that answers each query by the first part of it that it knows."""

    answers: dict[str, object] = field(default_factory=dict)
    refused: dict[str, Exception] = field(default_factory=dict)
    columns: Schema = COLUMNS
    asked: list[str] = field(default_factory=list)

    def describe(self, sql):
        for part, error in self.refused.items():
            if part in sql:
                raise error
        return self.columns

    def rows(self, sql):
        self.asked.append(sql)
        for part, answer in self.answers.items():
            if part in sql:
                if isinstance(answer, Exception):
                    raise answer
                return answer
        return ({OBSERVED_ROWS: 0},)


def by_day(**counts):
    """Give rows of a phase query that counts rows: `_01=3`."""
    days = {f"2024-12-{day[1:]}": rows for day, rows in counts.items()}
    return tuple({GROUP: day, OBSERVED_ROWS: rows} for day, rows in days.items())


def evaluated(session, check, check_inputs, **how):
    (found,) = evaluate(session, [check], check_inputs, **how)
    return replace(found, duration=0.0)


def test_a_result_has_all_that_is_known_of_it():
    check = a_check(RowCount(5), name="min_users", definition="d", severity=Severity.WARNING)
    session = Told({"GROUP BY": by_day(_01=3, _02=9)})

    found = evaluated(session, check, a_check_inputs(KEYED, P1, P2))

    assert found == CheckResult(
        name="min_users",
        type="row_count",
        phase=Phase.AFTER,
        severity=Severity.WARNING,
        status=CheckStatus.FAILED,
        message=f"1 of 2 partitions failed: {P1}: rows 3 < min 5",
        partitions=(P1,),
        values=(
            GroupValue(P1, CheckStatus.FAILED, {"rows": "3"}, "rows 3 < min 5"),
            GroupValue(P2, CheckStatus.PASSED, {"rows": "9"}, "rows 9"),
        ),
        definition="d",
        where=Location("models/user_stats.yml", 7),
    )


def test_at_most_three_groups_are_named():
    session = Told({"GROUP BY": by_day(_01=3)})
    check_inputs = a_check_inputs(KEYED, *(f"2024-12-{day:02}" for day in range(1, 10)))

    found = evaluated(session, a_check(RowCount(5)), check_inputs)

    assert found.message == (
        "9 of 9 partitions failed: 2024-12-01: rows 3 < min 5; 2024-12-02: rows 0 < min 5; "
        "2024-12-03: rows 0 < min 5; and 6 more"
    )
    assert len(found.partitions) == 9


def test_checks_over_the_same_rows_share_a_query_and_come_in_their_order():
    session = Told({"GROUP BY": by_day(_01=3)})
    table = replace(ROWS, sql="SELECT * FROM whole")
    checks = [
        a_check(RowCount(5)),
        a_check(RowCount(1), scope=CheckScope.TABLE),
        a_check(RowCount(1), where="n > 0"),
    ]

    found = evaluate(session, checks, a_check_inputs(KEYED, P1, table=table))

    assert said(found) == [
        ("failed", "rows 3 < min 5"),
        ("failed", "rows 0 < min 1"),
        ("failed", "rows 0 < min 1"),
    ]
    assert len(session.asked) == 2


def test_what_was_observed_is_not_asked_for():
    check, scanned = a_check(NotNull(("n",)), sample=False), a_check(Unique(("n",)))
    counts = observables([check, scanned], COLUMNS)
    session = Told()
    observed = {OBSERVED_ROWS: 4, **{name: 2 for name in counts if name != OBSERVED_ROWS}}

    found = evaluate(session, [check, scanned], a_check_inputs(KEYED, P1, observed=observed))

    assert found[0].message == "2 NULLs in n"
    assert found[1].message == "no rows"
    assert ["DISTINCT" in sql for sql in session.asked] == [True]


def test_observed_values_say_nothing_of_several_groups_or_of_the_table():
    session = Told({"GROUP BY": by_day(_01=3, _02=3)})
    checks = [a_check(RowCount(1)), a_check(RowCount(1), scope=CheckScope.TABLE)]

    found = evaluate(
        session, checks, a_check_inputs(KEYED, P1, P2, table=ROWS, observed={OBSERVED_ROWS: 9})
    )

    assert said(found) == [("passed", "rows 3"), ("failed", "rows 0 < min 1")]


def test_a_sum_that_was_observed_as_null_is_asked_for():
    check = a_check(column_check("n", "SUM(n) > 1"))
    counts = observables([check], COLUMNS)
    observed = {name: 3 if name == OBSERVED_ROWS else None for name in counts}
    total = alias("CAST((SUM(n) > 1) AS STRING)")
    session = Told({"FROM": ({OBSERVED_ROWS: 3, total: "true"},)})

    found = evaluated(session, check, a_check_inputs(ROWS, P1, observed=observed))

    assert any("try_sum(" in sql for sql in counts.values())
    assert found.message == "condition is true"


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (a_check(RowCount(1)), "nothing was written"),
        (a_check(RowCount(1), phase=Phase.BEFORE), "no slice is being read"),
        (a_check(RowCount(1), scope=CheckScope.TABLE), "table does not exist yet"),
        (
            a_check(SqlCheck(a_query(f"SELECT * FROM {mention(THIS)}")), phase=Phase.BEFORE),
            "table does not exist yet",
        ),
    ],
)
def test_a_check_without_rows_to_look_at_is_skipped(check, reason):
    session = Told()

    found = evaluated(session, check, a_check_inputs(None, P1))

    assert (found.status, found.message, found.values) == (CheckStatus.SKIPPED, reason, ())
    assert session.asked == []


def test_before_checks_look_at_the_input_that_they_name():
    rows = {RAW: ROWS, LATE: replace(KEYED, sql="SELECT * FROM late")}
    check = a_check(RowCount(1), phase=Phase.BEFORE)
    session = Told({"late": by_day(_01=1), "FROM": ({OBSERVED_ROWS: 0},)})
    check_inputs = a_check_inputs(None, P1, inputs=rows)

    found = evaluate(session, [replace(check, input=LATE), replace(check, input=RAW)], check_inputs)
    (only,) = evaluate(session, [check], replace(check_inputs, inputs={LATE: rows[LATE]}))

    assert said(found) == [("passed", "rows 1"), ("failed", "rows 0 < min 1")]
    assert only.message == "rows 1"


def unresolved(name):
    text = f"A column, variable, or function parameter with name `{name}` cannot be resolved."
    return QueryError("spark-unresolved-column", text)


def test_a_check_that_spark_does_not_understand_is_failed_and_the_others_go_on():
    session = Told({"GROUP BY": by_day(_01=3)}, {"revenu": unresolved("revenu")})
    checks = [a_check(column_check("n", "MAX(revenu) > 1")), a_check(RowCount(1))]

    found = evaluate(session, checks, a_check_inputs(KEYED, P1, P2))

    assert (found[0].message, found[0].error) == (
        'could not be evaluated: unknown column "revenu"',
        "check-error",
    )
    assert found[0].partitions == (P1, P2)
    assert found[1].partitions == (P2,)


def test_columns_that_do_not_fit_are_found_without_spark():
    columns = Schema((*COLUMNS.columns, Column("m", "map<string,int>"), Column("s", "string")))
    rows = replace(ROWS, columns=columns)
    checks = [
        a_check(Unique(("m",))),
        a_check(Freshness("s", dt.timedelta(hours=1), "1h")),
        a_check(NotNull(("x",))),
    ]

    found = evaluate(Told(), checks, a_check_inputs(rows))

    head = "could not be evaluated: "
    assert [each.message.removeprefix(head) for each in found] == [
        'type not comparable: column "m" is MAP<STRING,INT>',
        'column "s" is STRING, no DATE or TIMESTAMP',
        'unknown column "x"',
    ]
    assert found[0].partitions == ("*",)


def test_a_failing_query_is_asked_again_check_by_check():
    zero = QueryError("spark-divide-by-zero", "Division by zero.")
    session = Told({"/ 0": zero, "GROUP BY": by_day(_01=3)})
    checks = [a_check(column_check("n", "n / 0 > 1")), a_check(RowCount(1))]

    found = evaluate(session, checks, a_check_inputs(KEYED, P1))

    assert said(found) == [
        ("failed", "could not be evaluated: Division by zero"),
        ("passed", "rows 3"),
    ]
    assert len(session.asked) == 3


@pytest.mark.parametrize(
    "error",
    [
        InterruptedRunError("interrupted", "the run was interrupted"),
        QueryError("spark-error", "Job aborted due to stage failure: ExecutorLostFailure"),
        TableError("table-unreadable", "a file is gone"),
    ],
)
def test_a_lost_job_is_no_failed_check(error):
    with pytest.raises(type(error)):
        evaluate(Told({"FROM": error}), [a_check(RowCount(1))], a_check_inputs(ROWS))


def test_queries_with_parameters_are_asked_fifty_groups_at_a_time():
    keys = [f"2024-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 29)]
    text = f"SELECT * FROM x WHERE d = {parameter('partition_date')}"
    session = Told({"2024-02-28": ({GROUP: "2024-02-28", "c0": 1},), "FROM": ()})

    found = evaluated(
        session, a_check(SqlCheck(a_query(text)), sample=False), a_check_inputs(None, *keys)
    )

    assert len(session.asked) == 2
    assert session.asked[0].count("UNION ALL") == 49
    assert found.message == "1 of 56 partitions failed: 2024-02-28: 1 row (expected 0)"
    assert found.sample is None


def test_a_query_without_parameters_counts_for_every_group():
    session = Told({"FROM": ({GROUP: "*", "c0": "1", "c1": None, "c2": "x" * 99},)})

    found = evaluated(session, a_check(SqlCheck(a_query("SELECT 1"))), a_check_inputs(None, P1, P2))

    assert found.partitions == (P1, P2)
    assert found.message == "1 row (expected 0)"
    assert found.sample.rows == (("1", None, "x" * 79 + "…"),)


def change(last=None, **bounds):
    return a_check(RowCountChange(last=last, **{k: Decimal(v) for k, v in bounds.items()}))


def test_a_change_against_the_last_success():
    def on(rows, base, **bounds):
        session = Told({"FROM": ({OBSERVED_ROWS: rows},)})
        bases = RowsBefore(recent=() if base is None else (base, 99))
        found = evaluated(session, change(**bounds), a_check_inputs(ROWS, bases=bases))
        return str(found.status), found.message

    assert on(3, None, max_increase=50) == ("skipped", "no earlier execution")
    shown = "rows 6, +100.0 % of 3"
    assert on(6, 3, max_increase=50) == ("failed", f"{shown} (max increase 50 %)")
    assert on(6, 3, max_increase=100) == ("passed", shown)
    infinite = "rows 2, infinite increase from 0"
    assert on(2, 0, max_increase=50) == ("failed", f"{infinite} (max increase 50 %)")
    assert on(0, 0, max_increase=50) == ("passed", "rows 0, +0.0 % of 0")
    none = "rows 0, -100.0 % of 2 (max decrease 50 %)"
    assert on(0, 2, max_decrease=50) == ("failed", none)


def quiet(step, bases, empty=None):
    """Give what is said of a run of an append that wrote no row; without `step` nobody asks."""
    session = Told({"FROM": ({OBSERVED_ROWS: 0},)})
    check = replace(change(max_decrease=50), empty=empty)
    check_inputs = a_check_inputs(step, bases=RowsBefore(recent=bases))
    found = evaluated(session, check, replace(check_inputs, adds=True))
    return str(found.status), found.message


@pytest.mark.parametrize("step", [None, ROWS])
def test_a_run_without_rows_is_a_change_to_0_only_where_that_is_asked_for(step):
    lost = "rows 0, -100.0 % of 4 (max decrease 50 %)"

    assert quiet(step, (4,), Empty.FAIL) == ("failed", lost)
    assert quiet(step, (), Empty.FAIL) == ("skipped", "no earlier execution")
    assert quiet(step, (4,)) == ("skipped", "nothing was written")


def test_a_change_against_the_mean_of_earlier_partitions():
    session = Told({"GROUP BY": by_day(_04=1)})
    check_inputs = a_check_inputs(KEYED, P4)
    number = check_inputs.grid.parse
    check_inputs = replace(
        check_inputs, bases=RowsBefore({number(P1): 3, number(P2): 2, number(P1) - 1: 99})
    )

    passes = evaluated(session, change(2, max_decrease=60), check_inputs)
    fails = evaluated(session, change(2, max_decrease=59), check_inputs)

    assert passes.message == "rows 1, -60.0 % of 2.5"
    assert passes.values[0].values == {"rows": "1", "base": "2.5"}
    assert fails.message == "rows 1, -60.0 % of 2.5 (max decrease 59 %)"


def test_partitions_of_the_same_step_are_bases_unless_they_failed_a_gate():
    session = Told({"GROUP BY": by_day(_01=4, _02=1, _03=4, _04=2)})
    trailing = change(1, max_decrease=50)
    gate = a_check(RowCount(3), name="gate")
    check_inputs = a_check_inputs(KEYED, P1, P2, P3, P4)

    alone, _ = evaluate(session, [trailing, a_check(RowCount(9), severity="warning")], check_inputs)
    guarded, _ = evaluate(session, [trailing, gate], check_inputs)

    assert [value.message for value in alone.values] == [
        "no earlier execution",
        "rows 1, -75.0 % of 4 (max decrease 50 %)",
        "rows 4, +0.0 % of 4",
        "rows 2, -50.0 % of 4",
    ]
    assert [value.message for value in guarded.values][1:3] == [
        "rows 1, -75.0 % of 4 (max decrease 50 %)",
        "rows 4, +0.0 % of 4",
    ]


def test_the_age_of_a_partition_is_told_from_its_end_only_in_the_step():
    newest = {alias("CAST(max(`t`) AS STRING)"): "2024-12-01 23:00:00.000001", OBSERVED_ROWS: 1}
    session = Told({"GROUP BY": ({GROUP: P1, **newest},), "FROM": (newest,)})
    fresh = a_check(Freshness("t", dt.timedelta(hours=2), "2h"))
    checks = [fresh, replace(fresh, scope=CheckScope.TABLE)]

    step, table = evaluate(session, checks, a_check_inputs(KEYED, P1, table=ROWS))

    shown = "newest 2024-12-01 23:00:00.000001, age"
    assert step.message == f"{shown} 59m"
    assert table.message == f"{shown} 3d 12h > max 2h"


def test_history_tables_count_current_versions_unless_all_are_asked_for():
    current = replace(ROWS, sql="SELECT * FROM s WHERE is_current")
    one = a_check(Unique(("n",)), scope=CheckScope.TABLE)
    every = a_check(Unique(("n",), all_versions=True), scope=CheckScope.TABLE)
    session = Told()

    evaluate(session, [one, every], a_check_inputs(None, table=ROWS, current=current))

    assert ["is_current" in sql for sql in session.asked] == [True, False]


def test_without_checks_nothing_is_asked():
    session = Told()

    assert evaluate(session, [], a_check_inputs(ROWS)) == ()
    assert session.asked == []
