"""What `status` says of flags, of what is kept and of what was never looked at.

Checks that were never evaluated are counted as a command can reach them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.store_cases import (
    HERE,
    a_result,
    check,
    days,
    failed_gate,
    intent,
    passed_gate,
    recover,
    wrote,
)
from fakes.builders import a_model, a_project
from fakes.clock import FixedClock
from fakes.services import a_shop
from fakes.versioned_models import DAY, a_body, a_daily, a_version
from penstock.app.checking.flags import check_lines
from penstock.app.planning.selection import pending_notes
from penstock.core.check_results import InvariantReport, Quarantine
from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.findings import Location
from penstock.strategies.checks.types import RowCount

GATE = Check("min_rows", Phase.AFTER, RowCount(1), Location("m.yml", 3), definition="never-seen")
ORDERS = a_model("orders", checks=Checks((), (GATE,)))


@pytest.fixture
def services():
    return a_shop(a_project(ORDERS))


def lines(services):
    return check_lines(services, services.project, services.reading.records.models()).get(
        "orders", ()
    )


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


def of_version(label, since):
    gate = Check("rows", Phase.AFTER, RowCount(1), Location("m.yml", 3), definition=f"of-{label}")
    return replace(a_version(a_body(label, since)), checks=Checks((), (gate,)))


DAILY = a_daily(
    "daily",
    of_version("v1", "2024-02-01"),
    of_version("v2", "2024-02-20"),
    of_version("v3", "2024-04-01"),
)


@pytest.fixture
def built():
    return a_shop(a_project(DAILY))


def build(built, first, last):
    step = days(f"step-{first}", "daily", (DAY.parse(first), DAY.parse(last)))
    built.writing.journal.begin(step, {}, HERE, None)
    built.writing.journal.finish(step.step, wrote(1))


def look(built, label):
    result = replace(passed_gate("*").report.after[0], definition=f"of-{label}")
    built.writing.journal.note_checks("run-9", "daily", InvariantReport((), (result,)), ("*",), 1)


def unevaluated(built):
    return check_lines(built, built.project, built.reading.records.models()).get("daily", ())


def test_the_newest_partition_is_looked_at_without_a_word(built):
    build(built, "2024-02-25", "2024-03-01")

    assert unevaluated(built) == ("1 check not yet evaluated (run: penstock check --query daily)",)


def test_versions_that_no_built_partition_is_made_by_do_not_count(built):
    build(built, "2024-02-25", "2024-03-01")
    look(built, "v2")

    assert unevaluated(built) == ()


@pytest.mark.parametrize(
    ("first", "last", "seen", "line"),
    [
        (
            "2024-02-10",
            "2024-03-01",
            (),
            (
                "2 checks not yet evaluated "
                "(run: penstock check --query daily --from 2024-02-19 --to 2024-03-01)"
            ),
        ),
        (
            "2024-02-10",
            "2024-03-01",
            ("v2",),
            "1 check not yet evaluated (run: penstock check --query daily --partition 2024-02-19)",
        ),
        (
            "2024-02-25",
            "2024-02-26",
            (),
            "1 check not yet evaluated (run: penstock check --query daily --partition 2024-02-26)",
        ),
    ],
)
def test_the_command_names_partitions_where_it_must(built, first, last, seen, line):
    build(built, first, last)
    for label in seen:
        look(built, label)

    assert unevaluated(built) == (line,)


def test_what_was_skipped_was_not_evaluated(built):
    build(built, "2024-02-25", "2024-03-01")
    skipped = a_result("rows", CheckStatus.SKIPPED, "*", definition="of-v2")
    built.writing.journal.note_checks("run-9", "daily", InvariantReport((), (skipped,)), ("*",), 1)

    assert unevaluated(built) == ("1 check not yet evaluated (run: penstock check --query daily)",)
