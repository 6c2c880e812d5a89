"""Recovery notes who else changed a table, as the run would have that it finishes."""

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import DEAD, Workshop
from penstock.app.execution.recover import rebuild, recover
from penstock.core.strategy import WindowSettings
from penstock.plan.values import State
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge

EVENTS = a_source("events")
LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("n")))
USERS = a_model("users", "raw.events", strategy=Merge(("id",), None))


@pytest.fixture(params=["log", "users"])
def model(request):
    return request.param


@pytest.fixture
def workshop():
    workshop = Workshop(EVENTS, LOG, USERS)
    workshop.run()
    return workshop


def versions(workshop, model):
    return [each.version for each in workshop.records()[model].foreign]


def planned(workshop, model):
    return {step.model: step.reason.state for step in workshop.plan(model).plan.steps}


def test_a_step_that_had_committed_beside_others_is_recorded_with_them(workshop, model):
    step = workshop.begin(DEAD, model, base_version=0)
    workshop.lake.land(workshop.uri(model))
    workshop.commit(step)

    recover(workshop.services())

    assert versions(workshop, model) == [1]
    assert workshop.records()[model].settled_version == 2


def test_what_an_old_copy_forgot_is_recorded_with_what_others_did_between(workshop, model):
    old = workshop.store.archive.export()
    for n in ("2", "3"):
        workshop.lake.land(workshop.uri(model))
        workshop.lake.land("/landing/events", n=n)
        workshop.run(model)
    workshop.store.archive.load(old)

    recover(workshop.services())

    assert versions(workshop, model) == [1, 3]
    assert workshop.records()[model].settled_version == 4


def test_a_rebuilt_state_knows_what_the_logs_tell_of_others(workshop, model):
    workshop.lake.land(workshop.uri(model))
    workshop.lake.land("/landing/events", n="2")
    workshop.run(model)
    lost = Workshop(EVENTS, LOG, USERS)
    lost.lake.tables = workshop.lake.tables

    rebuild(lost.services())

    assert versions(lost, model) == versions(workshop, model) == [1]


def test_a_table_that_is_made_anew_holds_nothing_of_others(workshop, model):
    workshop.lake.trouble(model, "commit", lambda: workshop.lake.land(workshop.uri(model)))
    workshop.lake.land("/landing/events", n="2")
    workshop.run(model)
    before = versions(workshop, model)

    workshop.run(model, full_refresh=True)

    assert (before, versions(workshop, model)) == ([1], [])
    assert planned(workshop, model) == {}


def test_a_run_of_an_incremental_model_says_it_each_time_and_does_nothing(workshop, model):
    workshop.lake.trouble(model, "commit", lambda: workshop.lake.land(workshop.uri(model)))
    workshop.lake.land("/landing/events", n="2")
    first = workshop.run(model)

    later = [workshop.run(model) for _ in range(2)]

    assert f"version 1 (WRITE) of s.{model} was written by others" in first[model].notes[-1]
    assert [report.plan.is_empty for report in later] == [True, True]
    for report in later:
        assert f"penstock accept {model} --reason TEXT keeps them" in report.notes[0]


def test_the_rows_of_others_are_drift_until_then(workshop, model):
    workshop.lake.land(workshop.uri(model))

    assert planned(workshop, model) == {model: State.TAMPERED}
