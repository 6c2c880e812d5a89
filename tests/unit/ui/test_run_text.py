"""The text of `run`: a line per event, then the summary."""

from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.events import RunStarted, Said, StepEnded, StepStarted
from penstock.core.errors import DataError
from penstock.core.findings import Location
from penstock.core.step import RowCounts
from penstock.ui.progress import TextLines
from penstock.ui.text_run import result_line, run_text

NULL_KEY = DataError(
    "null-key", "3 rows have no id", where=Location("models/users.sql", 4), hint="fill them"
)


def test_every_step_that_ends_gives_one_line():
    plan = a_plan(a_step("users_clean"), a_step("log"), a_step("daily"), a_step("v"))
    told: list[str] = []
    listen = TextLines(told.append)

    listen(Said("step 1 of log had committed version 7; recorded"))
    listen(RunStarted("0190a3c4", plan))
    listen(StepStarted("users_clean", "never_run"))
    listen(StepEnded(a_result("users_clean", rows=RowCounts(inserted=3), duration=2.14)))
    listen(StepEnded(a_result("log", "failed", error=NULL_KEY)))
    listen(StepEnded(a_result("daily", "skipped", reason="upstream log failed")))
    listen(StepEnded(a_result("v", strategy="view", duration=0.04)))

    assert told == [
        "step 1 of log had committed version 7; recorded",
        "[1/4] users_clean  never_run  3 rows  2.1 s",
        "[2/4] log          FAILED  null-key: 3 rows have no id",
        "[3/4] daily        skipped: upstream log failed",
        "[4/4] v            never_run  0.0 s",
    ]


def test_verbose_lines_tell_of_the_run_and_of_each_start():
    told: list[str] = []
    listen = TextLines(told.append, verbose=True)

    listen(RunStarted("0190a3c4", a_plan(a_step("users"))))
    listen(StepStarted("users", "never_run"))

    assert told == ["run 0190a3c4  2024-03-01 12:00:00 UTC", "      users  never_run"]


def test_a_merge_tells_what_became_of_its_rows():
    result = a_result(
        "users",
        reason="source_changed: raw.users v1 -> v2",
        strategy="merge",
        rows=RowCounts(inserted=1, updated=2, late=4),
        schema_changes=("+ age INT",),
        duration=75.2,
    )

    assert result_line(1, result, a_plan(a_step("users"))) == (
        "[1/1] users  source_changed: raw.users v1 -> v2  1 inserted, 2 updated, 4 late"
        "  + age INT  1 min 15 s"
    )


def test_a_step_without_a_commit_says_no_change():
    result = a_result("log", "unchanged", reason="source_changed", duration=0.5)

    assert result_line(1, result, a_plan(a_step("log"))) == (
        "[1/1] log  source_changed  no change  0.5 s"
    )


def test_a_failed_run_ends_with_the_command_that_resumes_it():
    plan = a_plan(a_step("users"), a_step("log"), a_step("daily"), current=("old",))
    report = a_report(
        plan,
        a_result("old", "unchanged"),
        a_result("users"),
        a_result("log", "failed", error=NULL_KEY),
        a_result("daily", "skipped", reason="upstream log failed"),
        log_path=".penstock/logs/0190a3c4.log",
        resume="penstock run --select 'log daily'",
    )

    assert run_text(report) == (
        "models/users.sql:4: null-key: 3 rows have no id\n"
        "  hint: fill them\n"
        "Log: .penstock/logs/0190a3c4.log\n"
        "Done: 1 step. 1 failed, 1 skipped.\n"
        "Resume: penstock run --select 'log daily'"
    )


def test_a_run_that_went_well_counts_its_steps_and_says_what_it_left():
    plan = a_plan(a_step("users"), a_step("log"))
    report = a_report(
        plan, a_result("users"), a_result("log", "unchanged", notes=("old rows stay",))
    )

    assert run_text(report) == "log: old rows stay\nDone: 1 step. 1 unchanged."


def test_an_interrupted_run_says_so():
    report = a_report(
        a_plan(a_step("users")), interrupted=True, resume="penstock run --select users"
    )

    assert run_text(report) == ("Interrupted.\nDone: 0 steps.\nResume: penstock run --select users")


def test_J6_a_run_of_nothing_says_so():
    assert run_text(a_report(a_plan(current=("a",)))) == "nothing to do (1 model up to date)"
