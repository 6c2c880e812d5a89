"""Flagged rows that a step reads are told, whatever lies between."""

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import answered
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.core.checks import Check, Checks, Phase, RowCount
from penstock.core.findings import Location
from penstock.strategies.append import Append
from penstock.strategies.view import View

GATE = Check("two_rows", Phase.AFTER, RowCount(2), Location("models/log.yml", 5), definition="d")
LOG = a_model("log", "raw.events", strategy=Append(None), checks=Checks((), (GATE,)))
SHOWN = a_model("shown", "log", strategy=View())
AGAIN = a_model("again", "shown", strategy=View())
TOLD = "upstream-flagged: below reads log, which failed two_rows"


@pytest.mark.parametrize(
    ("views", "read"), [((), "log"), ((SHOWN,), "shown"), ((SHOWN, AGAIN), "again")]
)
def test_flagged_rows_are_told_through_views(views, read):
    workshop = Workshop(a_source("events"), LOG, *views, a_model("below", read))
    workshop.lake.answers("SELECT `penstock_feed`", answered(GATE, ID, 1))
    workshop.run("log")
    for view in views:
        workshop.run(view.name)

    report = workshop.run("below")

    assert [note for note in report["below"].notes if note.startswith("upstream")] == [TOLD]


def test_rows_that_nobody_flagged_are_not_told():
    other = a_model("other", "raw.events", strategy=Append(None))
    workshop = Workshop(a_source("events"), LOG, other, a_model("below", "other"))
    workshop.run("log other")

    report = workshop.run("below")

    assert report["below"].notes == ()
