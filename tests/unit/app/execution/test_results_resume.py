"""The command that takes a failed run up again."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.execution.results import resume_command, resume_sync
from penstock.app.request import BackfillRequest, RunRequest
from penstock.core.errors import ColumnChange, SchemaChangeError

PLAN = a_plan(a_step("a"), a_step("b"), a_step("c"))
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


def test_nothing_is_left_of_a_run_that_went_well():
    report = a_report(PLAN, a_result("a"), a_result("b", "unchanged"), a_result("c"))

    assert resume_command(report, RunRequest()) == ""


def test_what_failed_or_was_skipped_is_left():
    report = a_report(PLAN, a_result("a"), a_result("b", "failed"), a_result("c", "skipped"))

    assert resume_command(report, RunRequest()) == "penstock run --select 'b c'"


def test_steps_that_gave_no_result_are_left_too():
    report = a_report(PLAN, a_result("a"), interrupted=True)

    assert resume_command(report, RunRequest()) == "penstock run --select 'b c'"


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        (RunRequest(full_refresh=True), "penstock run --select c --full-refresh"),
        (RunRequest(adopt=True), "penstock run --select c --adopt"),
        (
            RunRequest(as_of=NOON, select=("+c",), exclude=("a",)),
            "penstock run --select c --as-of 2024-03-01T12:00:00Z",
        ),
    ],
)
def test_what_decides_about_rows_is_asked_for_again(request_, command):
    report = a_report(PLAN, a_result("a"), a_result("b"), a_result("c", "failed"))

    assert resume_command(report, request_) == command


@pytest.mark.parametrize(("passes", "flag"), [(True, " --allow-schema-change"), (False, "")])
def test_columns_that_change_are_let_through_where_that_is_all_it_takes(passes, flag):
    change = ColumnChange("n", None, "INT")
    error = SchemaChangeError("c", (change,), where=None, hint="", passes=passes)
    failed = replace(a_result("c", "failed"), error=error)
    report = a_report(PLAN, a_result("a"), a_result("b"), failed)
    range_ = BackfillRequest(".", "c", from_="2025-01-15", to="2025-01-16")

    assert resume_command(report, RunRequest()) == f"penstock run --select c{flag}"
    assert resume_sync(report, range_) == (
        f"penstock backfill c --from 2025-01-15 --to 2025-01-16{flag} --yes"
    )
