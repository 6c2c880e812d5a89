"""Which changes bring a history up to date, and why all rows are read instead."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project, a_source, a_success
from penstock.core.history import ColumnsDiffer, Retention
from penstock.core.names import InputKind, InputName
from penstock.core.query import RUN_TIMESTAMP, Query
from penstock.core.steps.inputs import DeltaPin, FilesPin, ViewPin
from penstock.plan.history import FeedRange, feed_notes, feed_range
from penstock.plan.values import Options
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.view import View

FED = Snapshot(("id",), ColumnsDiffer(None), change_feed=True)
RAW, OTHER = a_source("events"), a_source("others")
READ, NOW = DeltaPin("id-events", 3), DeltaPin("id-events", 7)
NEW, CLEAN = (InputName(InputKind.SOURCE, "raw.events"), InputName(InputKind.MODEL, "clean"))


def asked(model, *others, record=None, pins=None, options=None):
    project = a_project(model, RAW, OTHER, *others)
    made = a_success(model, raw__events=READ) if record is None else record
    now = {"raw.events": NOW} if pins is None else pins
    return feed_range(project, model, made, now, options or Options())


def users(*inputs, **changes):
    return a_model("users", *(inputs or ("raw.events",)), strategy=FED, **changes)


def reading(text, incremental=""):
    return users(query=Query(text, incremental or text, text, (NEW,)))


def test_the_changes_since_the_version_that_the_last_run_read_suffice():
    assert asked(users()) == FeedRange("raw.events", 3, 7)
    assert str(asked(users())) == "the changes of raw.events since version 3"


def test_a_view_in_between_may_not_have_been_built_again():
    view = a_model("clean", "raw.events", strategy=View())
    model = users("clean")
    record = a_success(model, clean=ViewPin(4), raw__events=READ)

    same, other = (
        asked(model, view, record=record, pins={"clean": ViewPin(n), "raw.events": NOW})
        for n in (4, 5)
    )

    assert same == FeedRange("raw.events", 3, 7)
    assert other == "a view that it reads was built again"


@pytest.mark.parametrize(
    ("pins", "why"),
    [
        ({"raw.events": DeltaPin("id-new", 7)}, "raw.events is another table now"),
        (
            {"raw.events": DeltaPin("id-events", 2)},
            "the last run read a later version of raw.events",
        ),
        ({"raw.events": FilesPin("d", 1)}, "raw.events is not a Delta table"),
        ({}, "raw.events is not a Delta table"),
    ],
)
def test_another_table_or_none_has_no_changes(pins, why):
    assert asked(users(), pins=pins) == why


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (users("raw.events", "raw.others"), "it reads 2 tables"),
        (reading("select 1", "select 2"), "its query reads other rows in other runs"),
        (reading(f"select {RUN_TIMESTAMP} as t"), "its query reads other rows in other runs"),
        (
            users(query=Query("a", "a", "a", (NEW,), deleted_flags=((NEW, "gone"),))),
            "its query reads other rows in other runs",
        ),
    ],
)
def test_rows_that_do_not_follow_from_the_changes_are_all_read(model, why):
    assert asked(model) == why


def test_other_code_no_record_and_retention_need_all_rows():
    model = users()
    made = a_success(model, raw__events=READ)
    coded = replace(made, fingerprint=replace(model.fingerprint, settings="others"))
    cosmetic = replace(made, fingerprint=replace(model.fingerprint, sql="other words"))

    assert asked(model, record=coded) == "its code changed"
    assert asked(model, record=cosmetic) == FeedRange("raw.events", 3, 7)
    assert asked(model, record=replace(made, step_seq=0)) == "no run is on record"
    prune = Options(retention=Retention(keep_last=1))
    assert asked(model, options=prune) == "retention needs every version"


def test_a_plan_says_how_the_input_is_read_if_the_model_asks_for_changes():
    model, plain = users(), replace(users(), strategy=replace(FED, change_feed=False))
    project, record = a_project(model, RAW), a_success(model, raw__events=READ)

    def notes(of, pin):
        return feed_notes(project, of, record, {"raw.events": pin}, Options())

    assert notes(model, NOW) == ("reads the changes of raw.events since version 3",)
    assert notes(model, FilesPin("d", 1)) == ("reads all rows: raw.events is not a Delta table",)
    assert notes(plain, NOW) == ()
