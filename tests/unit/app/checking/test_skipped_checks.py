"""`--skip-checks`: the history of a model says which of its steps were not checked."""

from __future__ import annotations

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.history import history
from penstock.core.checks import Check, Checks, Phase, RowCount
from penstock.core.findings import Location

GATE = Check("rows", Phase.BEFORE, RowCount(9), Location("m.yml", 3), definition="d")


def test_C54_the_row_of_an_unchecked_step_says_so():
    workshop = Workshop(a_source("events"), a_model("a", "raw.events", checks=Checks((GATE,))))

    workshop.run(skip_checks=True)
    workshop.run(full_refresh=True)

    rows = history(workshop.services(), "a").rows
    assert [(str(row.execution.status), row.skipped_checks) for row in rows] == [
        ("FAILED", False),
        ("SUCCESS", True),
    ]
