"""What `status` and `plan` ask the store: pages, however many models there are."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, event

from contracts.store_cases import a_result
from fakes.builders import NOON, a_model, a_source
from fakes.services import ME, an_intent
from fakes.versioned_models import DAY, EVENTS, a_body, a_daily, ords
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RunRequest, StatusRequest
from penstock.core.check_results import InvariantReport
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.columns.typed import TypedValue
from penstock.core.facts import Seen, Touched
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.partitions.partition import write_ranges
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import Outcome
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.plan.values import State
from penstock.strategies.append import Append
from penstock.strategies.checks.types import RowCount
from penstock.strategies.view import View

GATE = Check("rows", Phase.AFTER, RowCount(5), Location("models/v.yml", 3), definition="d")
CHECKS = Checks((), (GATE,))
DAYS = ords("2024-02-27", "2024-02-29")
MARK = Watermark("raw.events", "at", TypedValue("DATE", "2024-02-28"))


def models_of(number):
    """Give a table, a table that grows, a view with a gate, and a table of partitions."""
    return (
        a_model(f"t{number}", "raw.events", checks=CHECKS),
        a_model(f"a{number}", f"t{number}", strategy=Append(WindowSettings("at"))),
        a_model(f"v{number}", f"t{number}", strategy=View(), checks=CHECKS),
        a_daily(f"d{number}", a_body("v1", "2024-02-27", EVENTS)),
    )


def build(workshop: Workshop, model: Model, number: int) -> None:
    """Record that a model was built by other code, and let others change its table."""
    above = f"t{number}" if model.name.startswith("a") else "raw.events"
    pin = {above.replace(".", "__"): DeltaPin(f"id-{above}", 0)}
    marks = (replace(MARK, input=above),) if model.name.startswith("a") else ()
    older = replace(model.fingerprint, sql=f"old-{model.name}", canonical="", settings=model.name)
    intent = replace(an_intent(model, *marks, **pin), fingerprint=older)
    if model.partition is not None:
        intent = replace(intent, grid=DAY, partitions=write_ranges(DAY, DAYS))
    table_id = f"id-{model.name}"
    if not model.is_view:
        workshop.lake.land(intent.uri, "id int, at date, date date")
        workshop.lake.tables[intent.uri].table_id = table_id
        workshop.lake.land(intent.uri)
    journal = workshop.store.journal
    begun = journal.begin(intent, {}, ME, None)
    journal.finish(intent.step, Outcome(None if model.is_view else 0, table_id, 0))
    assert begun.step_seq
    commit = Touched(1, NOON, "WRITE")
    workshop.store.notes.note(Seen(str(model.table), table_id, 1), (commit,))
    if model.is_view:
        failed = a_result("rows", CheckStatus.FAILED, "*")
        journal.note_checks("run-1", model.name, InvariantReport(after=(failed,)), (), None)


def statements(count, command):
    """Count what a command asks of a project with so many models of each kind."""
    models = [model for number in range(count) for model in models_of(number)]
    workshop = Workshop(a_source("events"), *models)
    for number in range(count):
        for model in models_of(number):
            build(workshop, model, number)
    asked = []
    services = workshop.services()
    services.reading.archive.epoch()

    def note(*given):
        asked.append(given[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        found = command(services)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return found, asked


def states(report):
    return {each.model: [str(found.state) for found in each.states] for each in report.models}


def test_status_asks_as_much_for_twelve_models_as_for_three():
    few, asked = statements(3, lambda services: status(services, StatusRequest()))
    many, more = statements(12, lambda services: status(services, StatusRequest()))

    assert states(few).items() <= states(many).items()
    assert all(State.TAMPERED in states(many)[name] for name in ("t0", "a0", "d0", "d11"))
    lines = {each.model: each.lines for each in many.models}
    assert lines["v11"][0].startswith("gate failed at ")
    assert len(asked) == len(more), sorted(set(more) - set(asked))
    assert len(more) <= 60


@pytest.mark.parametrize("refresh", [False, True])
def test_plan_asks_as_much_for_twelve_models_as_for_three(refresh):
    request = RunRequest(select=("t* d*",), full_refresh=refresh)
    few, asked = statements(3, lambda services: make_plan(services, request).plan.steps)
    many, more = statements(12, lambda services: make_plan(services, request).plan.steps)

    assert len(many) == 4 * len(few) > 0
    assert len(asked) == len(more)
