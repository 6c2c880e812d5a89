"""Partners in the own table: it is bound after a step though no rows of scope `table` are asked."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import answered, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.app.checking.chosen import reads_table
from penstock.core.checks import Check, Checks, OnFailure, Phase, Relationships
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.strategies.append import Append

THIS = InputName(InputKind.THIS, "a")
PARENT = Check(
    "parent",
    Phase.AFTER,
    Relationships(("id",), THIS, ("id",), "s.a"),
    Location("models/a.yml", 5),
    definition="d",
    sample=False,
)
ALONE = [("failed", "1 row without a partner in s.a (id)")]


def a_workshop(mode=OnFailure.FLAG):
    """A log whose rows have no partner in it."""
    log = a_model("a", "raw.events", strategy=Append(None), checks=Checks((), (PARENT,), mode))
    workshop = Workshop(a_source("events"), log)
    workshop.lake.gives("SELECT `id` FROM `check_after_target`", "id int")
    workshop.lake.answers("EXISTS (SELECT 1 FROM", answered(PARENT, ID, 1, failures=1))
    return workshop


@pytest.mark.parametrize("mode", OnFailure)
def test_a_row_without_a_partner_in_the_own_table_fails_the_gate(mode):
    workshop = a_workshop(mode)

    report = workshop.run()

    assert said(report["a"].invariant_report.after) == ALONE
    assert not report.succeeded


def test_check_looks_for_partners_in_the_own_table():
    workshop = a_workshop()
    workshop.run()

    report = workshop.check()

    assert said(report.results) == ALONE


def test_rows_of_a_query_find_their_partners_in_the_own_table():
    text = "select 1 as id"
    changed = replace(PARENT, query=Query(text, text, text, ()))

    assert reads_table(changed)
