"""Select models for a command; find what drifted, and what running it would affect."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.app.flags import Range
from penstock.app.request import AnyRun, SnapshotRequest
from penstock.app.services.services import Services
from penstock.core.errors import SelectorError, UsageError
from penstock.core.model import Model
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import Range as Numbers
from penstock.core.partitions.ranges import Ranges, difference, intersection, merged
from penstock.core.project import Project
from penstock.core.records import Status
from penstock.plan.cascade import cascade, parents_of
from penstock.plan.values import State
from penstock.project.selectors import (
    CODE_STATES,
    Known,
    exact_names,
    left_out,
    select,
    used_terms,
)

if TYPE_CHECKING:
    from penstock.app.observation.project_state import ProjectState
    from penstock.plan.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DriftReport:
    """All compared models: partitions that drifted, and those that wait for them."""

    project_state: ProjectState
    verdicts: Mapping[str, Verdict]
    pending: Mapping[str, Ranges] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Return whether the model itself, not an upstream model, drifted."""
        return name in self.verdicts and bool(self.verdicts[name].drifted)

    def stale_above(self, model: Model) -> tuple[str, ...]:
        """Return the upstream models that drifted or wait for one that did."""
        above = parents_of(self.project_state.project, model)
        return tuple(name for name in above if name in self.pending or self.runs(name))

    def states(self, name: str) -> frozenset[str]:
        """Return the states of a model and its partitions, and `drifted` if one of them counts."""
        verdict = self.verdicts[name]
        if verdict.whole is not None:
            return frozenset({str(verdict.whole), "drifted"})
        found = {str(state) for piece in verdict.pieces for state in piece.states}
        if name in self.pending and not verdict.of_table:
            found.add(str(State.UPSTREAM_CHANGED))
        if verdict.drifted:
            found.add("drifted")
        return frozenset(found or {str(State.CURRENT)})


def drift_report(project_state: ProjectState) -> DriftReport:
    """Return what drifted in the compared models, and what running it would change."""
    project = project_state.project
    verdicts = {name: project_state.verdict(name) for name in project_state.names}
    deferred = project_state.view.now.deferred  # nobody reads the tables that it lacks here
    start = {
        name: () if project.models[name].keeps_history or name in deferred else verdict.drifted
        for name, verdict in verdicts.items()
    }
    if not any(start.values()):
        return DriftReport(project_state, verdicts)
    own = verdicts.keys() - deferred.keys()
    todo = cascade(
        project,
        start,
        lambda name: verdicts[name].segments if name in own else (),
        lambda model: model.name in own and not model.is_view,
    )
    pending = {name: difference(ranges, start.get(name, ())) for name, ranges in todo.items()}
    return DriftReport(project_state, verdicts, {n: r for n, r in pending.items() if r})


def selected_models(
    services: Services, include: Sequence[str], exclude: Sequence[str], run_timestamp: dt.datetime
) -> tuple[str, ...]:
    """Return the selected models in topological order; raise `SelectorError` if there are none.

    Drift and results are read only if a selector needs them.
    """
    known = known_states(services, (*include, *exclude), run_timestamp)
    chosen = select(services.project, include, exclude, known)
    if count := left_out(services.project, include, known):
        models = "1 model that only some of them select is" if count == 1 else ""
        models = models or f"{count:,} models that only some of them select are"
        way = shlex.join(["--select", " ".join(include)])
        services.note(f"several --select narrow: {models} left out; to take all: {way}")
    return chosen


def known_states(services: Services, values: Sequence[str], run_timestamp: dt.datetime) -> Known:
    """Return the drift states and last results that some selectors need."""
    terms = [*used_terms(services.project, values)]
    words = frozenset(term.value for term in terms if term.method == "state")
    states: dict[str, frozenset[str]] = {}
    code: Mapping[str, frozenset[str]] = {}
    if words.difference(CODE_STATES):
        from penstock.app.observation.project_state import survey

        found = drift_report(survey(services, services.project.models, run_timestamp, ()))
        states = {name: found.states(name) for name in found.project_state.names}
    if words.intersection(CODE_STATES):
        from penstock.app.planning.modified import code_changes

        code = code_changes(services, run_timestamp)
    results: Mapping[str, Status] = {}
    if any(term.method == "result" for term in terms):
        results = services.reading.records.last_results()
    last = {name: str(status).lower() for name, status in results.items()}
    return Known(states, last, code, services.compared_with)


def divided(
    services: Services, request: AnyRun, run_timestamp: dt.datetime
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return what a run builds, what it leaves to another command, and a note about that.

    `penstock run` leaves out snapshots, and `penstock snapshot run` everything else. It is an error
    to name one of the others, or to select only others.
    """
    project = services.project
    if (
        isinstance(request, SnapshotRequest)
        and not request.select
        and not _snapshots(project, project.models)
    ):
        return (), (), ""
    selected = selected_models(services, request.select, request.exclude, run_timestamp)
    names = selected
    snapshots = _snapshots(project, names)
    others = tuple(name for name in names if name not in snapshots)
    known = {str(model.table).lower(): name for name, model in project.models.items()}
    known |= {name.lower(): name for name in project.models}
    named = [known[n] for name in exact_names(request.select) if (n := name.lower()) in known]
    if isinstance(request, SnapshotRequest):
        refused = [name for name in named if not _snapshots(project, [name])]
        if not refused and not snapshots and not request.select:
            raise SelectorError("empty-selection", "every snapshot model is excluded")
        if refused or not snapshots:
            raise _not_a_snapshot(project, refused or list(others))
        listed = ", ".join(others)
        said = f"not snapshots, not run: {listed} ({len(others)})"
        return snapshots, others, said if others and request.select else ""
    if _snapshots(project, named) or (request.select and snapshots and not others):
        raise SelectorError("snapshot-needs-snapshot-run", NEEDS_SNAPSHOT_RUN)
    count = f"{len(snapshots)} snapshot model{'s' if len(snapshots) > 1 else ''}"
    return others, snapshots, f"{count} not run; use 'penstock snapshot run'" if snapshots else ""


NEEDS_SNAPSHOT_RUN = (
    "Snapshot models cannot be executed via 'penstock run'. Use 'penstock snapshot run' instead."
)


def steps_of_their_own(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    """Return the models without tables of session packages, which passes build."""
    return tuple(name for name in names if not project.models[name].strategy.by_passes)


def _snapshots(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    command = SnapshotRequest.command
    return tuple(name for name in names if project.models[name].strategy.command == command)


def _not_a_snapshot(project: Project, names: list[str]) -> SelectorError:
    first = project.models[names[0]]
    more = f" (and {len(names) - 1} more are none)" if len(names) > 1 else ""
    article = "an" if first.shown_strategy[0] in "aeiou" else "a"
    return SelectorError(
        "not-a-snapshot",
        f"{first.name!r} is {article} {first.shown_strategy} model{more}",
        hint=f"penstock run --select {first.name}",
    )


def narrowed(model: Model, ends: Range, run_timestamp: dt.datetime, partitions: Ranges) -> Ranges:
    """Return the known partitions of a model in the range; `*` is never narrowed.

    Raises `invalid-partition`, and `bad-value` if the range ends before it begins.
    """
    grid = model.grid
    if ends.is_open or grid.is_whole or not partitions:
        return partitions
    if ends.days is not None:
        if grid.grain is Grain.RANGE:
            return partitions
        today = run_timestamp.date()
        before = min(ends.days, today.toordinal()) - 1  # there is no day before the year 1
        return intersection(partitions, (grid.holding(today - dt.timedelta(before), today),))
    low, high = _ends(model, ends)
    least = low if ends.first is not None else partitions[0][0]
    most = high if ends.last is not None else partitions[-1][1]
    return intersection(partitions, merged([(least, most)]))


def _ends(model: Model, ends: Range) -> Numbers:
    """Return the partitions of a range; a single end is also the other end."""
    low = model.grid.bound(ends.first or ends.last or "", last=False)
    high = model.grid.bound(ends.last or ends.first or "", last=True)
    if low > high:
        raise UsageError(
            "bad-value",
            f"--from {ends.first} is after --to {ends.last}",
            hint="swap --from and --to",
        )
    return low, high


def check_named(model: Model, ends: Range, verdict: Verdict, there: Ranges) -> None:
    """Raise (exit 2) if no partition of a range can run: not due yet, or before any version.

    Inside a range such partitions are skipped.
    """
    grid = model.grid
    if grid.is_whole or (ends.first is None and ends.last is None):
        return
    low, high = _ends(model, ends)
    if there and low > there[-1][1]:
        raise UsageError(
            "partition-not-due",
            f"{model.name} {grid.key(low)} is not due; the newest due partition is "
            f"{grid.key(there[-1][1])}",
            hint="wait, or name an earlier one",
        )
    first = verdict.segments[0].low if verdict.segments else None
    if first is None or high < first:
        since = f"; the first one is {grid.key(first)}" if first is not None else ""
        raise UsageError(
            "no-version-for-partition",
            f"no version of {model.name} is for {grid.key(low)}{since}",
            hint="give a version an earlier effective_from",
        )


def seed_lines(
    services: Services, project_state: ProjectState, names: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return for each model the seeds below it that `seed` would load again."""
    if not project_state.project.seeds:
        return {}
    from penstock.app.execution.seed_step import seeds_to_load  # imports all that runs a step

    records, run_timestamp = project_state.records, project_state.run_timestamp
    return seeds_to_load(services, project_state.project, names, records, run_timestamp)


def pending_notes(services: Services) -> tuple[str, ...]:
    """Return what the next command that writes will settle."""
    waiting = services.reading.checks.unsettled()
    return tuple(f"{each.step.intent.model}: {each.sentence}" for each in waiting)
