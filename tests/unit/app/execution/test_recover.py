"""Steps that a crash left open: committed, not committed, alive elsewhere, undecidable."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.place import statuses
from fakes.services import an_intent
from fakes.workshop import DEAD, ELSEWHERE, Workshop
from penstock.app.commands.status import status
from penstock.app.execution.recover import rebuild, recover, settle_as
from penstock.app.request import StatusRequest
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import TableError, UsageError
from penstock.core.records import Status
from penstock.core.steps.step import StepKind
from penstock.core.steps.window import Watermark
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")
LOG = a_model("log", "raw.events", strategy=Append(None))
MARK = Watermark("raw.events", "n", TypedValue("INT", "1"))


@pytest.fixture
def workshop():
    return Workshop(EVENTS, TOP, LOG, a_model("users", strategy=Merge(("id",), None)))


def told(workshop):
    return [*recover(workshop.services()).messages_by_step]


def test_a_step_that_had_committed_is_recorded_with_what_it_promised(workshop):
    step = workshop.begin(DEAD, "top", watermarks=(MARK,))
    workshop.commit(step)

    assert told(workshop) == ["step step-other of top had committed version 0; recorded"]

    record = workshop.records()["top"]
    assert (record.status, record.commit_version, record.rows_written) == (Status.SUCCESS, 0, 1)
    assert (record.table_id, record.watermarks) == ("id-2", (MARK,))
    assert workshop.store.leases.taken() == ()


def test_a_step_that_had_not_committed_is_failed_and_runs_once(workshop):
    workshop.begin(DEAD, "top")

    report = workshop.run("top")

    assert report.recovered == (
        "step step-other of top had not committed; marked failed (crashed)",
    )
    assert str(report.plan.steps[0].reason) == "was failed: crashed"
    assert workshop.operations("top") == ["CREATE OR REPLACE TABLE AS SELECT"]


def test_a_commit_of_somebody_else_after_the_crash_is_not_taken_for_the_steps(workshop):
    workshop.begin(DEAD, "top")
    workshop.lake.land("/w/s/top")

    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def test_nothing_open_is_nothing_to_do(workshop):
    assert told(workshop) == []


def test_a_living_run_on_another_host_is_left_alone_until_its_lease_lapses(workshop):
    workshop.begin(ELSEWHERE, "top")

    before = told(workshop)
    workshop.clock.advance(seconds=61)

    assert before == []
    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def test_a_dead_run_on_this_host_is_taken_over_at_once(workshop):
    workshop.begin(DEAD, "top")

    assert statuses(workshop.run("top")) == {"top": "success"}


def test_a_step_whose_lease_somebody_dropped_is_settled(workshop):
    workshop.begin(ELSEWHERE, "top")
    workshop.store.leases.unlock("s.top")

    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def with_a_gap(workshop, model, **changes):
    """Leave a step of the model open whose part of the log is gone."""
    workshop.run()
    step = workshop.begin(DEAD, model, base_version=0, **changes)
    workshop.commit(step)
    workshop.lake.land(step.uri)
    workshop.lake.tables[step.uri].gone.add(1)


@pytest.mark.parametrize("model", ["log", "users"])
def test_an_open_step_whose_log_is_gone_is_undecidable_where_rows_could_double(workshop, model):
    with_a_gap(workshop, model)

    error = recover(workshop.services()).stuck[model]

    assert error.code == "undecidable-step"
    assert f"step step-other of {model} was left open" in error.sentence
    assert f"penstock run --select {model} --full-refresh" in error.hint


def test_a_step_that_replaces_its_table_is_simply_run_again(workshop):
    with_a_gap(workshop, "top")

    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def test_a_step_that_only_set_properties_is_simply_run_again(workshop):
    with_a_gap(workshop, "log", kind=StepKind.ALTER)

    assert told(workshop) == ["step step-other of log had not committed; marked failed (crashed)"]


def test_a_damaged_log_is_told_as_what_it_is(workshop):
    step = workshop.begin(DEAD, "log")
    workshop.commit(step)
    workshop.lake.tables[step.uri].damaged.add(0)

    error = recover(workshop.services()).stuck["log"]

    assert error.code == "log-unreadable"
    assert [each.status for each in workshop.store.journal.running()] == [Status.RUNNING]


def test_a_step_that_is_called_failed_is_fenced_first(workshop):
    workshop.run("log")
    step = workshop.begin(DEAD, "log", base_version=0)
    told(workshop)

    table = workshop.lake.tables[step.uri]
    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT", "FENCE"]
    assert table.transactions[step.transaction] == step.step_seq
    assert workshop.run("log").plan.is_empty is False
    assert workshop.operations("log")[2:] == ["WRITE"]
    assert workshop.run("log").plan.is_empty


def test_a_commit_that_lands_while_the_fence_is_put_up_is_recorded(workshop):
    workshop.run("log")
    step = workshop.begin(DEAD, "log", base_version=0)
    services = workshop.services()
    put_up = services.fences.fence

    def fence(*pair):
        workshop.commit(step)
        return put_up(*pair)

    services.fences.fence = fence

    assert [*recover(services).messages_by_step] == [
        "step step-other of log had committed version 1; recorded"
    ]


def test_steps_that_the_store_forgot_are_recorded_before_anything_is_written(workshop):
    workshop.run("log")
    old = workshop.store.archive.export()
    workshop.lake.land("/landing/events", n="2")
    workshop.run("log")
    workshop.store.archive.load(old)
    workshop.lake.land("/landing/events", n="3")

    report = workshop.run("log")

    assert [line.partition(" of log ")[2] for line in report.recovered] == [
        "had made version 1 of its table, and the state did not know it; recorded"
    ]
    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT", "WRITE", "WRITE"]
    assert workshop.records()["log"].settled_version == 2
    assert workshop.run("log").plan.is_empty


def test_a_table_that_was_made_and_holds_no_row_is_recorded_too(workshop):
    old = workshop.store.archive.export()
    workshop.run("log")
    (uri,) = (uri for uri in workshop.lake.tables if uri.endswith("log"))
    (made,) = workshop.lake.tables[uri].commits
    workshop.lake.tables[uri].commits[:] = [replace(made, changes_data=False)]
    workshop.store.archive.load(old)

    assert [line.partition(" of log ")[2] for line in told(workshop)] == [
        "had made version 0 of its table, and the state did not know it; recorded"
    ]
    assert workshop.records()["log"].settled_version == 0


def test_a_copy_that_was_put_back_by_hand_gives_out_no_number_that_delta_has_seen(workshop):
    workshop.run("log")
    step = workshop.begin(ELSEWHERE, "log", base_version=0)
    table = workshop.lake.tables[step.uri]
    table.transactions[step.transaction] = 9
    workshop.store.leases.unlock("s.log")
    workshop.lake.land("/landing/events", n="2")

    assert statuses(workshop.run("log")) == {"log": "success"}
    assert table.transactions[step.transaction] == 10


def test_a_statement_that_delta_skipped_is_an_error_and_nothing_is_recorded(workshop):
    workshop.run("log")
    before = workshop.records()["log"]
    workshop.lake.land("/landing/events", n="2")
    table = workshop.lake.tables[workshop.uri("log")]

    def overtake():
        epoch = workshop.store.archive.epoch()
        table.transactions[f"{epoch}/s.log"] = 99

    workshop.lake.trouble("log", "commit", overtake)
    report = workshop.run("log")

    assert report["log"].error.code == "commit-skipped"
    assert workshop.records()["log"].pins == before.pins
    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT"]


def test_the_place_of_a_table_is_asked_for_and_not_read_from_an_intent(workshop):
    workshop.run("log")
    step = workshop.begin(DEAD, "log", base_version=0, uri="/elsewhere/s/log")
    workshop.commit(replace(step, uri=workshop.uri("log")))

    assert told(workshop) == ["step step-other of log had committed version 1; recorded"]


def test_an_append_whose_table_is_not_there_any_more_is_undecidable(workshop):
    workshop.run("log")
    step = workshop.begin(DEAD, "log", base_version=0)
    del workshop.lake.tables[step.uri]

    assert recover(workshop.services()).stuck["log"].code == "undecidable-step"


def test_other_models_run_beside_one_that_is_undecidable(workshop):
    with_a_gap(workshop, "log")
    workshop.lake.land("/landing/events", n="2")

    report = workshop.run()

    assert statuses(report) == {"log": "failed", "top": "success", "users": "unchanged"}
    assert report["log"].error.code == "undecidable-step"
    assert workshop.run("top").plan.is_empty


def test_a_full_refresh_settles_it_and_builds_it_anew(workshop):
    with_a_gap(workshop, "log")

    report = workshop.run("log", full_refresh=True)

    assert statuses(report) == {"log": "success"}
    assert workshop.operations("log")[-1] == "CREATE OR REPLACE TABLE AS SELECT"
    assert workshop.run("log").plan.is_empty


@pytest.mark.parametrize(
    ("committed", "status", "version"),
    [(True, Status.SUCCESS, 2), (False, Status.FAILED, 0)],
)
def test_somebody_who_has_looked_says_what_became_of_it(workshop, committed, status, version):
    with_a_gap(workshop, "log")

    settle_as(workshop.services(), "step-ot", committed=committed)

    record = workshop.records()["log"]
    assert (record.status, record.settled_version) == (status, version)
    assert workshop.store.journal.running() == ()
    assert recover(workshop.services()).stuck == {}


def test_a_step_that_nobody_left_open_cannot_be_settled_by_hand(workshop):
    workshop.begin(ELSEWHERE, "top")

    with pytest.raises(UsageError) as lives:
        settle_as(workshop.services(), "step-other", committed=False)
    with pytest.raises(UsageError) as unknown:
        settle_as(workshop.services(), "nothing", committed=False)

    assert (lives.value.code, unknown.value.code) == ("step-running", "unknown-step")
    assert unknown.value.hint == "open steps: step-other"


def test_the_beginning_of_an_id_names_a_step_where_it_is_that_of_one(workshop):
    workshop.begin(DEAD, "top", "step-1")
    workshop.begin(DEAD, "log", "step-12")

    with pytest.raises(UsageError) as several:
        settle_as(workshop.services(), "step", committed=False)
    settled = [
        settle_as(workshop.services(), step, committed=False) for step in ("step-12", "step-1")
    ]

    assert several.value.sentence == "'step': 2 open steps begin with it"
    assert several.value.hint == "open steps: step-1, step-12"
    assert [(each.step, each.model, each.version) for each in settled] == [
        ("step-12", "log", None),
        ("step-1", "top", None),
    ]


def test_a_table_that_cannot_be_opened_is_the_trouble_of_its_model_alone(workshop, monkeypatch):
    workshop.begin(DEAD, "top")

    def refuse(*_given, **_named):
        raise PermissionError("not yours")

    monkeypatch.setattr("fakes.lake.FakeLog.head", refuse)
    recovery = recover(workshop.services())

    assert recovery.steps == ()
    error = recovery.stuck["top"]
    assert (error.code, error.sentence) == (
        "target-unreadable",
        "s.top cannot be read, so it is unknown whether step step-other was committed: not yours",
    )
    with pytest.raises(TableError):
        recovery.require_settled("top")
    recovery.require_settled("log")


def test_a_store_that_was_never_made_has_nothing_to_settle(workshop):
    workshop.begin(DEAD, "top")
    services = workshop.services()
    services.has_state = lambda: False

    assert recover(services).steps == ()
    assert [each.intent.step for each in workshop.store.journal.running()] == ["step-other"]


def test_status_names_a_commit_of_this_store_that_no_step_is_known_to_have_made(workshop):
    workshop.run("log")
    old = workshop.store.archive.export()
    workshop.lake.land("/landing/events", n="2")
    workshop.run("log")
    workshop.store.archive.load(old)

    reason = status(workshop.services(), StatusRequest(select=("log",))).models[0].states[0]

    assert str(reason.state) == "unrecorded"
    assert reason.because[0].startswith("version 1 is of step ")
    assert workshop.plan("log").plan.blocked[0].error.code == "unrecorded-commit"


def test_status_calls_nothing_current_that_a_crash_left_between_commit_and_record(workshop):
    workshop.run("log")
    step = workshop.begin(DEAD, "log", base_version=0)
    workshop.commit(step)

    report = status(workshop.services(), StatusRequest(select=("log",)))

    (state,) = report.models[0].states
    assert str(state.state) == "unrecorded"
    assert state.because == ("version 1 is of step step-other, which is not on record with it",)
    told(workshop)
    assert not status(workshop.services(), StatusRequest(select=("log",))).models[0].states


def test_status_is_silent_on_the_commit_of_a_run_that_lives(workshop):
    workshop.run("log")
    workshop.commit(workshop.begin(ELSEWHERE, "log", base_version=0))

    assert not status(workshop.services(), StatusRequest(select=("log",))).models[0].states


def test_a_rebuild_settles_what_a_crash_left_open_where_nothing_else_is_on_record(workshop):
    workshop.commit(workshop.begin(DEAD, "log"))
    assert str(
        status(workshop.services(), StatusRequest(select=("log",))).models[0].states[0].state
    )

    rebuild(workshop.services())

    assert not status(workshop.services(), StatusRequest(select=("log",))).models[0].states


def test_all_steps_of_a_table_that_took_the_place_of_another_are_recorded(workshop):
    """Also those of versions that the store has settled of the table that is gone."""
    workshop.run("top")
    old = workshop.records()["top"].table_id
    del workshop.lake.tables[workshop.uri("top")]
    for number in (0, 1):
        lost = replace(an_intent(TOP), step=f"lost-{number}", step_seq=90 + number)
        workshop.commit(lost)

    assert told(workshop) == [
        f"step lost-{number} of top had made version {number} of its table, "
        "and the state did not know it; recorded"
        for number in (0, 1)
    ]

    record = workshop.records()["top"]
    assert (record.step, record.commit_version) == ("lost-1", 1)
    assert record.table_id != old
