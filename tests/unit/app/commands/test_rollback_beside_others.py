"""A rollback brings back what others had changed, too: it is told of as before."""

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.accept import accept
from penstock.app.commands.rollback import rollback
from penstock.app.commands.status import status
from penstock.app.request import RollbackRequest, StatusRequest
from penstock.core.strategy import WindowSettings
from penstock.plan.values import State
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table


def states(workshop):
    (model,) = status(workshop.services(), StatusRequest()).models
    return [each.state for each in model.states]


def meddled(workshop):
    """Let others change the table that was built, and a step build on that, which is undone."""
    workshop.run()
    workshop.lake.land(workshop.uri("top"))
    workshop.lake.land("/landing/events", n="2")
    workshop.run()
    undo_last(workshop)


def undo_last(workshop, **asked):
    last = workshop.store.records.steps_of("top")[-1].intent.step
    rollback(workshop.services(), RollbackRequest(workshop.project, "top", to=last, **asked))


@pytest.mark.parametrize("strategy", [Append(WindowSettings("n")), Merge(("id",), None), Table()])
def test_a_change_of_others_that_comes_back_is_told_again(strategy):
    workshop = Workshop(a_source("events"), a_model("top", "raw.events", strategy=strategy))

    meddled(workshop)

    assert State.TAMPERED in states(workshop)


def test_a_change_of_others_that_was_accepted_stays_accepted():
    workshop = Workshop(
        a_source("events"), a_model("top", "raw.events", strategy=Append(WindowSettings("n")))
    )
    workshop.run()
    workshop.lake.land(workshop.uri("top"))
    accept(workshop.services(), "top", "seen")
    workshop.lake.land("/landing/events", n="2")
    workshop.run()

    undo_last(workshop)

    assert states(workshop) == [State.SOURCE_CHANGED]


def test_a_change_of_others_that_was_undone_with_the_step_is_told_no_more():
    workshop = Workshop(a_source("events"), a_model("top", "raw.events"))
    workshop.run()
    workshop.lake.land("/landing/events", n="2")
    workshop.run()
    workshop.lake.land(workshop.uri("top"))

    undo_last(workshop, include_foreign=True)

    assert states(workshop) == [State.SOURCE_CHANGED]


def test_what_was_accepted_of_a_table_that_is_gone_says_nothing_of_the_next_one():
    workshop = Workshop(
        a_source("events"), a_model("top", "raw.events", strategy=Append(WindowSettings("n")))
    )
    workshop.run()
    for _ in range(5):
        workshop.lake.land(workshop.uri("top"))
    accept(workshop.services(), "top", "seen")
    del workshop.lake.tables[workshop.uri("top")]

    meddled(workshop)

    assert State.TAMPERED in states(workshop)
