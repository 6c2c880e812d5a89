"""What every state store promises to a reader: one state over all that it reads."""

import threading

import pytest

from contracts.store_cases import HERE, OTHER, days, failed_gate, intent, succeed, with_mark, wrote
from fakes.builders import a_model, a_project
from fakes.services import a_shop
from penstock.app.commands.status import status
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RunRequest, StatusRequest
from penstock.core.errors import PlanOutdatedError, StateError
from penstock.core.records import Holder
from penstock.plan.values import State
from penstock.state.memory import MemoryStore

USERS = a_model("users")
THEIRS = Holder("run-theirs", "host-b", 44, "bob")


@pytest.fixture
def other(store, opened):
    """Give the store as another process has it; one in memory has only this process."""
    return store if isinstance(store, MemoryStore) else opened()


class Interrupted:
    """A store in which something happens right after the first reading of its models."""

    def __init__(self, store, happens):
        self._store, self.records = store, InterruptedRecords(store.records, happens)

    def __getattr__(self, name):
        return getattr(self._store, name)


class InterruptedRecords:
    def __init__(self, records, happens):
        self._records, self._happens = records, [happens]

    def __getattr__(self, name):
        return getattr(self._records, name)

    def models(self):
        found = self._records.models()
        while self._happens:
            self._happens.pop()()
        return found


def everything(store):
    records = store.records
    return (
        records.models(),
        records.partitions(),
        records.runs("lines")["lines"],
        store.checks.flags(),
        records.history("orders", None),
        records.watermark_history("orders"),
        store.journal.running(),
        store.leases.taken(),
        store.archive.export(),
    )


def test_what_others_write_is_not_seen_before_the_reading_ends(store, other):
    succeed(store, with_mark(7))
    before = everything(store)

    with store.one_state():
        first = store.records.models()
        succeed(other, with_mark(9, "step-2"))
        succeed(other, days("step-3", "lines", (1, 4)))
        with store.one_state():
            within = everything(store)
        still = everything(store)

    assert (first, within, still) == (before[0], before, before)
    assert {name: each.last_step_seq for name, each in store.records.models().items()} == {
        "lines": 3,
        "orders": 2,
    }


def test_a_reading_is_of_its_own_thread(store):
    seen = []
    with store.one_state():
        store.records.models()
        succeed(store, intent())
        reader = threading.Thread(target=lambda: seen.append(store.records.models().keys()))
        reader.start()
        reader.join()
        here = store.records.models()

    assert (here, seen) == ({}, [{"orders"}])


def test_a_reading_that_breaks_off_leaves_nothing_behind(store):
    with pytest.raises(StateError), store.one_state():
        store.journal.finish("nowhere", wrote(0))
    succeed(store, intent())

    assert store.records.models().keys() == {"orders"}


def the_shop(store, happens):
    services = a_shop(a_project(USERS))
    services.open_reading = lambda: Interrupted(store, happens)
    return services


def begun(store, step="theirs"):
    """Begin a step of `users` as another run."""
    step = intent(step, "users", THEIRS)
    store.journal.begin(step, {}, THEIRS, None)
    return step


def test_status_tells_of_one_state_when_another_run_ends_in_the_middle(store, other):
    step = begun(other)

    def they_end():
        other.journal.record_checks(step.step, failed_gate("*"))
        other.journal.finish(step.step, wrote(4))

    services = the_shop(store, they_end)
    [told] = status(services, StatusRequest()).models
    [later] = status(a_shop_over(store), StatusRequest()).models

    assert ([each.state for each in told.states], told.lines) == ([State.NEVER_RUN], ())
    assert later.lines == ("flagged: 1 step (theirs): min_rows",)


def a_shop_over(store):
    services = a_shop(a_project(USERS))
    services.open_reading = lambda: store
    return services


def test_a_plan_that_was_made_on_an_old_state_is_refused(store, other):
    step = begun(other)

    planned = make_plan(
        the_shop(store, lambda: other.journal.finish(step.step, wrote(4))), RunRequest()
    )

    [ours] = planned.plan.steps
    with pytest.raises(PlanOutdatedError):
        store.journal.begin(intent("ours", "users"), {}, HERE, ours.planned_on)
    assert store.journal.running() == ()


def test_what_a_reading_holds_keeps_nobody_from_writing(store, other):
    with store.one_state():
        store.records.models()
        begun = other.journal.begin(intent(holder=OTHER), {}, OTHER, None)
        other.journal.finish("step-1", wrote(0))

    assert begun.step_seq == 1
