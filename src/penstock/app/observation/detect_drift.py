"""What drifted of the models that were looked at, and what would follow from running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.app.observation.project_state import ProjectState
from penstock.core.model import Model
from penstock.core.partitions.ranges import Ranges, difference
from penstock.plan.cascade import cascaded, parents_of
from penstock.plan.values import State
from penstock.plan.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Every model that was looked at: partitions that drifted, and those that wait for them."""

    project_state: ProjectState
    verdicts: Mapping[str, Verdict]
    pending: Mapping[str, Ranges] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Whether something of a model drifted by itself."""
        return name in self.verdicts and bool(self.verdicts[name].drifted)

    def stale_above(self, model: Model) -> tuple[str, ...]:
        """Name the models above one that drifted or wait for one that did."""
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


def detect_drift(project_state: ProjectState) -> DriftReport:
    """Judge every model of a look, and what would follow from running what drifted."""
    project = project_state.project
    verdicts = {name: project_state.verdict(name) for name in project_state.names}
    start = {
        name: () if project.models[name].keeps_history else verdict.drifted
        for name, verdict in verdicts.items()
    }
    if not any(start.values()):
        return DriftReport(project_state, verdicts)
    todo = cascaded(
        project,
        start,
        lambda name: verdicts[name].segments if name in verdicts else (),
        lambda model: model.name in verdicts and not model.is_view,
    )
    pending = {name: difference(ranges, start.get(name, ())) for name, ranges in todo.items()}
    return DriftReport(project_state, verdicts, {n: r for n, r in pending.items() if r})
