"""Which checks a step has, and in which mode their failures count.

What a plan says of a step's checks.
"""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project
from fakes.check_inputs import THIS, a_check, a_query
from fakes.reports import a_step
from penstock.app.checking.chosen import (
    StepChecks,
    checks_of_step,
    planned_checks,
    skipped,
)
from penstock.core.checks.check import Check, Checks, CheckScope, CheckSettings, OnFailure, Phase
from penstock.core.columns.typed import TypedValue
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import Query, mention
from penstock.plan.values import Options
from penstock.strategies.append import Append
from penstock.strategies.checks.types import (
    NotNull,
    Relationships,
    RowCount,
    SqlCheck,
    Unique,
    ValueRange,
)
from penstock.strategies.merge import Merge
from penstock.strategies.partition import Partition
from penstock.strategies.table import Table
from penstock.strategies.view import View

GATE = a_check(RowCount(1), name="gate")
WARNING = replace(GATE, name="warning", severity=Severity.WARNING)
AHEAD = replace(GATE, name="ahead", phase=Phase.BEFORE)
FLAG, BLOCK, ROLLBACK = OnFailure.FLAG, OnFailure.BLOCK, OnFailure.ROLLBACK
CODES = InputName(InputKind.MODEL, "codes")


def mode(own=None, project=FLAG, asked=None, after=(GATE,), strategy=None):
    model = a_model("a", strategy=strategy or Table(), checks=Checks((AHEAD,), after, own))
    services = replace(a_project(model), checks=CheckSettings(project))
    return checks_of_step(services, model, 1, Options(on_failure=asked)).mode


def test_the_command_decides_before_the_model_and_the_model_before_the_project():
    assert mode(project=BLOCK) is BLOCK
    assert mode(own=ROLLBACK, project=BLOCK) is ROLLBACK
    assert mode(own=ROLLBACK, project=BLOCK, asked=FLAG) is FLAG


def test_without_a_gate_after_it_a_step_has_nothing_to_hold_back():
    assert mode(own=BLOCK, after=(WARNING,)) is FLAG


def test_a_view_has_no_version_to_go_back_to():
    assert mode(own=ROLLBACK, strategy=View()) is BLOCK


def test_a_step_that_makes_its_target_has_nothing_to_go_back_to():
    checks = StepChecks(after=(GATE,), mode=ROLLBACK)

    assert checks.mode_where(creates=True) is BLOCK
    assert checks.mode_where(creates=False) is ROLLBACK


@pytest.mark.parametrize(
    ("check", "reads"),
    [
        (GATE, False),
        (replace(GATE, scope=CheckScope.TABLE), True),
        (a_check(SqlCheck(a_query("select 1"))), True),
        (replace(GATE, query=a_query(f"select * from {mention(THIS)}")), True),
        (replace(GATE, query=a_query("select 1")), False),
        (a_check(Relationships(("a",), CODES, ("a",), "s.codes"), reads=(CODES,)), False),
        (a_check(Relationships(("a",), THIS, ("a",), "s.a")), True),
    ],
)
def test_some_checks_see_the_target_as_a_whole(check, reads):
    assert check.reads_table is reads
    assert StepChecks(after=(GATE, check)).needs_table is reads


def test_checks_that_are_skipped_say_why_and_are_not_looked_at():
    checks = StepChecks((AHEAD,), (GATE, WARNING), skips=True)

    results = skipped((*checks.before, *checks.after), "--skip-checks")

    assert not checks.looks_after
    assert [(each.name, str(each.status), each.message) for each in results] == [
        ("ahead", "skipped", "--skip-checks"),
        ("gate", "skipped", "--skip-checks"),
        ("warning", "skipped", "--skip-checks"),
    ]


SQL = SqlCheck(Query("select 1", "select 1", "select 1", ()))
USERS = InputName(InputKind.MODEL, "users")
DAY = Grid(Grain.DAY)
DAILY = Partition("date", "DATE", DAY)


def check(name, rule, phase=Phase.AFTER, **changes):
    return Check(name, phase, rule, Location("models/a.yml"), **changes)


ROWS = check("rows", RowCount(1))
SEEDS = Checks(
    (check("source_has_data", SQL, Phase.BEFORE),),
    (
        check("min_users", SQL),
        ROWS,
        check("bounds", ValueRange("revenue", "0")),
        check("nulls", NotNull(("id",)), severity=Severity.WARNING),
    ),
)


def line(strategy, checks=SEEDS, options=None, project_mode=OnFailure.FLAG, creates=False, **step):
    project = a_project(a_model("a", strategy=strategy, checks=checks))
    project = replace(project, checks=CheckSettings(project_mode))
    step = a_step("a", **step)
    return str(planned_checks(project, step, options or Options(), lambda: creates))


def days(number):
    first = DAY.parse("2024-12-01")
    return {"grid": DAY, "partitions": ((first, first + number - 1),)}


def test_a_step_says_what_is_observed_what_is_scanned_and_what_a_failure_does():
    assert line(DAILY, **days(1)) == (
        "checks: 1 before, 4 after (3 observed, 1 scan), on failure: flag"
    )


def test_a_step_of_several_partitions_observes_nothing():
    assert line(DAILY, **days(2)) == "checks: 1 before, 4 after (2 scans), on failure: flag"


@pytest.mark.parametrize(
    ("strategy", "step", "how"),
    [
        (Append(None), {}, "1 observed"),
        (Append(None), {"initial": True}, "1 scan"),
        (Merge(("id",), None), {}, "1 scan"),
        (Table(), {"initial": True}, "1 scan"),
        (Table(overwrite_partitions=True), {}, "1 observed"),
        (View(), {}, "1 scan"),
    ],
)
def test_rows_are_observed_where_a_write_reports_them(strategy, step, how):
    text = line(strategy, Checks((), (ROWS,)), **step)

    assert text == f"checks: 1 after ({how}), on failure: flag"


@pytest.mark.parametrize("mode", [OnFailure.FLAG, OnFailure.BLOCK])
def test_a_rerun_of_a_table_that_is_added_to_observes_nothing(mode):
    day = TypedValue("DATE", "2024-12-01")

    text = line(Append(None), Checks((), (ROWS,), mode), Options(rerun=(day, day)))

    assert text == f"checks: 1 after (1 scan), on failure: {mode}"


def test_staged_rows_are_observed_whatever_the_strategy():
    checks = Checks((), (ROWS,), OnFailure.BLOCK)

    assert line(Table(), checks, initial=True) == (
        "checks: 1 after (1 observed), on failure: block"
    )


def test_the_command_overrides_the_model_and_that_the_project():
    own = Checks((), (ROWS,), OnFailure.ROLLBACK)

    def mode(*given, **more):
        return line(DAILY, *given, **more, **days(1)).rpartition(" ")[2]

    assert mode(Checks((), (ROWS,)), project_mode=OnFailure.BLOCK) == "block"
    assert mode(own, project_mode=OnFailure.BLOCK) == "rollback"
    assert mode(own, Options(on_failure=OnFailure.FLAG)) == "flag"


def test_a_view_has_nothing_to_roll_back():
    checks = Checks((), (ROWS,), OnFailure.ROLLBACK)

    assert line(View(), checks) == "checks: 1 after (1 scan), on failure: block"


@pytest.mark.parametrize(
    ("strategy", "step"), [(Table(), {"initial": True}), (DAILY, days(1)), (Append(None), {})]
)
def test_a_first_build_has_nothing_to_roll_back(strategy, step):
    checks = Checks((), (ROWS,), OnFailure.ROLLBACK)

    first = line(strategy, checks, creates=True, **step)

    assert first == "checks: 1 after (1 observed), on failure: block"
    assert line(strategy, checks, **step).endswith("on failure: rollback")


def test_without_a_gate_nothing_is_said_of_failures():
    checks = Checks((), (replace(ROWS, severity=Severity.WARNING),), OnFailure.BLOCK)

    assert line(DAILY, checks, **days(1)) == "checks: 1 after (1 observed)"


def test_checks_of_other_rows_are_scans_of_their_own():
    checks = Checks(
        (),
        (
            check("ids", Unique(("id",)), scope=CheckScope.TABLE),
            check("names", Unique(("name",)), scope=CheckScope.TABLE),
            check("rows", RowCount(1), query=SQL.query),
            check("user", Relationships(("id",), USERS, ("id",), "users")),
        ),
    )

    assert line(Append(None), checks) == "checks: 4 after (3 scans), on failure: flag"


def test_what_is_not_evaluated_is_said_to_be_skipped():
    assert line(DAILY, options=Options(skip_checks=True), **days(1)) == (
        "checks: 5 skipped (--skip-checks)"
    )


def test_a_step_without_checks_or_without_rows_says_nothing():
    assert line(Table(), Checks()) == ""
    assert line(DAILY, only_alters=True, **days(1)) == ""
