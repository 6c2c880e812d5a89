"""Begin, commit, finish when something goes wrong in between."""

import datetime as dt
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.place import statuses
from fakes.services import an_intent
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.events import Said
from penstock.app.execution.commit import Committer, Ended
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.core.check_results import Checked
from penstock.core.checks.check import OnFailure
from penstock.core.errors import ConcurrentWriterError, LeaseLostError, QueryError
from penstock.core.records import Status
from penstock.core.statement import Commit
from penstock.core.steps.step import Outcome, StepFailure, StepKind
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")
LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("n")))
FAILURE = StepFailure("check-failed", "a gate failed")
CONFLICT = ConcurrentWriterError("concurrent-writer", "somebody else committed")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("penstock.state.patience._PAUSES", (0.0,) * 3)
    monkeypatch.setattr("penstock.app.commands.runner._CONFLICT_PAUSES", (0.0, 0.0, 0.0))


@pytest.fixture
def workshop():
    return Workshop(EVENTS, TOP)


def another_run_tries(workshop):
    step = workshop.begin(ELSEWHERE, "top").step
    workshop.store.journal.fail(step, StepFailure("x", "x"))


def test_a_target_that_another_run_writes_is_refused_naming_the_holder(workshop):
    workshop.begin(ELSEWHERE, "top")

    error = workshop.run()["top"].error

    assert error.code == "lease-held"
    assert error.sentence == (
        "s.top is being written by run run-other (host host-b, pid 22) "
        "since 2024-03-01 12:00:00 UTC"
    )


def test_a_target_that_another_run_writes_is_refused_before_spark_starts(workshop):
    workshop.begin(ELSEWHERE, "top")

    workshop.run()

    assert [word for name, word, _ in workshop.lake.ran if name == "top"] == []


def test_an_append_says_who_else_wrote_the_table_between_its_look_and_its_commit():
    workshop = Workshop(EVENTS, LOG)
    workshop.run()
    workshop.lake.land("/landing/events", n="2")
    workshop.lake.trouble("log", "commit", lambda: workshop.lake.land(workshop.uri("log")))

    report = workshop.run()

    assert statuses(report) == {"log": "success"}
    (note,) = report["log"].notes
    assert note == (
        "tampered: version 1 (WRITE) of s.log was written by others during the step; "
        "penstock status"
    )


def test_a_run_that_waits_finds_nothing_to_do_when_the_other_has_built_it(workshop, monkeypatch):
    step = workshop.begin(ELSEWHERE, "top")

    def other_run_ends(seconds):
        version = workshop.commit(step)
        table = workshop.lake.tables[step.uri].table_id
        workshop.store.journal.finish(step.step, Outcome(version, table, version))

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=other_run_ends)
    monkeypatch.setattr("penstock.app.services.workers.time", clock)  # other threads sleep too
    report = workshop.run(wait=60)

    assert statuses(report) == {"top": "unchanged"}
    assert report["top"].reason == "another run built it"
    assert workshop.lake.commits_of("top") == []


def test_a_step_that_was_planned_on_an_older_one_is_planned_again(workshop):
    workshop.lake.trouble("top", "define", lambda: another_run_tries(workshop))

    report = workshop.run()

    assert statuses(report) == {"top": "success"}
    assert workshop.lake.commits_of("top") == ["CREATE"]
    assert [word for _, word, _ in workshop.lake.ran].count("session") == 2


def test_a_step_that_is_planned_again_reads_its_sources_as_they_are_then(workshop):
    def somebody_delivers():
        workshop.lake.land(EVENTS.path)
        another_run_tries(workshop)

    workshop.lake.trouble("top", "define", somebody_delivers)

    report = workshop.run()

    assert [str(pin.pin) for pin in report["top"].inputs] == ["v1"]
    assert workshop.run().plan.is_empty


@pytest.mark.parametrize("conflicts", [1, 3])
def test_a_conflict_is_tried_again_from_planning(workshop, conflicts):
    workshop.lake.trouble("top", "commit", *[CONFLICT] * conflicts)

    report = workshop.run()

    assert statuses(report) == {"top": "success"}
    assert workshop.lake.commits_of("top") == ["CREATE"]
    assert [e.status for e in workshop.store.records.history("top", 9)] == [
        Status.SUCCESS,
        *[Status.FAILED] * conflicts,
    ]


def test_the_fourth_conflict_fails_the_step(workshop):
    workshop.lake.trouble("top", "commit", *[CONFLICT] * 4)

    report = workshop.run()

    assert report["top"].error is CONFLICT
    assert workshop.lake.log.head("/w/s/top") is None
    assert statuses(workshop.run()) == {"top": "success"}


def test_a_store_that_is_gone_for_a_moment_is_asked_again(workshop):
    workshop.store.lose("finish", 2)

    report = workshop.run()

    assert statuses(report) == {"top": "success"}
    assert workshop.store.calls["finish"] == 3


@pytest.fixture
def impatient(workshop):
    workshop.project = replace(workshop.project, state_patience=dt.timedelta())
    return workshop


def test_a_run_says_once_that_it_waits_for_its_store_and_once_that_it_is_back(workshop):
    told = []
    workshop.store.lose("begin", 3)
    workshop.store.lose("end_run", 2)

    report = workshop.run(listener=told.append)

    away = "state-away: the state store cannot be reached; waiting up to 300 s for it"
    assert statuses(report) == {"top": "success"}
    back = "state-away: the state store answers again, after 0 s"
    assert [each.text for each in told if isinstance(each, Said)] == [away, back, away, back]


@pytest.mark.parametrize("method", ["start_run", "begin", "reject", "finish", "end_run"])
def test_a_statement_whose_answer_was_lost_is_repeated_and_nothing_is_doubled(method):
    workshop = Workshop(EVENTS, TOP)
    if method == "reject":
        workshop.lake.trouble("top", "bind", QueryError("spark-error", "no such column"))
    workshop.store.lose_answer(method)

    report = workshop.run()

    wanted = "failed" if method == "reject" else "success"
    assert statuses(report) == {"top": wanted}
    assert workshop.store.calls[method] == 2
    assert len(workshop.store.records.history("top", None)) == 1
    assert workshop.store.journal.running() == ()
    assert workshop.store.leases.taken() == ()


def test_a_step_that_was_given_up_while_its_answer_was_lost_does_not_begin_again(workshop):
    intent = replace(an_intent(workshop.project.models["top"]), run=ELSEWHERE.run)
    journal = workshop.store.journal
    journal.begin(intent, {}, ELSEWHERE, None)
    journal.fail(intent.step, StepFailure("crashed", "gone"), recovered=True)

    with pytest.raises(LeaseLostError):
        journal.begin(intent, {}, ELSEWHERE, None)


def test_a_commit_that_could_not_be_recorded_is_safe_and_says_so(impatient):
    workshop = impatient
    workshop.store.lose("finish")
    workshop.store.lose("end_run")

    report = workshop.run()

    error = report["top"].error
    assert error.code == "commit-not-recorded"
    assert "is in the table as version 0" in error.sentence
    assert error.hint == ("the data is safe; penstock recover records it once the store is back")
    assert report.notes == ("error: state-unreachable: the state store cannot be reached",)
    assert not report.succeeded


def test_what_was_not_recorded_is_recovered_by_the_next_command(impatient):
    workshop = impatient
    workshop.store.lose("finish")
    workshop.run()

    report = workshop.run()

    assert report.plan.is_empty
    assert report.recovered[0].endswith("of top had committed version 0; recorded")
    assert workshop.operations("top") == ["CREATE OR REPLACE TABLE AS SELECT"]


def test_a_store_that_is_gone_at_begin_starts_nothing(impatient):
    workshop = impatient
    workshop.store.lose("begin")

    report = workshop.run()

    assert report["top"].error.code == "state-unreachable"
    assert workshop.lake.log.head("/w/s/top") is None


def test_an_error_after_the_commit_was_in_the_log_is_no_failure():
    workshop = Workshop(EVENTS, LOG)
    workshop.run()
    workshop.lake.land(EVENTS.path, n="2")
    workshop.lake.trouble("log", "committed", QueryError("spark-error", "a hook failed"))

    report = workshop.run()

    assert statuses(report) == {"log": "success"}
    assert report["log"].version == 1
    assert workshop.run().plan.is_empty
    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT", "WRITE"]


def test_a_step_whose_log_cannot_be_read_is_left_for_recover():
    workshop = Workshop(EVENTS, LOG)
    workshop.run()
    table = workshop.lake.tables["/w/s/log"]
    workshop.lake.land(EVENTS.path, n="2")
    workshop.lake.trouble("log", "committed", lambda: table.damaged.add(1))

    report = workshop.run()
    table.damaged.clear()
    again = workshop.run()

    assert report["log"].error.code == "log-unreadable"
    assert again.recovered[0].endswith("of log had committed version 1; recorded")
    assert again.plan.is_empty


def test_a_step_that_lost_its_lease_does_not_commit(workshop):
    leases = workshop.store.leases
    holds = workshop.store.call

    def taken_over(method, *given, **named):
        if method == "holds":
            leases.unlock("s.top")
        return holds(method, *given, **named)

    workshop.store.call = taken_over
    report = workshop.run()

    assert report["top"].error.code == "lease-lost"
    assert workshop.lake.log.head("/w/s/top") is None


@pytest.mark.parametrize(
    ("mode", "failure", "version", "expected"),
    [
        (OnFailure.BLOCK, FAILURE, None, True),
        (OnFailure.BLOCK, FAILURE, 4, False),
        (OnFailure.BLOCK, None, None, False),
        (OnFailure.FLAG, FAILURE, None, False),
    ],
)
def test_a_step_is_held_back_by_a_gate_that_blocks_and_published_nothing(
    mode, failure, version, expected
):
    checked = Checked(mode, failure=failure)

    assert Ended(an_intent(TOP), Outcome(version), checked=checked).is_held_back is expected
    assert not Ended(an_intent(TOP), Outcome(None)).is_held_back


def test_a_change_that_comes_before_the_rows_lowers_no_watermark(workshop):
    services = workshop.services()
    context = Context(ELSEWHERE, NOON, workshop.project, ObservedTables.empty(NOON), {})
    committer = Committer(services, context, None, None)

    with services.engine.session("top") as committer.session:
        committer.alter(
            replace(an_intent(TOP), lowers_watermarks=True), Commit("ALTER TABLE x", once=False)
        )

    (step,) = workshop.store.records.steps_of("top")
    found = (step.intent.kind, step.intent.lane, step.intent.lowers_watermarks, step.status)
    assert found == (StepKind.ALTER, "alter", False, Status.SUCCESS)
