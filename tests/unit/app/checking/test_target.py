"""A check before the step whose input is a table that the step does not read, or its target.

Partners in the own table: it is bound after a step though no rows of scope `table` are asked.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source, reads
from fakes.check_inputs import answered, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.strategies.append import Append
from penstock.strategies.checks.types import Relationships, RowCount

THIS = InputName(InputKind.THIS, "a")
USERS, EVENTS, OTHER = reads("raw.users", "raw.events", "b")


def a_check(name, *inputs):
    (first,) = inputs or (None,)
    return Check(
        name,
        Phase.BEFORE,
        RowCount(3, None),
        Location("models/a.yml", 5),
        input=first,
        definition=name,
        reads=tuple(each for each in inputs if each is not THIS),
    )


def a_workshop(*checks):
    """A table that reads events, beside a source and a model that it does not read."""
    first = a_model("a", "raw.events", checks=Checks(checks), order_after=("b",))
    workshop = Workshop(a_source("events"), a_source("users"), first, a_model("b", "raw.users"))
    for view, rows in (("users", 4), ("events", 2), ("_b`", 5), ("before_target", 9)):
        workshop.lake.answers(view, answered(a_check("x"), ID, rows))
    return workshop


@pytest.mark.parametrize(
    ("name", "result"), [(USERS, ("passed", "rows 4")), (OTHER, ("passed", "rows 5"))]
)
def test_all_rows_of_a_table_that_the_step_does_not_read_are_looked_at(name, result):
    workshop = a_workshop(a_check("counted", name))

    report = workshop.run()

    assert said(report["a"].invariant_report.before) == [result]


def test_a_check_beside_it_that_names_no_input_looks_at_the_only_one():
    workshop = a_workshop(a_check("other", USERS), a_check("own"))

    report = workshop.check("a")

    assert said(report.results) == [("passed", "rows 4"), ("failed", "rows 2 < min 3")]


def test_the_own_model_as_input_is_the_target_as_it_is():
    workshop = a_workshop(a_check("own", THIS))

    first = workshop.run()
    second = workshop.check("a")

    assert said(first["a"].invariant_report.before) == [("skipped", "table does not exist yet")]
    assert said(second.results) == [("passed", "rows 9")]


PARENT = Check(
    "parent",
    Phase.AFTER,
    Relationships(("id",), THIS, ("id",), "s.a"),
    Location("models/a.yml", 5),
    definition="d",
    sample=False,
)
ALONE = [("failed", "1 row without a partner in s.a (id)")]


def a_workshop_of_partners(mode=OnFailure.FLAG):
    """A log whose rows have no partner in it."""
    log = a_model("a", "raw.events", strategy=Append(None), checks=Checks((), (PARENT,), mode))
    workshop = Workshop(a_source("events"), log)
    workshop.lake.gives("SELECT `id` FROM `check_after_target`", "id int")
    workshop.lake.answers("EXISTS (SELECT 1 FROM", answered(PARENT, ID, 1, failures=1))
    return workshop


@pytest.mark.parametrize("mode", OnFailure)
def test_a_row_without_a_partner_in_the_own_table_fails_the_gate(mode):
    workshop = a_workshop_of_partners(mode)

    report = workshop.run()

    assert said(report["a"].invariant_report.after) == ALONE
    assert not report.succeeded


def test_check_looks_for_partners_in_the_own_table():
    workshop = a_workshop_of_partners()
    workshop.run()

    report = workshop.check()

    assert said(report.results) == ALONE


@pytest.mark.parametrize(
    ("upstream", "found"),
    [
        ("a", ("skipped", "b is built later, and has no table yet")),
        ("raw.users", ("failed", "could not be evaluated: no table b")),
    ],
)
def test_a_check_of_partners_in_a_table_that_is_built_later_waits_for_it(upstream, found):
    partner = replace(PARENT, rule=Relationships(("id",), OTHER, ("id",), "b"), reads=(OTHER,))
    first = a_model("a", "raw.events", checks=Checks((), (partner,)))
    workshop = Workshop(a_source("events"), a_source("users"), first, a_model("b", upstream))

    report = workshop.run("a")

    assert said(report["a"].invariant_report.after) == [found]


def test_rows_of_a_query_find_their_partners_in_the_own_table():
    text = "select 1 as id"
    changed = replace(PARENT, query=Query(text, text, text, ()))

    assert changed.reads_table
