"""Which checks a step has, and in which mode their failures count."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project
from fakes.check_inputs import THIS, a_check, a_query
from penstock.app.checking.chosen import StepChecks, all_skipped, checks_of_step, reads_table
from penstock.core.checks import (
    Checks,
    CheckScope,
    CheckSettings,
    OnFailure,
    Phase,
    Relationships,
    RowCount,
    SqlCheck,
)
from penstock.core.findings import Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import mention
from penstock.plan.values import Options
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
    assert reads_table(check) is reads
    assert StepChecks(after=(GATE, check)).needs_table is reads


def test_checks_that_are_skipped_say_why_and_are_not_looked_at():
    checks = StepChecks((AHEAD,), (GATE, WARNING), skips=True)

    report = all_skipped(checks, "--skip-checks")

    assert not checks.looks_after
    assert [(each.name, str(each.status), each.message) for each in report.all] == [
        ("ahead", "skipped", "--skip-checks"),
        ("gate", "skipped", "--skip-checks"),
        ("warning", "skipped", "--skip-checks"),
    ]
