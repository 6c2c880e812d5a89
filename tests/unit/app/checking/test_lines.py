"""What `status` says of flags, of what is kept and of what was never looked at."""

from dataclasses import replace

import pytest

from contracts.store_cases import HERE, check, failed_gate, intent, recover
from fakes.builders import a_model, a_project
from fakes.clock import FixedClock
from fakes.services import a_shop
from penstock.app.checking.status import check_lines
from penstock.app.execution.settle import pending_notes
from penstock.core.check_results import Quarantine
from penstock.core.checks import Check, Checks, OnFailure, Phase, RowCount
from penstock.core.findings import Location

GATE = Check("min_rows", Phase.AFTER, RowCount(1), Location("m.yml", 3), definition="never-seen")
ORDERS = a_model("orders", checks=Checks((), (GATE,)))


@pytest.fixture
def services():
    return a_shop(a_project(ORDERS))


def lines(services):
    return check_lines(services, services.project).get("orders", ())


def test_of_a_model_that_was_never_built_nothing_is_said(services):
    assert lines(services) == ()


def test_checks_that_are_pending_are_told(services):
    recover(services.writing, replace(intent(), on_failure="flag"))

    assert lines(services)[0] == "checks pending: step step-1"
    assert pending_notes(services) == ("orders: checks pending: step step-1",)


def test_a_rollback_that_is_due_is_told_with_its_flag(services):
    checked = failed_gate("*", mode=OnFailure.ROLLBACK)
    check(services.writing, replace(intent(), on_failure="rollback"), checked)

    assert lines(services)[:2] == (
        "a rollback is due: step step-1",
        "flagged: 1 step (step-1): min_rows",
    )
    assert pending_notes(services) == ("orders: a rollback is due: step step-1",)


def test_kept_rows_and_checks_that_nobody_looked_at_are_told(services):
    kept = Quarantine("step-1", "orders", "/w/q", "q.orders", ((0, 0),), 1234, FixedClock().now())
    held = replace(failed_gate("*", mode=OnFailure.BLOCK), quarantine=kept)
    services.writing.journal.begin(intent(), {}, HERE, None)
    services.writing.journal.record_checks("step-1", held)
    services.writing.journal.fail("step-1", held.failure)
    check(services.writing, intent("step-2"), replace(held, failure=None, quarantine=None))

    assert lines(services) == (
        "quarantine: q.orders (1,234 rows, until 2024-03-01)",
        "1 check not yet evaluated (run: penstock check --query orders)",
    )
