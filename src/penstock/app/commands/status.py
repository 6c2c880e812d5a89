"""The use case `status`: which tables and partitions no longer match code and inputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.flags import Lines, check_lines, with_lines
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.selection import (
    DriftReport,
    drift_report,
    narrowed,
    seed_lines,
    selected_models,
)
from penstock.app.reports import Keys, ModelStatus, StateCount, StatusReport
from penstock.app.request import StatusRequest
from penstock.app.services.services import Services, in_one_state
from penstock.core.errors import UsageError
from penstock.core.graph import ordered, reach
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grid, write_grid
from penstock.core.partitions.ranges import Range as Numbers
from penstock.core.partitions.ranges import Ranges, count, intersection, merged
from penstock.core.shown.notebooks import ShownInNotebooks, graph_svg
from penstock.plan.cascade import direct_parents, parents_among
from penstock.plan.obstacles import table_of_another_store, take_flags
from penstock.plan.slices import unmatched_note
from penstock.plan.values import State, error_line
from penstock.plan.verdict import Piece, Verdict
from penstock.project.files.values import did_you_mean


@in_one_state
def status(services: Services, request: StatusRequest) -> StatusReport:
    """Compare records, code, inputs and facts; start no JVM and write nothing."""
    wanted = states_named(request.states)
    run_timestamp = request.run_timestamp or services.clock.now()
    names = selected_models(services, request.select, request.exclude, run_timestamp)
    models = services.project.models
    parents = {name: direct_parents(model) for name, model in models.items()}
    # with all above them, because a drifted ancestor makes them pending
    involved = {name for name in reach(names, parents) if name in models}
    project_state = survey(services, involved, run_timestamp, building=())
    drift = drift_report(project_state)
    lines = _lines(services, project_state, names)
    project, found = project_state.project, []
    for name in ordered(parents_among(project, names)):
        known = drift.verdicts[name].partitions
        within = narrowed(project.models[name], request.range, run_timestamp, known)
        found.append(with_lines(status_of_models(drift, name, within, wanted), lines))
    return StatusReport(run_timestamp, tuple(found))


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """One model of the graph: what it reads, and whether it matches its code."""

    model: str
    strategy: str
    reads: tuple[str, ...]
    state: str
    table: TableName
    executed_at: dt.datetime | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """Each of its states."""
        return tuple(self.state.split(", "))


@dataclass(frozen=True, slots=True)
class Overview(ShownInNotebooks):
    """All models of a project in build order, or some of them."""

    _rows = "models"
    _columns = "model strategy reads state=states table last_run=executed_at"

    models: tuple[ModelOverview, ...] = ()

    def _svg(self) -> str:
        return graph_svg({each.model: (each.reads, each.states) for each in self.models})

    def __str__(self) -> str:
        """Return a line for each model.

        >>> print(Overview((ModelOverview("b", "table", ("a",), "current", TableName("m", "b")),)))
        b  table  <- a  current
        """
        lines = [
            (
                each.model,
                each.strategy,
                f"<- {', '.join(each.reads)}" if each.reads else "",
                each.state,
            )
            for each in self.models
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ((c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines)
        return "\n".join("  ".join(line).rstrip() for line in padded) or "no models"


def overview(services: Services, name: str = "") -> Overview:
    """Compare models with records and tables, all or one; start no JVM and write nothing."""
    project = services.project
    select = (name,) if name else ()
    report = status(services, StatusRequest(project.root, select=select))
    rows = (
        ModelOverview(
            each.model,
            each.shown_strategy,
            direct_parents(project.models[each.model]),
            ", ".join(str(found.state) for found in each.states) or "current",
            each.table,
            each.executed_at,
        )
        for each in report.models
    )
    return Overview(tuple(rows))


def _lines(services: Services, project_state: ProjectState, names: tuple[str, ...]) -> Lines:
    """Return further messages about models: their checks, and seeds that they read."""
    found = dict(check_lines(services, project_state.project, project_state.records))
    for name, lines in seed_lines(services, project_state, names).items():
        found[name] = (*found.get(name, ()), *lines)
    for name, other in project_state.view.now.deferred.items():
        read = f"not built here; its readers read target {other.source.target}"
        found[name] = (*found.get(name, ()), f"{read} at {other.pin}" if other.pin else read)
    for name, now in project_state.view.now.slices.items():
        if note := unmatched_note(now):
            found[name] = (*found.get(name, ()), note)
    return found


def states_named(texts: Sequence[str]) -> frozenset[State]:
    """Parse the states of `--state`; raise `bad-value` with the nearest valid one."""
    known = {str(state) for state in State}
    shown = (state for state in State if state is not State.CURRENT)
    found = set()
    for text in (part.strip() for each in texts for part in each.split(",")):
        if text not in known:
            hint = did_you_mean(text, known) or f"states: {', '.join(shown)}"
            raise UsageError("bad-value", f"--state: unknown state {text!r}", hint=hint)
        found.add(State(text))
    return frozenset(found)


def status_of_models(
    drift: DriftReport, name: str, partitions: Ranges, wanted: frozenset[State] = frozenset()
) -> ModelStatus:
    """Return the state of one model and its partitions `within`; only the `wanted` states."""
    project_state = drift.project_state
    model, record = project_state.project.models[name], project_state.records.get(name)
    verdict, package = drift.verdicts[name], project_state.project.package_of(name)
    if verdict.whole is not None:
        states = [StateCount(verdict.whole, 1, (("*", "*"),))]
    else:
        states = _of_pieces(model, verdict, partitions, wanted)
    pending = intersection(drift.pending.get(name, ()), partitions)
    says_more = not (verdict.of_table and states)  # of a whole table its own state is enough
    if pending and says_more and not (wanted and State.UPSTREAM_CHANGED not in wanted):
        states.append(_pending(drift, model, verdict, pending))
    lines, mends = (*verdict.lines, *project_state.files_lines(name)), ""
    if verdict.owner is not None:  # as a plan says it
        takes = take_flags(model, verdict)
        project = project_state.project.name
        error = table_of_another_store(model, verdict.owner, project, takes)
        lines = (*lines, f"{error_line(error)}: {error.hint}")
        mends = f"run --select {name} {takes}" if takes else "plan"
    return ModelStatus(
        model=name,
        table=model.table,
        strategy=model.strategy_name,
        grain=write_grid(model.grid) if model.grid.interval else str(model.grid.grain),
        partitions=count(intersection(verdict.effective, partitions)),
        states=tuple(states),
        cosmetic=verdict.cosmetic,
        executed_at=record.executed_at if record else None,
        lines=lines,
        package=package.name if package else "",
        mends=mends,
    )


def _of_pieces(
    model: Model, verdict: Verdict, partitions: Ranges, wanted: frozenset[State]
) -> list[StateCount]:
    """Merge entries that differ only in their partitions."""
    found: dict[StateCount, list[Numbers]] = {}
    for piece in verdict.pieces:
        here = intersection((piece.range,), partitions)
        if here and (not wanted or wanted & set(piece.states)):
            found.setdefault(_described(model, piece), []).extend(here)
    counted = [
        replace(each, count=count(merged(ranges)), ranges=keys_of(model.grid, merged(ranges)))
        for each, ranges in found.items()
    ]
    return sorted(counted, key=lambda each: [*State].index(each.state))


def _described(model: Model, piece: Piece) -> StateCount:
    body = piece.segment.body if piece.segment else None
    fingerprint = body.fingerprint if body else model.fingerprint if model.grid.is_whole else None
    effective = piece.state is not State.NOT_EFFECTIVE
    # rows of a partition without a version stand beside its state; of a table the date says why
    counts = effective or model.grid.is_whole
    return StateCount(
        state=piece.state,
        count=0,
        ranges=(),
        also=tuple(str(state) for state in piece.states[1:]) + (() if counts else piece.because),
        drifted=effective and piece.reason.drift,
        version=fingerprint.version if fingerprint else None,
        revision=(fingerprint.revision or None) if fingerprint else None,
        because=piece.because if counts else (),
    )


def _pending(drift: DriftReport, model: Model, verdict: Verdict, pending: Ranges) -> StateCount:
    inside = [s for s in verdict.segments if intersection((s.range,), pending)]
    fingerprint = inside[-1].body.fingerprint if inside else None
    fingerprint = model.fingerprint if verdict.of_table else fingerprint
    return StateCount(
        State.UPSTREAM_CHANGED,
        count(pending),
        keys_of(model.grid, pending),
        pending=True,
        drifted=False,
        version=fingerprint.version if fingerprint else None,
        revision=(fingerprint.revision or None) if fingerprint else None,
        because=drift.stale_above(model),
    )


def keys_of(grid: Grid, ranges: Ranges) -> Keys:
    """Return partitions as first and last keys of ranges."""
    return tuple((grid.key(low), grid.key(high)) for low, high in ranges)
