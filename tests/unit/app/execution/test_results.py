"""What the checks of a step make of its result, and what the report says became of its rows."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project
from fakes.reports import a_check_result, a_plan, a_report, a_result, a_step
from fakes.services import an_intent
from penstock.app.execution.commit import Ended
from penstock.app.execution.results import (
    consequence_text,
    failed_partitions,
    final_error,
    remaining_steps,
    resume_command,
    resume_sync,
    view_result,
    warnings_of_step,
    with_checks,
    with_resume_command,
)
from penstock.app.preparing.run_context import ViewReport
from penstock.app.request import BackfillRequest, RunRequest, SnapshotRequest, SyncRequest
from penstock.core.check_results import Checked, InvariantReport, Quarantine
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import CheckFailedError, ConcurrentWriterError, TableError
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import ForeignCommit, Outcome, StepFailure
from penstock.plan.values import Blocked
from penstock.strategies.view import View

TOP = a_model("top", "raw.events")
DAYS = Grid(Grain.DAY)
HERE = Location("models/top.yml", 7)
GATE = a_check_result("two_rows", CheckStatus.FAILED, "rows 1 < min 2", where=HERE)
WARNING = replace(GATE, name="soft", severity=Severity.WARNING, where=None)
FAILURE = StepFailure("after-check-failed", "top: two_rows", hint="look at it")
FAILED = Checked(OnFailure.FLAG, InvariantReport((), (WARNING, GATE)), 1, FAILURE, ((1, 1),))
KEPT = Quarantine("step-top", "top", "/w/q/top", "q.top", ((1, 1),), 3, NOON + dt.timedelta(30))


def ended(checked=FAILED, version=1, **changes):
    """A step of the partitions 1 to 3 that has written a version."""
    intent = replace(
        an_intent(TOP), base_version=0, grid=DAYS, partitions=("1970-01-02..1970-01-04",)
    )
    intent = replace(intent, **changes.pop("intent", {}))
    return Ended(intent, Outcome(version), checked=checked, **changes)


def test_a_step_without_checks_keeps_its_result():
    result = a_result("top")

    assert with_checks(result, ended(None, notes=("not taken",))) is result


def test_checks_that_stop_nothing_are_reported_and_leave_the_step_as_it_ended():
    checked = replace(FAILED, failure=None, failed=())

    result = with_checks(a_result("top", notes=("first",)), ended(checked, notes=("second",)))

    assert result == a_result("top", notes=("first", "second"), invariant_report=checked.report)


@pytest.mark.parametrize(
    ("changes", "consequence", "notes"),
    [
        ({}, "rows written and flagged", ("first", "second")),
        (
            {"undone": Outcome(2), "restored": 0},
            "restored to version 0",
            (
                "first",
                "second",
                "rolled-back: top 1970-01-03 to 1970-01-04: undone with 1970-01-02",
            ),
        ),
        (
            {"undone": Outcome(2), "restored": 0, "intent": {"partitions": ("1970-01-02",)}},
            "restored to version 0",
            ("first", "second"),
        ),
    ],
)
def test_a_failed_gate_makes_the_step_failed_at_the_place_of_the_gate(changes, consequence, notes):
    step = ended(notes=("second",), **changes)

    result = with_checks(a_result("top", notes=("first",)), step)

    assert result.status == "failed"
    assert (result.consequence, result.notes) == (consequence, notes)
    error = result.error
    assert isinstance(error, CheckFailedError)
    assert (error.code, error.sentence) == ("after-check-failed", "top: two_rows")
    assert (error.where, error.hint) == (HERE, "look at it")


def test_a_failure_that_no_gate_told_of_has_no_place():
    checked = replace(FAILED, report=InvariantReport((), (WARNING,)))

    assert with_checks(a_result("top"), ended(checked)).error.where is None


@pytest.mark.parametrize(
    ("mode", "version", "uri", "quarantine", "text"),
    [
        (OnFailure.FLAG, 1, "/w/s/top", None, "rows written and flagged"),
        (OnFailure.FLAG, None, "/w/s/top", None, "nothing was written; flagged"),
        (OnFailure.ROLLBACK, 1, "/w/s/top", None, "rows written and flagged"),
        (OnFailure.FLAG, None, "", None, "view made and flagged"),
        (OnFailure.BLOCK, None, "/w/s/top", None, "nothing published"),
        (OnFailure.BLOCK, None, "/w/s/top", KEPT, "rows kept in q.top until 2024-03-31"),
    ],
)
def test_it_is_said_what_became_of_rows_that_failed(mode, version, uri, quarantine, text):
    checked = replace(FAILED, mode=mode, quarantine=quarantine)

    assert consequence_text(ended(checked, version, intent={"uri": uri}), checked) == text


def test_all_partitions_of_a_step_that_was_taken_back_are_not_as_readers_need_them():
    assert failed_partitions(ended(None)) == ()
    assert failed_partitions(ended(replace(FAILED, failure=None))) == ()
    assert failed_partitions(ended()) == ((1, 1),)
    assert failed_partitions(ended(undone=Outcome(2))) == ((1, 3),)


@pytest.mark.parametrize(
    ("report", "status", "code"),
    [
        (InvariantReport((), (WARNING,)), "unchanged", None),
        (InvariantReport((), (GATE,)), "failed", "after-check-failed"),
        (InvariantReport((replace(GATE, phase=Phase.BEFORE),)), "failed", "before-check-failed"),
    ],
)
def test_a_view_whose_gates_fail_now_is_a_failed_result(report, status, code):
    project = a_project(a_model("seen", strategy=View()))

    result = view_result(project, ViewReport("seen", report, 1.5))

    assert (result.status, result.error and result.error.code) == (status, code)
    assert (result.duration, result.invariant_report) == (1.5, report)
    assert result.consequence == ("models that read it are not built" if code else "")


@pytest.mark.parametrize(
    ("intent", "outcome", "warnings"),
    [
        ({}, Outcome(1, metrics={"source_rows": 0}), ()),
        ({"base_version": None}, Outcome(0, metrics={"source_rows": 1}), ()),
        ({"base_version": None}, Outcome(None, metrics={"source_rows": 0}), ()),
        (
            {"base_version": None},
            Outcome(0, metrics={"source_rows": 0}),
            ("the source has no rows: the table is empty",),
        ),
        ({"cut_at": NOON}, Outcome(1), ("rows after 2024-03-01 12:00:00 are left to a later run",)),
        ({"passed_by": ("top",)}, Outcome(1), ()),
        (
            {"passed_by": ("top", "a", "b")},
            Outcome(1),
            ("a, b changed rows that it had read; penstock sync --select top rebuilds it",),
        ),
        (
            {"base_version": 3},
            Outcome(5, foreign=(ForeignCommit(3, NOON, "MERGE"), ForeignCommit(4, NOON, "DELETE"))),
            (
                (
                    "tampered: version 4 (DELETE) of s.top was written by others during the "
                    "step; penstock status"
                ),
            ),
        ),
    ],
)
def test_a_step_warns_of_what_it_left_and_of_what_others_did_meanwhile(intent, outcome, warnings):
    step = Ended(replace(an_intent(TOP), **{"base_version": 0, **intent}), outcome)

    assert warnings_of_step(step) == warnings


def test_the_last_conflict_has_the_one_name_and_other_errors_keep_theirs():
    conflict = ConcurrentWriterError("underneath", "gone", where=HERE, hint="again")
    plain = ConcurrentWriterError("concurrent-writer", "somebody wrote")
    other = TableError("log-gap", "gone")

    found = final_error(conflict)

    assert (found.code, found.sentence, found.where, found.hint) == (
        "concurrent-writer",
        "gone",
        HERE,
        "again",
    )
    assert final_error(plain) is plain
    assert final_error(other) is other


@pytest.mark.parametrize(
    ("is_range", "ranges", "left"),
    [
        (True, (), []),
        (True, ((1, 2), (4, 4)), [((1, 2),), ((4, 4),)]),
        (False, ((1, 2), (4, 4)), [((1, 2), (4, 4))]),
    ],
)
def test_what_is_left_of_a_range_is_a_step_for_each_piece(is_range, ranges, left):
    step = a_step("top", grid=DAYS, partitions=((1, 9),), is_range=is_range)

    assert [each.work.partitions for each in remaining_steps(step, ranges)] == left


# The command that does what is left


CHECK = CheckFailedError("after-check-failed", "top: no")
FIRST = (("2025-01-02", "2025-01-03"),)
LAST = (("2025-01-05", "2025-01-05"), ("2025-01-07", "2025-01-08"))


def failed(name="a", partitions=FIRST, error=CHECK):
    return a_result(name, "failed", partitions=partitions, error=error)


@pytest.mark.parametrize(
    ("results", "command"),
    [
        (
            [failed(), failed(partitions=LAST)],
            "penstock sync --query a --from 2025-01-02 --to 2025-01-08",
        ),
        (
            [failed(), a_result("b"), failed(partitions=LAST)],
            "penstock sync --query a --from 2025-01-02 --to 2025-01-08",
        ),
        ([failed(), failed("b")], "penstock run --select 'a b'"),
        ([failed(partitions=(("*", "*"),))], "penstock run --select a"),
        ([failed(), failed(error=TableError("log-gap", "gone"))], "penstock run --select a"),
    ],
)
def test_partitions_of_one_model_that_failed_their_checks_are_built_alone(results, command):
    report = a_report(a_plan(), *results)

    assert resume_command(report, RunRequest(full_refresh=False)) == command


@pytest.mark.parametrize(
    ("count", "words"), [(20, " ".join(f"m{n:02}" for n in range(20))), (21, "+c")]
)
def test_more_than_twenty_models_are_selected_as_they_were_asked_for(count, words):
    names = [f"m{n:02}" for n in range(count)]
    report = a_report(a_plan(*map(a_step, names)))

    command = resume_command(report, RunRequest(select=("+c",)))

    assert command == f"penstock run --select {words!r}".replace("'+c'", "+c")


def test_a_package_is_named_once_and_is_not_made_anew_twice():
    report = a_report(a_plan(a_step("a"), a_step("b"), a_step("c")), a_result("a"))
    asked = RunRequest(full_refresh=True)

    assert resume_command(report, asked, {"b": "pack", "c": "pack"}) == "penstock run --select pack"
    assert resume_command(report, asked, {"b": "pack"}) == (
        "penstock run --select 'pack c' --full-refresh"
    )


def test_only_a_snapshot_that_is_built_anew_asks_first():
    report = a_report(a_plan(a_step("a")), command="snapshot run")

    assert resume_command(report, SnapshotRequest(full_refresh=True)) == (
        "penstock snapshot run --select a --full-refresh --yes"
    )
    assert resume_command(report, SnapshotRequest()) == "penstock snapshot run --select a"


def test_a_sync_is_finished_where_a_step_has_not_ended_well_or_a_model_is_blocked():
    step = a_step("a", grid=DAYS, partitions=((1, 1),))
    done = a_result("a", partitions=step.keys)
    request = SyncRequest(select=("a",))

    def resumed(*results, **changes):
        return resume_sync(a_report(a_plan(step, **changes), *results), request)

    assert resumed(done) == ""
    assert resumed() == "penstock sync --select a --yes"
    assert resumed(replace(done, status="failed")) == "penstock sync --select a --yes"
    assert resumed(replace(done, partitions=FIRST)) == "penstock sync --select a --yes"
    blocked = (Blocked("b", TableError("log-gap", "gone")),)
    assert resumed(done, blocked=blocked) == "penstock sync --select a --yes"


def test_a_report_names_the_command_and_what_it_is_for():
    plan = a_plan(a_step("a"), a_step("b"), a_step("c"))
    report = a_report(plan, a_result("a"), a_result("b", "failed"))
    pack = {"b": "pack"}

    run = with_resume_command(report, RunRequest(), pack)
    sync = with_resume_command(
        report, BackfillRequest(".", "b", from_="2025-01-15", to="2025-01-16"), pack
    )
    done = with_resume_command(a_report(a_plan(a_step("a")), a_result("a")), RunRequest(), pack)

    assert (run.resume, run.left) == ("penstock run --select 'pack c'", ("pack", "c"))
    assert (sync.resume, sync.left) == (
        "penstock backfill b --from 2025-01-15 --to 2025-01-16 --yes",
        ("b", "c"),
    )
    assert (done.resume, done.left) == ("", ())
