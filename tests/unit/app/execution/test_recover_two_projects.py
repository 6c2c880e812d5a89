"""Several projects on one warehouse: none takes the tables of another one unless it is told to."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.clock import FixedClock
from fakes.services import an_intent
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.execution.recover import RebuildReport, rebuild
from penstock.app.request import SnapshotRequest, StatusRequest
from penstock.core.history import ColumnsDiffer
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.steps.token import write_token
from penstock.core.strategy import WindowSettings
from penstock.plan.history import PROPERTY, property_of
from penstock.strategies.append import Append
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.merge import Merge
from penstock.ui.commands.status import status_text

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")
LOG = a_model("log", "raw.events", strategy=Append(WindowSettings("n")))
USERS = a_model("users", "raw.events", strategy=Merge(("id",), None))
HISTORY = a_model("history", "raw.events", strategy=Snapshot(("id",), ColumnsDiffer(None)))
MODELS = (TOP, LOG, USERS)
NAMES = ("top", "log", "users")
LATER = NOON + dt.timedelta(days=1)


def another(first: Workshop, name: str = "billing", *models) -> Workshop:
    """Give a second project over the same lake, with a store of its own."""
    second = Workshop(EVENTS, *(models or MODELS), clock=FixedClock(LATER))
    second.project = replace(second.project, name=name)
    second.lake.tables = first.lake.tables
    return second


@pytest.fixture
def first():
    workshop = Workshop(EVENTS, *MODELS)
    workshop.run()
    return workshop


@pytest.fixture
def second(first):
    return another(first)


def put_in_place(first):
    """Put the table of another project, as old as ours, into the place of ours."""
    theirs = Workshop(EVENTS, *MODELS, clock=FixedClock(LATER))
    theirs.project = replace(theirs.project, name="billing")
    theirs.run("log")
    table, ours = theirs.lake.tables["/w/s/log"], first.lake.tables["/w/s/log"]
    table.table_id = "id-theirs"
    assert len(table.commits) == len(ours.commits)
    first.lake.tables["/w/s/log"] = table
    return theirs


def blocked(workshop, *select, **asked):
    found = workshop.plan(*select, **asked).plan.blocked
    return {each.model: each.error.code for each in found}


def store_of(workshop):
    return workshop.store.archive.store_id()


def commits(workshop):
    return {name: workshop.operations(name) for name in NAMES}


def told(workshop):
    return status_text(status(workshop.services(), StatusRequest()))


def edit(workshop, name):
    known = workshop.project.models[name]
    workshop.has(replace(known, fingerprint=Fingerprint("new", "new")))


def test_the_tables_of_another_project_are_refused_before_anything_is_written(first, second):
    before = commits(first)

    report = second.run()

    error = report["log"].error
    assert {each.name: each.error.code for each in report.results} == dict.fromkeys(
        NAMES, "table-of-another-store"
    )
    assert error.sentence == (
        f"s.log is written by project 'shop' (state store {store_of(first)}), "
        "whose records are not those of this one"
    )
    assert error.hint == (
        "give it another schema or alias, or the target another warehouse, or take the table from "
        "them, if they no longer write it: penstock run --select log --adopt"
    )
    assert commits(first) == before
    assert not report.succeeded


def test_status_names_the_project_that_a_table_belongs_to(first, second):
    assert (
        "log: foreign_table\n    "
        f"the table exists and was built by project 'shop' (state store {store_of(first)})"
    ) in told(second)


@pytest.mark.parametrize("asked", [{}, {"full_refresh": True}])
def test_no_flag_but_adopt_takes_a_table_over(first, second, asked):
    assert blocked(second, **asked) == dict.fromkeys(NAMES, "table-of-another-store")
    assert told(first).endswith("All current ✓")


def test_a_rebuild_of_the_state_does_not_take_over_what_another_project_made(first, second):
    report = rebuild(second.services())

    assert report == RebuildReport(0, (), NAMES)
    assert blocked(second) == dict.fromkeys(NAMES, "table-of-another-store")


def test_a_model_with_another_table_as_the_hint_says_is_built_beside_them(first, second):
    second.has(replace(LOG, table=TableName("billing", "log")))

    report = second.run("log")

    assert report["log"].status == "success"
    assert told(first).endswith("All current ✓")


@pytest.mark.parametrize("name", ["top", "users"])
def test_adopt_says_what_it_means_and_then_the_other_project_is_refused(first, second, name):
    report = second.run(name, adopt=True)
    edit(first, name)

    assert report[name].status == "success"
    assert (
        f"takes the table from project 'shop' (state store {store_of(first)}), "
        "whose next run will be refused"
    ) in report[name].notes
    assert blocked(first, name) == {name: "table-of-another-store"}
    assert f"{name}: tampered" in told(first)


def test_an_append_that_is_adopted_asks_how_far_it_goes(second):
    report = second.run("log", adopt=True)

    assert report["log"].error.code == "adopt-needs-watermark"


def test_two_stores_of_one_project_are_told_apart_once_both_know_the_table(first):
    copy = another(first, "shop")
    assert blocked(copy) == dict.fromkeys(NAMES, "unrecorded")
    rebuild(copy.services())
    edit(copy, "top")
    assert copy.run("top")["top"].status == "success"

    refused = first.plan("top").plan.blocked[0].error

    assert refused.code == "table-of-another-store"
    assert f"project 'shop' (state store {store_of(copy)})" in refused.sentence
    assert "or name that store's database as `state` of the target" in refused.hint


def test_a_table_that_another_store_put_in_the_place_of_ours_is_tampered(first):
    theirs = put_in_place(first)

    assert (
        "log: tampered\n"
        "    another table took its place, of project 'billing' "
        f"(state store {store_of(theirs)})\n"
    ) in told(first)
    assert blocked(first) == {"log": "table-of-another-store"}


def test_a_table_that_took_the_place_of_ours_is_replaced_when_it_is_adopted(first):
    put_in_place(first)

    (step,) = first.plan("log", adopt=True).plan.steps

    assert step.initial


@pytest.mark.parametrize("full_refresh", [False, True])
def test_the_history_of_another_project_is_not_built_on_nor_made_anew(full_refresh):
    first = Workshop(EVENTS, HISTORY)
    first.lake.land("/w/s/history", "id int", write_token(an_intent(HISTORY), *first.signature()))
    table = first.lake.tables["/w/s/history"]
    table.properties[PROPERTY] = property_of(HISTORY)
    second = another(first, "billing", HISTORY)

    assert blocked(second, snapshot=SnapshotRequest(), full_refresh=full_refresh) == {
        "history": "table-of-another-store"
    }
