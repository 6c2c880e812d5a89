"""Checks that know the table's past, and checks that its rows propose."""

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import said
from fakes.workshop import Workshop
from penstock.app.commands.check import suggest
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.errors import TableError, UnknownModelError
from penstock.core.findings import Location, Severity
from penstock.core.statement import OBSERVED_ROWS
from penstock.strategies.checks.types import Anomaly
from penstock.strategies.table import Table

EVENTS = a_source("events")
USUAL = Check(
    "usual",
    Phase.AFTER,
    Anomaly(None, min_history=2),
    Location("models/a.yml", 5),
    definition="d",
    severity=Severity.WARNING,
)


def a_workshop():
    return Workshop(
        EVENTS, a_model("a", "raw.events", strategy=Table(), checks=Checks((), (USUAL,)))
    )


def build(workshop, rows):
    workshop.lake.land(EVENTS.path)
    workshop.lake.answers("SELECT count(*)", {OBSERVED_ROWS: rows})
    (result,) = workshop.run().results
    return said(result.invariant_report.after)


def test_a_table_is_compared_with_what_its_steps_measured():
    workshop = a_workshop()

    messages = [build(workshop, rows) for rows in (100, 100, 100, 10)]

    usual = "expected 96.5 to 103.5 ({} earlier values, median 100)"
    assert messages == [
        [("passed", "rows 100, not compared: 0 earlier values, 2 needed")],
        [("passed", "rows 100, not compared: 1 earlier value, 2 needed")],
        [("passed", f"rows 100, {usual.format(2)}")],
        [("failed", f"rows 10 < 96.5, {usual.format(3)}")],
    ]


def test_looking_again_compares_with_the_same_steps_and_adds_nothing():
    workshop = a_workshop()
    for rows in (100, 100, 10):
        build(workshop, rows)

    looks = [said(workshop.check().results) for _ in range(3)]

    expected = "rows 10 < 96.5, expected 96.5 to 103.5 (2 earlier values, median 100)"
    assert looks == [[("failed", expected)]] * 3


def test_rows_propose_checks_and_nothing_is_written():
    workshop = a_workshop()
    build(workshop, 5)
    before = workshop.signature()
    workshop.lake.answers("SELECT count(*) AS n", {"n": 5, "v0": 5, "v1": 4})

    report = suggest(workshop.services(), "A", sample=False)

    assert (report.model, report.table, report.rows) == ("a", "s.a", 5)
    assert report.checks[0].keys == {"type": "row_count", "min": 1}
    assert report.notes == ("values of rows are not read, so no ranges or lists are proposed",)
    assert workshop.signature() == before


def test_what_is_not_there_proposes_nothing():
    workshop = a_workshop()

    with pytest.raises(UnknownModelError):
        suggest(workshop.services(), "b", sample=True)
    with pytest.raises(TableError, match="a has no table"):
        suggest(workshop.services(), "a", sample=True)
