"""Steps that a crash left open: committed, not committed, alive elsewhere, undecidable."""

import pytest

from fakes.builders import a_model, a_source
from fakes.place import statuses
from fakes.workshop import DEAD, ELSEWHERE, Workshop
from penstock.app.recover import recover
from penstock.core.errors import TableError
from penstock.core.model import Append, Merge
from penstock.core.records import Status
from penstock.core.step import StepKind
from penstock.core.typed import TypedValue
from penstock.core.window import Watermark

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")
LOG = a_model("log", "raw.events", strategy=Append(None))
MARK = Watermark("raw.events", "n", TypedValue("INT", "1"))


@pytest.fixture
def workshop():
    return Workshop(EVENTS, TOP, LOG, a_model("users", strategy=Merge(("id",), None)))


def told(workshop):
    return [str(each) for each in recover(workshop.shop())]


def test_T1_a_step_that_had_committed_is_recorded_with_what_it_promised(workshop):
    step = workshop.begin(DEAD, "top", watermarks=(MARK,))
    workshop.commit(step)

    assert told(workshop) == ["step step-other of top had committed version 0; recorded"]

    record = workshop.records()["top"]
    assert (record.status, record.commit_version, record.rows_written) == (Status.SUCCESS, 0, 1)
    assert (record.table_id, record.watermarks) == ("id-2", (MARK,))
    assert workshop.store.journal.leases() == ()


def test_T2_a_step_that_had_not_committed_is_failed_and_runs_once(workshop):
    workshop.begin(DEAD, "top")

    report = workshop.run("top")

    assert report.recovered == (
        "step step-other of top had not committed; marked failed (crashed)",
    )
    assert str(report.plan.steps[0].reason) == "failed: crashed"
    assert workshop.operations("top") == ["CREATE OR REPLACE TABLE AS SELECT"]


def test_a_commit_of_somebody_else_after_the_crash_is_not_taken_for_the_steps(workshop):
    workshop.begin(DEAD, "top")
    workshop.lake.land("/w/s/top")

    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def test_nothing_open_is_nothing_to_do(workshop):
    assert told(workshop) == []


def test_T5_a_living_run_on_another_host_is_left_alone_until_its_lease_lapses(workshop):
    workshop.begin(ELSEWHERE, "top")

    before = told(workshop)
    workshop.clock.advance(seconds=61)

    assert before == []
    assert told(workshop) == ["step step-other of top had not committed; marked failed (crashed)"]


def test_T5_a_dead_run_on_this_host_is_taken_over_at_once(workshop):
    workshop.begin(DEAD, "top")

    assert statuses(workshop.run("top")) == {"top": "success"}


def test_a_step_whose_lease_somebody_dropped_is_settled(workshop):
    workshop.begin(ELSEWHERE, "top")
    workshop.store.journal.unlock("s.top")

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

    with pytest.raises(TableError) as caught:
        recover(workshop.shop())

    assert caught.value.code == "undecidable-step"
    assert f"step step-other of {model} was left open" in caught.value.sentence
    assert f"penstock run --select {model} --full-refresh" in caught.value.hint


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

    with pytest.raises(TableError) as caught:
        recover(workshop.shop())

    assert caught.value.code == "log-unreadable"
    assert [each.status for each in workshop.store.journal.running()] == [Status.RUNNING]
