"""What `status` says of flags, of what is kept and of what was never looked at."""

from dataclasses import replace

import pytest

from contracts.store_cases import HERE, check, failed_gate, intent, recover
from fakes.builders import a_model, a_project
from fakes.clock import FixedClock
from fakes.shops import a_shop
from penstock.app.checking.status import check_lines
from penstock.app.execution.settle import pending_notes
from penstock.core.check_results import Quarantine
from penstock.core.checks import Check, Checks, OnFailure, Phase, RowCount
from penstock.core.findings import Location

GATE = Check("min_rows", Phase.AFTER, RowCount(1), Location("m.yml", 3), definition="never-seen")
ORDERS = a_model("orders", checks=Checks((), (GATE,)))


@pytest.fixture
def shop():
    return a_shop(a_project(ORDERS))


def lines(shop):
    return check_lines(shop, shop.project).get("orders", ())


def test_of_a_model_that_was_never_built_nothing_is_said(shop):
    assert lines(shop) == ()


def test_checks_that_are_pending_are_told(shop):
    recover(shop.writing, replace(intent(), on_failure="flag"))

    assert lines(shop)[0] == "checks pending: step step-1"
    assert pending_notes(shop) == ("orders: checks pending: step step-1",)


def test_a_rollback_that_is_due_is_told_with_its_flag(shop):
    checked = failed_gate("*", mode=OnFailure.ROLLBACK)
    check(shop.writing, replace(intent(), on_failure="rollback"), checked)

    assert lines(shop)[:2] == (
        "a rollback is due: step step-1",
        "flagged: 1 step (step-1): min_rows",
    )
    assert pending_notes(shop) == ("orders: a rollback is due: step step-1",)


def test_kept_rows_and_checks_that_nobody_looked_at_are_told(shop):
    kept = Quarantine("step-1", "orders", "/w/q", "q.orders", ((0, 0),), 1234, FixedClock().now())
    held = replace(failed_gate("*", mode=OnFailure.BLOCK), quarantine=kept)
    shop.writing.journal.begin(intent(), {}, HERE, None)
    shop.writing.journal.record_checks("step-1", held)
    shop.writing.journal.fail("step-1", held.failure)
    check(shop.writing, intent("step-2"), replace(held, failure=None, quarantine=None))

    assert lines(shop) == (
        "quarantine: q.orders (1,234 rows, until 2024-03-01)",
        "1 check not yet evaluated (run: penstock check --query orders)",
    )
