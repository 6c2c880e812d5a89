"""Rows of a step that can no longer be told from the others of its table."""

from decimal import Decimal

from fakes.builders import a_model, a_source
from fakes.check_inputs import said
from fakes.workshop import DEAD, Workshop
from penstock.app.execution.settle import settle
from penstock.core.checks import Check, Checks, Phase, RowCountChange
from penstock.core.findings import Location
from penstock.core.statement import OBSERVED_ROWS
from penstock.core.step import Outcome
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge

GROWTH = Check("growth", Phase.AFTER, RowCountChange(Decimal(1)), Location("models/a.yml", 5))


def settled(strategy):
    """Settle the second step of a model, which died after its commit."""
    model = a_model("a", "raw.events", strategy=strategy, checks=Checks((), (GROWTH,)))
    workshop = Workshop(a_source("events"), model)
    workshop.lake.answers("check_a", {OBSERVED_ROWS: 1})
    workshop.run()
    begun = workshop.begin(DEAD, "a", on_failure="flag", base_version=0)
    version = workshop.commit(begun)
    table = workshop.lake.tables[begun.uri]
    outcome = Outcome(version, table.table_id, version)
    workshop.store.journal.finish(begun.step, outcome, recovered=True)
    [result] = settle(workshop.services()).results
    return said(result.invariant_report.after)


def test_the_rows_that_a_merge_wrote_are_gone():
    assert settled(Merge(("id",), None)) == [("skipped", "no step rows")]


def test_the_rows_that_an_append_added_are_still_known():
    assert settled(Append(None)) == [("passed", "rows 1, +0.0 % of 1")]
