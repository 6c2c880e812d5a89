"""All models of a look judged, and what would follow from running those that drifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.app.looking import Looked
from penstock.core.model import Model
from penstock.core.ranges import Ranges, difference
from penstock.plan.cascade import WHOLE, cascaded, parents_of
from penstock.plan.drift import drift
from penstock.plan.judge import Verdict
from penstock.plan.values import Reason, State

IDLE = (State.CURRENT, State.NOT_EFFECTIVE)


@dataclass(frozen=True, slots=True)
class Judged:
    """Every model that was looked at: partitions that drifted, and those that wait for them."""

    looked: Looked
    reasons: Mapping[str, Reason]
    verdicts: Mapping[str, Verdict]
    pending: Mapping[str, Ranges] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Whether something of a model drifted by itself."""
        if name in self.verdicts:
            return bool(self.verdicts[name].drifted)
        reason = self.reasons.get(name)
        return reason is not None and reason.drift and reason.state not in IDLE

    def stale_above(self, model: Model) -> tuple[str, ...]:
        """Name the models above one that drifted or wait for one that did."""
        above = parents_of(self.looked.project, model)
        return tuple(name for name in above if name in self.pending or self.runs(name))

    def states(self, name: str) -> frozenset[str]:
        """Give every state that a model or a partition of it is in, and `drifted` if one counts."""
        if name in self.reasons:
            reason = self.reasons[name]
            found = {str(reason.state), *map(str, reason.also)}
            counts = reason.state is not State.CURRENT and reason.drift
            return frozenset({*found, "drifted"} if counts else found)
        verdict = self.verdicts[name]
        if verdict.whole is not None:
            return frozenset({str(verdict.whole), "drifted"})
        found = {str(state) for piece in verdict.pieces for state in piece.states}
        if name in self.pending:
            found.add(str(State.UPSTREAM_CHANGED))
        if verdict.drifted:
            found.add("drifted")
        return frozenset(found or {str(State.CURRENT)})


def judged_all(looked: Looked) -> Judged:
    """Judge every model of a look, and what would follow from running what drifted."""
    project = looked.project
    reasons, verdicts, start = {}, {}, {}
    for name in looked.names:
        model = project.models[name]
        if model.partition is not None:
            verdicts[name] = looked.judging.verdict(name)
            start[name] = verdicts[name].drifted
            continue
        reasons[name] = drift(project, model, looked.records, looked.view.now)
        runs = reasons[name].drift and reasons[name].state not in IDLE
        start[name] = WHOLE if runs and not model.is_snapshot else ()
    if not any(start.values()):
        return Judged(looked, reasons, verdicts)
    todo = cascaded(
        project,
        start,
        lambda name: verdicts[name].segments if name in verdicts else (),
        lambda model: model.name in reasons and not model.is_view,
    )
    pending = {name: difference(ranges, start.get(name, ())) for name, ranges in todo.items()}
    return Judged(looked, reasons, verdicts, {n: r for n, r in pending.items() if r})
