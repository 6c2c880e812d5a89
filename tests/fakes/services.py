"""A workshop over a store in memory and logs that a test wrote."""

from __future__ import annotations

from fakes.builders import NOON
from fakes.clock import FixedClock
from fakes.folders import FakeFolders
from fakes.kept_rows import FakeRows
from fakes.lake import FakeFences, FakeLake
from fakes.log import FakeLog
from fakes.places import FakePlaces
from penstock.app.services.services import Services
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.core.records import Holder
from penstock.core.steps.inputs import InputPin, Pin
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.core.steps.token import write_fence
from penstock.core.steps.window import Watermark
from penstock.state.memory import MemoryStore

ME = Holder("run-1", "here", 11, "ann")


def a_shop(project: Project, log: FakeLog | None = None) -> Services:
    """Wire a project with a memory store and no Spark."""
    clock = FixedClock()
    store = MemoryStore(clock, project.lease)
    return Services(
        project=project,
        log=log or FakeLog(),
        places=FakePlaces(FakeLake()),
        folders=FakeFolders(),
        engine=None,  # type: ignore[arg-type]  # these use cases have none
        clock=clock,
        open_reading=lambda: store,
        open_writing=lambda: store,
        has_state=lambda: True,
        is_gone=lambda _: False,
        fences=FakeFences(FakeLake()),
        kept_rows=FakeRows(),
        fence_token=lambda intent: write_fence(intent, "0.1.0", store.archive.store_id()),
    )


def an_intent(model: Model, *marks: Watermark, **pins: Pin) -> Intent:
    """What a step of the model as it is now would intend."""
    return Intent(
        step=f"step-{model.name}",
        run=ME.run,
        model=model.name,
        table=TableName(model.table.schema, model.table.table),
        uri=f"/w/{model.table.schema}/{model.table.table}",
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason="never_run",
        triggered_by="run",
        run_timestamp=NOON,
        fingerprint=model.fingerprint,
        writing=model.writing,
        inputs=tuple(InputPin(name.replace("__", "."), pin) for name, pin in pins.items()),
        watermarks=marks,
    )


def built(services: Services, model: Model, *marks: Watermark, text: str = "", **pins: Pin) -> None:
    """Record that the model was built as it is now, as version 0 of its table."""
    intent = an_intent(model, *marks, **pins)
    contents = {model.fingerprint.sql: text} if text else {}
    contents |= {model.fingerprint.settings: model.outside} if model.outside else {}
    journal = services.writing.journal
    journal.begin(intent, contents, ME, None)
    version = None if model.is_view else 0
    journal.finish(intent.step, Outcome(version, f"id-{model.name}", version))
    services.writing.leases.unlock(str(model.table))
