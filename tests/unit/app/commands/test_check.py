"""`penstock check`: checks on the rows of today, whose step is long over.

`penstock check --sources`: what is said of each source, and what the history keeps of it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.check_inputs import a_query, answered, said
from fakes.lake import columns
from fakes.workshop import Workshop
from penstock.app.commands.check import freshness_checks
from penstock.app.commands.history import CheckHistory, check_history
from penstock.app.read_requests import HistoryRequest
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.findings import Location
from penstock.core.model import SourceFreshness
from penstock.core.query import parameter
from penstock.core.statement import OBSERVED_ROWS
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.checks.types import RowCount, RowCountChange, SqlCheck
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table
from penstock.strategies.view import View
from penstock.ui.render.check import check_text

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

    monkeypatch.setattr("penstock.app.commands.check.pin_names", pin_names)

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


LIMITS = SourceFreshness("at", dt.timedelta(days=1), dt.timedelta(days=2))
TIMED_EVENTS, TIMED_USERS = (
    a_source("events", freshness=LIMITS),
    a_source("users", freshness=LIMITS),
)
(GATE, _) = freshness_checks(TIMED_EVENTS)
SAID = (
    "sources\n"
    "  raw.events  failed   warning  newest 2024-02-29 00:00:00, age 1d 12h > max 1d\n"
    "  raw.users   failed   warning  newest 2024-02-29 00:00:00, age 1d 12h > max 1d\n"
    "2 checks: 0 passed, 2 failed (0 errors)."
)


def a_workshop_of_sources():
    workshop = Workshop(TIMED_EVENTS, TIMED_USERS, a_model("a", "raw.events"))
    for source in (TIMED_EVENTS, TIMED_USERS):
        workshop.lake.land(source.path, "at timestamp")
    newest = answered(GATE, columns("at timestamp"), 1, newest="2024-02-29 00:00:00")
    workshop.lake.answers("check_source", newest)
    return workshop


def test_each_source_is_told_by_its_name():
    workshop = a_workshop_of_sources()

    report = workshop.check(sources=True, as_of=NOON)

    assert check_text(report) == SAID
    assert report.ok


def test_what_was_said_of_a_source_is_in_the_history_of_its_checks():
    workshop = a_workshop_of_sources()

    workshop.check("raw.events", sources=True, as_of=NOON)

    (record,) = check_history(workshop.services(), HistoryRequest(".", "source:raw.events")).records
    assert (record.model, record.step, record.partitions) == ("source:raw.events", "", ("*",))
    assert record.result.message == "newest 2024-02-29 00:00:00, age 1d 12h > max 1d"
    assert (
        check_history(workshop.services(), HistoryRequest(".", "source:raw.users"))
        == CheckHistory()
    )
    assert workshop.records() == {}


def test_without_record_nothing_is_kept():
    workshop = a_workshop_of_sources()

    workshop.check(sources=True, record=False)

    assert (
        check_history(workshop.services(), HistoryRequest(".", "source:raw.events"))
        == CheckHistory()
    )
