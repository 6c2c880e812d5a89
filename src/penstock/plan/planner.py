"""The plan of a run: which of the selected models need a step, in which order, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.errors import PenstockError, TableError, UsageError
from penstock.core.graph import ordered
from penstock.core.model import Model, window_settings
from penstock.core.project import Project
from penstock.core.ranges import Ranges
from penstock.core.records import ModelRecord
from penstock.plan.agenda import Scope, left_alone, migration_of, refusal, wanted_of
from penstock.plan.cascade import WHOLE, reads_itself
from penstock.plan.code_changes import means_same
from penstock.plan.drift import drift
from penstock.plan.history import history_refusal, must_look, not_delta
from penstock.plan.layout import LayoutChange, layout_change
from penstock.plan.obstacles import obstacle, table_refusal, upstream_models
from penstock.plan.partition_steps import limited, linked, partition_steps
from penstock.plan.values import (
    Blocked,
    Estimate,
    Now,
    Observed,
    Options,
    Plan,
    Reason,
    State,
    Step,
)

Records = Mapping[str, ModelRecord]
NO_PARTITIONS = Scope()


def plan(  # the sides of one decision
    project: Project,
    selected: Sequence[str],
    records: Records,
    now: Now,
    options: Options,
    scope: Scope = NO_PARTITIONS,
) -> Plan:
    """Compare the selected models with what was built; touch nothing.

    Steps come in topological order, ties by name, partitions in their order. A model whose upstream
    has a step in the plan is planned as `pending`: when its turn comes, the upstream's outcome
    decides. A cascade looks at the models below the selected ones too.
    """
    planner = _Planner(project, frozenset(selected), records, now, options, scope)
    for name in _in_order(project, project.models if scope.cascade else selected):
        planner.consider(project.models[name])
    steps, left = limited(planner.steps, scope.most) if scope.most else (planner.steps, 0)
    return Plan(
        now.run_timestamp,
        tuple(linked(project, steps, frozenset(planner.parallel))),
        tuple(planner.current),
        tuple(planner.cosmetic),
        tuple(planner.blocked),
        tuple(planner.notes),
        remaining=left,
    )


@dataclass(slots=True)
class _Planner:
    """One pass over the models; `waiting_on` says which steps a reader of a model comes after."""

    project: Project
    selected: frozenset[str]
    records: Records
    now: Now
    options: Options
    scope: Scope = Scope()
    steps: list[Step] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    cosmetic: list[str] = field(default_factory=list)
    blocked: list[Blocked] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting_on: dict[str, tuple[str, ...]] = field(default_factory=dict)
    todo: dict[str, Ranges] = field(default_factory=dict)
    parallel: set[str] = field(default_factory=set)
    unborn: set[str] = field(default_factory=set)

    def consider(self, model: Model) -> None:
        if model.partition is not None:
            self._consider_partitions(model)
        elif self.scope.syncs:
            self._consider_sync(model)
        else:
            self._consider_table(model)

    def _consider_partitions(self, model: Model) -> None:
        name = model.name
        wanted = wanted_of(self.project, model, self.scope, self.todo, self.options)
        verdict = self.scope.verdicts[name]
        if not self.scope.syncs and name in self.selected:
            self.notes.extend(left_alone(verdict, wanted))
        if not wanted.partitions and not (verdict.whole and name in self.selected):
            if name in self.selected:
                self.current.append(name)
            return
        error = refusal(model, wanted, self.scope, self.options)
        error = error or obstacle(self.project, model, self._built_now(), self.records, self.now)
        if error is not None:
            self._block(name, error)
            return
        moved = migration_of(model, self.scope)
        if moved is not None:
            self.notes.extend(f"{name}: {line}" for line in moved.lines)
        settled = moved is not None and not (moved.breaking or moved.moved)
        if settled and model.layout.partition_by and not reads_itself(model):
            self.parallel.add(name)
        trigger, size = self.scope.trigger, self.scope.batch_size
        record = self.records.get(name)
        planned_on = record.last_step_seq if record else 0
        for step in partition_steps(model, verdict, wanted, trigger, size):
            self.steps.append(replace(step, planned_on=planned_on))
        self.todo[name] = wanted.partitions
        self.waiting_on[name] = (name,)

    def _consider_sync(self, model: Model) -> None:
        """Repair a model of one partition, or follow what is repaired above it.

        Windows take new rows by an ordinary run; where rows that they passed by are wrong, only a
        full refresh makes them anew. Histories are never made again.
        """
        name = model.name
        if model.is_snapshot:
            return
        reason = drift(self.project, model, self.records, self.now)
        if reason.state is State.NOT_EFFECTIVE:
            self._postpone(model, reason)
            return
        waits = _waits(model, self.waiting_on)
        drifted = reason.state is not State.CURRENT and reason.drift
        states = self.scope.states
        asked = name in self.selected and (
            (drifted and (not states or {reason.state, *reason.also} & states))
            or self.scope.force
            or self.options.full_refresh
        )
        if not asked and not (self.scope.cascade and waits and not model.is_view):
            if model.is_view:
                self.waiting_on[name] = waits
            if name in self.selected and not drifted:
                self._leave(model, waits)
            return
        error = obstacle(self.project, model, self._built_now(), self.records, self.now)
        error = error or self._refusal(model, reason) or self._mutated(model)
        if error is not None:
            self._block(name, error)
            return
        if asked and reason.state is State.CURRENT:
            reason = Reason(State.CURRENT, "asked for", drift=False)
        elif not asked and not drifted:
            reason = Reason(State.UPSTREAM_CHANGED, f"after {', '.join(waits)}", pending=True)
        afresh = reason.state not in (State.NEVER_RUN, State.FAILED)
        windowed = window_settings(model.strategy) is not None
        options = replace(self.options, full_refresh=True) if windowed and afresh else self.options
        step = _step(model, reason, waits, self.records.get(name), options)
        notes = (*step.notes, "full refresh") if windowed and afresh else step.notes
        trigger = self.scope.trigger if asked else "cascade"
        self.steps.append(replace(step, trigger=trigger, notes=notes))
        self.todo[name] = WHOLE
        self.waiting_on[name] = (name,)

    def _block(self, name: str, error: PenstockError) -> None:
        self.blocked.append(Blocked(name, error))
        self.waiting_on[name] = (name,)

    def _postpone(self, model: Model, reason: Reason) -> None:
        """Leave out a model whose first version is still to come; what reads it cannot be built."""
        self.unborn.add(model.name)
        if model.name in self.selected:
            self.notes.append(f"{model.name}: {reason}")

    def _mutated(self, model: Model) -> PenstockError | None:
        """Refuse other SQL under the number of that which built the rows."""
        record = self.records.get(model.name)
        made = record.fingerprint if record else None
        if not model.immutable or self.options.allow_source_mutation or made is None:
            return None
        now = model.fingerprint
        if made.label != now.label or means_same(made, now, self.now.meaning):
            return None
        return TableError(
            "source-mutated",
            f"{model.fingerprint.label} of {model.name} has built rows and its SQL changed",
            where=model.where,
            hint="add a revision, or repeat with --allow-source-mutation",
        )

    def _built_now(self) -> frozenset[str]:
        """Name the models that this plan builds, or leaves as they are."""
        return (self.selected | frozenset(self.todo)) - self.unborn

    def _consider_table(self, model: Model) -> None:
        name = model.name
        reason = drift(self.project, model, self.records, self.now)
        if reason.state is State.NOT_EFFECTIVE:
            self._postpone(model, reason)
            return
        error = obstacle(self.project, model, self._built_now(), self.records, self.now)
        error = error or self._refusal(model, reason) or self._mutated(model)
        if error is not None:
            self._block(name, error)
            return
        waits = _waits(model, self.waiting_on)
        if reason.state is State.CURRENT and self.options.full_refresh:
            reason = Reason(State.CURRENT, "full refresh asked for")
        elif reason.state is State.CURRENT and (why := self._must_look(model)):
            reason = Reason(State.CURRENT, why, drift=False)
        elif reason.state is State.CURRENT and waits and not model.is_view:
            reason = Reason(State.UPSTREAM_CHANGED, f"after {', '.join(waits)}", pending=True)
        elif reason.state is State.CURRENT:
            self._leave(model, waits)
            return
        self.steps.append(_step(model, reason, waits, self.records.get(name), self.options))
        self.todo[name] = WHOLE
        self.waiting_on[name] = (name,)

    def _must_look(self, model: Model) -> str:
        if not model.is_snapshot:
            return ""
        return must_look(self.project, model, self.now, self.options)

    def _refusal(self, model: Model, reason: Reason) -> PenstockError | None:
        """Find states in which nothing of the model may run."""
        if reason.state is State.FOREIGN_TABLE and model.is_snapshot:
            seen = self.now.targets.get(model.name, Observed())
            return history_refusal(model, seen, self.records.get(model.name), reason, self.now)
        error = table_refusal(model, reason, self.options)
        if error is not None or not model.is_snapshot:
            return error
        seen = self.now.targets.get(model.name, Observed())
        record = self.records.get(model.name)
        if self.options.full_refresh:
            return not_delta(model, seen, record)
        return history_refusal(model, seen, record, reason, self.now)

    def _leave(self, model: Model, waits: tuple[str, ...]) -> None:
        """Plan no build of a model; its properties and comments may still need a step."""
        name, record = model.name, self.records[model.name]
        facts = self.now.targets.get(name, Observed()).facts
        change = layout_change(model, facts) if facts else LayoutChange()
        self.waiting_on[name] = waits
        if change.moved:
            self.notes.append(f"{name}: {change.moved}; --full-refresh writes the table anew")
        if change.told:
            self.steps.append(_alteration(model, record))
            return
        self.current.append(name)
        if _is_cosmetic(model, record):
            self.cosmetic.append(name)


def _waits(model: Model, waiting_on: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Give the steps a model comes after; a view that needs none hands its own upstreams on."""
    found = [step for up in upstream_models(model) for step in waiting_on.get(up, ())]
    return tuple(sorted(set(found)))


def _in_order(project: Project, selected: Iterable[str]) -> list[str]:
    parents = {
        name: (*upstream_models(model), *model.order_after)
        for name, model in project.models.items()
    }
    wanted = set(selected)
    return [name for name in ordered(parents) if name in wanted]


def _step(
    model: Model,
    reason: Reason,
    waits: tuple[str, ...],
    record: ModelRecord | None,
    options: Options,
) -> Step:
    built = record is not None and record.succeeded_once
    adopted = reason.state is State.FOREIGN_TABLE and (options.adopt or model.is_snapshot)
    initial = options.full_refresh or reason.state is State.MISSING or not (built or adopted)
    executed = ""
    if record and record.fingerprint and record.fingerprint.sql != model.fingerprint.sql:
        executed = record.fingerprint.sql
    return Step(
        model=model.name,
        reason=reason,
        initial=initial,
        upstream=waits,
        planned_on=record.last_step_seq if record else 0,
        executed=executed,
        estimate=_estimate(record),
        notes=_notes(model, reason, initial=initial),
    )


def _alteration(model: Model, record: ModelRecord) -> Step:
    reason = Reason(State.CURRENT, "its properties or comments changed", drift=False)
    return Step(
        model.name, reason, initial=False, planned_on=record.last_step_seq, only_alters=True
    )


def _estimate(record: ModelRecord | None) -> Estimate | None:
    if record is None or not record.succeeded_once:
        return None
    return Estimate(record.rows_written, record.bytes_written, record.duration_ms / 1000)


def _notes(model: Model, reason: Reason, *, initial: bool) -> tuple[str, ...]:
    """Say what an ordinary run of an incremental model leaves as it is."""
    states = {reason.state, *reason.also}
    if reason.state is State.MISSING:
        return ("the table is gone: full rebuild from all inputs",)
    if initial or (window_settings(model.strategy) is None and not model.is_snapshot):
        return ()
    notes = []
    if State.SQL_CHANGED in states:
        notes.append(
            "rows loaded before keep what the earlier SQL made; --full-refresh re-makes them"
        )
    if State.TAMPERED in states:
        notes.append("rows that others changed stay as they are; --full-refresh re-makes them")
    return tuple(notes)


def _is_cosmetic(model: Model, record: ModelRecord) -> bool:
    return record.fingerprint is not None and record.fingerprint.sql != model.fingerprint.sql


def check_adopt(selected: Sequence[str], options: Options) -> None:
    """Refuse `--adopt` for more than one model (spec/project.md §6)."""
    if options.adopt and len(selected) != 1:
        raise UsageError(
            "adopt-one-model",
            f"--adopt takes over one table at a time; {len(selected)} models are selected",
            hint="name it: --select MODEL --adopt",
        )


__all__ = ["NO_PARTITIONS", "Records", "check_adopt", "plan", "upstream_models"]
