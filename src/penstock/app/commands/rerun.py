"""The use case `rerun`: rebuild the rows in a range of one table's time column.

`backfill` does this for tables that windows keep up to date. `sync` runs the plan made here, so
that progress, prompts and reports are those of every backfill.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

from penstock.app.execution.recover import recover
from penstock.app.flags import given_flags
from penstock.app.observation.deferral import deferred_lines
from penstock.app.observation.project_state import survey
from penstock.app.planning.make_plan import Planned, gap_notes, run_timestamp_of
from penstock.app.planning.selection import pending_notes
from penstock.app.reports import Overwrite
from penstock.app.request import BackfillRequest
from penstock.app.services.services import Services, dated_project, in_one_state, named_model
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.plan.planner import plan
from penstock.plan.rerun import Given, rerun_range, rerun_windows
from penstock.plan.steps import Scope

_OF_PARTITIONS = ("cascade", "max_partitions", "batch_size", "full_refresh")


@dataclass(frozen=True, slots=True)
class RerunRequest(BackfillRequest):
    """A backfill over a range of a time column, with a `note` for the user.

    `recovered` was settled before the range was compared with the watermark.
    """

    _: KW_ONLY
    rerun: tuple[TypedValue, TypedValue]
    note: str = ""
    recovered: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """The range in the form of partition ranges in reports."""
        low, high = self.rerun
        return ((low.text, high.text),)


def takes_range(model: Model) -> bool:
    """Return whether a backfill of a model needs a range of its time column."""
    return model.function is not None


def rerun_of(services: Services, request: BackfillRequest, low: Given, high: Given) -> RerunRequest:
    """Return the request with parsed ends; nothing is planned yet.

    Raises `RerunError`, and `option-conflict` for flags about partitions.
    """
    # a crash may have left the watermark behind the rows that were committed
    settled = () if request.dry_run else recover(services).messages_by_step
    return replace(_read(services, request, low, high), recovered=settled)


@in_one_state
def _read(services: Services, request: BackfillRequest, low: Given, high: Given) -> RerunRequest:
    model = named_model(services, request.model)
    rerun_windows(model)
    for flag in given_flags(request, _OF_PARTITIONS, request.arguments.split()):
        sentence = f"{flag} has no meaning for a range of {model.name}, which is made in one step"
        raise UsageError("option-conflict", sentence, hint=f"leave {flag} out")
    facts = services.log.facts(services.project.uri_of(model.table))
    record = services.reading.records.models().get(model.name)
    known = record.watermarks if record else ()
    found = rerun_range(model, facts.schema if facts else None, known, low, high)
    said = {each: getattr(request, each) for each in BackfillRequest.__dataclass_fields__}
    return RerunRequest(
        **said | {"model": model.name}, rerun=(found.low, found.high), note=found.note
    )


@in_one_state
def plan_rerun(services: Services, request: RerunRequest) -> Planned:
    """Plan the one step of a rerun; upstreams and downstreams of the model stay as they are."""
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    dated_project(services, run_timestamp)
    state = survey(services, (request.model,), run_timestamp)
    services.project = state.project
    scope = Scope()
    made = plan(state.project, state.names, state.records, state.view.now, request.options, scope)
    said = (request.note,) if request.note else ()
    steps = tuple(replace(step, notes=(*said, *step.notes)) for step in made.steps)
    notes = (*made.notes, *gap_notes(state, state.names), *pending_notes(services))
    lines = deferred_lines(made.deferred)
    return Planned(replace(made, steps=steps), state.names, state, scope, notes, said=lines)


def with_range(request: RerunRequest, overwrites: tuple[Overwrite, ...]) -> tuple[Overwrite, ...]:
    """Return the confirmation for the range before its rows are replaced."""
    return tuple(replace(each, partitions=request.ends) for each in overwrites)
