"""`penstock check`: checks on the rows of today, whose step is long over."""

from dataclasses import replace
from decimal import Decimal

import pytest

from fakes.builders import a_model, a_source
from fakes.check_ground import a_query, said
from fakes.workshop import Workshop
from penstock.core.checks import Check, Checks, Phase, RowCount, RowCountChange, SqlCheck
from penstock.core.findings import Location
from penstock.core.model import Append, Merge, Table, View, WindowSettings
from penstock.core.query import parameter
from penstock.core.statement import OBSERVED_ROWS

EVENTS = a_source("events")
HERE = Location("models/a.yml", 5)
WINDOW = WindowSettings("n")
LOG, USERS = Append(WINDOW), Merge(("id",), WINDOW)
SINCE = Check(
    "since",
    Phase.AFTER,
    SqlCheck(a_query(f"select 1 where 5 between {parameter('start_date')} and 9")),
    HERE,
    definition="d",
)
SINCE_EVER = Check("rows", Phase.AFTER, RowCount(0), HERE, definition="e")
GROWTH = Check("growth", Phase.AFTER, RowCountChange(Decimal(1)), HERE, definition="d")
THERE = Check("there", Phase.BEFORE, RowCount(1), HERE, definition="d", input=EVENTS.input_name)


def a_workshop(strategy, *after, before=(), **changes):
    made = a_model("a", "raw.events", strategy=strategy, checks=Checks(before, after), **changes)
    return Workshop(EVENTS, made)


def asked(workshop, part):
    return [sql for _, word, sql in workshop.lake.ran if word == "rows" and part in sql]


@pytest.mark.parametrize("strategy", [LOG, USERS])
def test_parameters_are_the_window_of_the_last_step(strategy):
    workshop = a_workshop(strategy, SINCE)
    workshop.lake.answers("select 1 where", ())
    workshop.run()
    workshop.lake.land(EVENTS.path, n="4")
    workshop.run()
    workshop.lake.ran.clear()

    report = workshop.check()

    assert said(report.results) == [("passed", "no rows")]
    [sql] = asked(workshop, "select 1 where")
    assert "select 1 where 5 between CAST('2' AS INT) and 9" in sql


def test_parameters_without_a_window_are_no_question_to_spark():
    workshop = a_workshop(Merge(("id",), None), SINCE)
    workshop.run(skip_checks=True)
    workshop.lake.ran.clear()

    report = workshop.check()

    assert said(report.results) == [("skipped", "no window is on record")]
    assert asked(workshop, "select 1 where") == []
    assert not report.ok


@pytest.mark.parametrize("strategy", [LOG, USERS, Table(overwrite_partitions=True)])
def test_a_whole_table_is_not_compared_with_the_rows_of_one_step(strategy):
    workshop = a_workshop(strategy, GROWTH)
    workshop.run()

    report = workshop.check()

    assert said(report.results) == [("skipped", "no step rows")]


@pytest.mark.parametrize("strategy", [Table(), View()])
def test_rows_that_are_replaced_each_time_are_those_of_the_step(strategy):
    workshop = a_workshop(strategy, GROWTH)
    workshop.run()
    workshop.lake.land(EVENTS.path)
    workshop.run()
    workshop.lake.answers("check_after_target", {OBSERVED_ROWS: 1})

    report = workshop.check()

    [(status, message)] = said(report.results)
    assert (status, message) != ("skipped", "no step rows")


def test_an_input_that_cannot_be_read_is_named():
    workshop = a_workshop(Table(), before=(THERE,))
    workshop.run()
    del workshop.lake.tables[EVENTS.path]

    report = workshop.check()

    why = "raw.events cannot be read: source raw.events has no Delta table: /landing/events"
    assert report.models[0].lines == (why,)
    assert not report.ok


def test_a_view_over_what_is_gone_fails_its_checks():
    workshop = a_workshop(View(), replace(THERE, phase=Phase.AFTER, input=None))
    workshop.run()
    del workshop.lake.tables[EVENTS.path]

    report = workshop.check()

    assert said(report.results) == [
        ("failed", "could not be evaluated: what the view reads cannot be read")
    ]


def test_a_mistake_of_ours_is_not_taken_for_a_missing_input(monkeypatch):
    workshop = a_workshop(Table(), before=(THERE,))
    workshop.run()

    def pin_names(*_):
        raise KeyError("a bug")

    monkeypatch.setattr("penstock.app.check.pin_names", pin_names)

    with pytest.raises(KeyError):
        workshop.check()


@pytest.mark.parametrize(
    ("record", "artifacts", "looks"),
    [(True, ["manifest.json", "run_results.json"], 2), (False, [], 1)],
)
def test_without_record_no_trace_is_left(record, artifacts, looks):
    workshop = a_workshop(Table(), SINCE_EVER)
    workshop.run()

    report = workshop.check(record=record)

    assert report.results
    assert workshop.artifacts == artifacts
    assert len(workshop.store.checks.checks_of("a")) == looks
