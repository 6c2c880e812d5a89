"""The rows of a tested model after its step: its table, or the query of a view."""

from __future__ import annotations

from penstock.app.unit_testing.outcome import Outcome
from penstock.core.engine_ports import StepSession
from penstock.core.names import quoted
from penstock.core.relation import DeltaRead
from penstock.core.schema import Schema
from penstock.strategies.relations import bind_query

_VIEW = "penstock_test_view"


def source_of(session: StepSession, outcome: Outcome) -> tuple[Schema, str] | None:
    """Give the columns of the rows and SQL that reads them; None where there is no table."""
    project = outcome.shop.project
    model = project.models[outcome.model.name]
    if not model.is_view:
        facts = outcome.shop.log.facts(outcome.uri)
        return None if facts is None else (facts.schema, f"delta.{quoted(outcome.uri)}")
    reads = {name: DeltaRead(project.sources[name.name].path) for name in model.query.inputs}
    bind = bind_query(project, model.query, reads, outcome.shop.clock.now())
    session.bind(bind.relations)
    return session.define(_VIEW, bind.sql), quoted(_VIEW)
