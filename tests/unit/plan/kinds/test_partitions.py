"""What a plan decides of one model of partitions, beside which of them run (test_agenda.py)."""

from dataclasses import replace

import pytest

from fakes.builders import a_project, a_source, a_success
from fakes.versioned_models import (
    EVENTS,
    RUN_TIMESTAMP,
    a_body,
    a_daily,
    ords,
    verdict_of,
)
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.strategy import Layout
from penstock.plan.kinds.partitions import decide
from penstock.plan.steps import Decided, Question, Scope
from penstock.plan.values import Now, Options

DAILY = a_daily("daily", a_body("v1", "2024-12-02", EVENTS), layout=Layout(("date",)))
EDITED = verdict_of(DAILY, sql_changed=ords("2024-12-02", "2024-12-16"))
WHOLE_RANGE = {"daily": EDITED.partitions}


def decided(model=DAILY, verdict=EDITED, *, selected=True, options=None, broken=None, **scope):
    asked = Scope(**{"verdicts": {"daily": verdict}, "limits": WHOLE_RANGE} | scope)
    question = Question(
        a_project(model, a_source("events")),
        frozenset({"daily"} if selected else ()),
        {"daily": a_success(model, 7)},
        Now(RUN_TIMESTAMP, {}, {}, broken or {}),
        options or Options(),
        asked,
    )
    return decide(question, {}, model)


def test_its_steps_carry_the_number_of_the_last_one_so_that_begin_sees_what_came_between():
    found = decided()

    assert [(step.planned_on, step.count) for step in found.steps] == [(7, 15)]
    assert found.todo == EDITED.partitions


@pytest.mark.parametrize(
    ("syncs", "notes"),
    [(False, ("daily: 14 other partitions drifted; penstock sync runs them",)), (True, ())],
)
def test_only_a_command_that_does_not_sync_says_what_it_leaves_to_one(syncs, notes):
    newest = {"daily": ords("2024-12-16")}

    found = decided(trigger="nightly", limits=newest, syncs=syncs)

    assert (found.todo, found.notes) == (ords("2024-12-16"), notes)


@pytest.mark.parametrize("selected", [True, False])
def test_a_model_of_which_nothing_runs_is_current_only_where_it_was_asked_for(selected):
    found = decided(verdict=verdict_of(DAILY), selected=selected)

    assert found == Decided(is_current=selected)


def test_a_source_that_is_gone_blocks_it():
    gone = TableError("source-missing", "…")

    assert decided(broken={"raw.events": gone}).error is gone


@pytest.mark.parametrize(
    ("partition_by", "at_once", "notes"),
    [
        (("date",), True, ()),
        ((), False, ("daily: partition_by is [], the code says [date]",)),
    ],
)
def test_steps_of_a_table_that_may_be_written_anew_come_one_after_another(
    partition_by, at_once, notes
):
    columns = Schema((Column("date", "date"),))
    versions = tuple(replace(version, schema=columns) for version in DAILY.versions)
    facts = {"daily": TableFacts("t", 3, columns, partition_by)}

    found = decided(replace(DAILY, versions=versions), facts=facts)

    assert (found.at_once, found.notes) == (at_once, notes)
