"""Models that are not built in this target are read from another one, and compared with it."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.two_targets import two_targets
from fakes.workshop import DEAD
from penstock.app.execution.recover import recover
from penstock.core.errors import StateAwayError, StateError, UsageError
from penstock.core.model import Fingerprint
from penstock.core.records import Status
from penstock.core.steps.inputs import DeferredInput, DeltaPin, InputPin
from penstock.core.steps.token import read_intent
from penstock.strategies.view import View

EVENTS = a_source("events")
USERS = a_model("users", "raw.events")
ORDERS = a_model("orders", "users")
CHANGED = replace(USERS, fingerprint=Fingerprint("new", "new"))


@pytest.fixture
def targets():
    dev, prod = two_targets(EVENTS, USERS, ORDERS)
    prod.run()
    return dev, prod


def test_a_model_that_is_not_built_here_is_read_from_the_other_target(targets):
    dev, prod = targets

    report = dev.run("orders", defer_to="prod")

    table = dev.lake.tables["/prod/s/users"].table_id
    step = dev.last_step("orders")
    assert report["orders"].status == "success"
    assert step.intent.inputs == (InputPin("users", DeltaPin(table, 0)),)
    assert step.intent.deferred == (DeferredInput("users", "prod", "/prod/s/users"),)
    assert dev.records()["orders"].deferred == step.intent.deferred
    assert "/dev/s/users" not in dev.lake.tables
    assert len(dev.lake.tables["/prod/s/users"].commits) == 1
    assert prod.records()["users"].step_seq == 1


def test_the_plan_says_what_is_read_from_the_other_target_and_at_which_version(targets):
    dev, prod = targets
    prod.has(CHANGED)
    prod.run("users")

    planned = dev.plan("orders", defer_to="prod")

    assert planned.said == ("read from target prod: users v1",)
    (deferred,) = planned.plan.deferred
    assert deferred.source == DeferredInput("users", "prod", "/prod/s/users")
    assert deferred.pin.version == 1


def test_a_step_reads_the_version_that_the_plan_saw(targets):
    dev, _prod = targets

    def prod_writes(event):
        if type(event).__name__ == "RunStarted":
            dev.lake.land("/prod/s/users")

    dev.run("orders", defer_to="prod", listener=prod_writes)

    assert len(dev.lake.tables["/prod/s/users"].commits) == 2
    assert dev.last_step("orders").intent.inputs[0].pin.version == 0


def test_after_the_run_there_is_nothing_left_to_do(targets):
    dev, _ = targets
    dev.run("orders", defer_to="prod")

    assert dev.plan("orders", defer_to="prod").plan.is_empty
    assert dev.plan("orders").plan.is_empty
    assert dev.states(defer_to="prod") == {"users": "never_run", "orders": "current"}
    assert dev.states() == {"users": "never_run", "orders": "current"}


def test_status_says_where_readers_of_an_unbuilt_model_read(targets):
    dev, _ = targets
    dev.run("orders", defer_to="prod")

    users = dev.status().models[0]

    assert users.lines == ("not built here; its readers read target prod at v0",)


def test_a_change_in_the_other_target_is_drift_here(targets):
    dev, prod = targets
    dev.run("orders", defer_to="prod")
    prod.has(CHANGED)
    prod.run("users")

    assert dev.states()["orders"] == "upstream_changed"
    assert [s.model for s in dev.plan("orders", defer_to="prod").plan.steps] == ["orders"]

    dev.run("orders", defer_to="prod")

    assert dev.last_step("orders").intent.inputs[0].pin.version == 1
    assert dev.states()["orders"] == "current"


def test_a_commit_of_the_other_target_that_changes_no_rows_is_no_drift(targets):
    dev, prod = targets
    dev.run("orders", defer_to="prod")
    prod.lake.write("/prod/s/users", "OPTIMIZE", None, "")

    assert dev.states()["orders"] == "current"
    assert dev.plan("orders", defer_to="prod").plan.is_empty


def test_a_run_without_the_flag_reads_nothing_there_and_names_the_flag(targets):
    dev, prod = targets
    dev.run("orders", defer_to="prod")
    prod.has(CHANGED)
    prod.run("users")

    (blocked,) = dev.plan("orders").plan.blocked

    assert blocked.error.code == "upstream-not-built"
    assert blocked.error.hint == "read it from there again: --defer-to prod"


def test_once_the_model_is_built_here_its_readers_drift_and_read_it_here(targets):
    dev, _ = targets
    dev.run("orders", defer_to="prod")

    dev.run("users")

    assert dev.states() == {"users": "current", "orders": "upstream_changed"}
    dev.run("orders", defer_to="prod")
    assert dev.last_step("orders").intent.deferred == ()
    assert dev.records()["orders"].pins["users"].table_id == dev.records()["users"].table_id
    assert dev.states() == {"users": "current", "orders": "current"}


def test_a_model_that_the_run_builds_is_not_read_elsewhere(targets):
    dev, _ = targets

    planned = dev.plan(defer_to="prod")
    dev.run(defer_to="prod")

    assert planned.plan.deferred == ()
    assert [step.model for step in planned.plan.steps] == ["users", "orders"]
    assert dev.last_step("orders").intent.deferred == ()


def test_a_view_that_is_not_built_here_is_read_through_with_the_tables_below_it():
    view = a_model("recent", "users", strategy=View())
    dev, prod = two_targets(EVENTS, USERS, view, a_model("orders", "recent"))
    prod.run()

    report = dev.run("orders", defer_to="prod")

    assert report["orders"].status == "success"
    assert [each.input for each in dev.last_step("orders").intent.deferred] == ["recent", "users"]
    assert dev.plan("orders", defer_to="prod").plan.is_empty
    assert dev.states()["orders"] == "current"


def test_a_model_that_neither_target_has_stops_its_readers():
    dev, prod = two_targets(EVENTS, USERS, ORDERS)
    dev.others["prod"] = prod

    (blocked,) = dev.plan("orders", defer_to="prod").plan.blocked

    assert blocked.error.code == "upstream-not-built"


def test_a_target_without_a_state_is_an_error_with_a_hint(targets):
    dev, prod = targets
    prod.has_state = False

    with pytest.raises(StateError) as caught:
        dev.plan("orders", defer_to="prod")

    assert caught.value.code == "no-state"
    assert caught.value.hint == "build it first: penstock run --target prod"


@pytest.mark.parametrize(
    ("target", "code"), [("prdo", "unknown-target"), ("dev", "option-conflict")]
)
def test_a_target_that_is_unknown_or_this_one_is_an_error(targets, target, code):
    dev, _ = targets

    with pytest.raises(UsageError) as caught:
        dev.plan("orders", defer_to=target)

    assert caught.value.code == code


def test_status_goes_on_while_the_other_target_cannot_be_read(targets):
    dev, prod = targets
    dev.run("orders", defer_to="prod")

    def away():
        raise StateAwayError("state-unreachable", "the state of prod does not answer")

    prod.services = lambda: replace_services(prod, away)

    assert dev.states()["orders"] == "current"
    assert dev.notes[0].startswith("target prod cannot be read, so changes there are unknown")


def replace_services(target, away):
    services = type(target).services(target)
    services.has_state = away
    return services


def test_a_target_that_lost_the_table_is_drift_of_its_readers(targets):
    dev, prod = targets
    dev.run("orders", defer_to="prod")
    del prod.lake.tables["/prod/s/users"]

    (state,) = dev.status().models[1].states

    assert str(state.state) == "upstream_changed"
    assert state.because == ("users, which target prod had",)


def test_a_step_that_a_crash_left_open_is_settled_with_what_it_read(targets):
    dev, _ = targets
    dev.lake.signature = dev.signature
    read = (DeferredInput("users", "prod", "/prod/s/users"),)
    dev.commit(dev.begin(DEAD, "orders", uri="/dev/s/orders", deferred=read))

    recover(dev.services())

    record = dev.records()["orders"]
    assert (record.status, record.deferred) == (Status.SUCCESS, read)


def test_records_that_were_lost_are_rebuilt_with_what_was_read(targets):
    dev, _ = targets
    dev.run("orders", defer_to="prod")
    read = dev.records()["orders"].deferred
    token = dev.lake.tables["/dev/s/orders"].commits[-1].token

    assert read_intent(token).deferred == read
