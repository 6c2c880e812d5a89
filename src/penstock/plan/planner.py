"""The plan of a run: which of the selected models need a step, in which order, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.graph import ordered
from penstock.core.project import Project
from penstock.core.records import DeferredModel
from penstock.plan.cascade import parents_of, upstream_models
from penstock.plan.kinds import partitions, passes, slices, tables
from penstock.plan.steps import Agenda, Decided, PlannedKind, Question, Records, Scope, cap
from penstock.plan.values import Blocked, Now, Options, Plan, Step
from penstock.plan.work import PartitionsWork, PassWork, SliceWork, StepWork, TableWork, work_of

_KINDS: Mapping[type[StepWork], PlannedKind] = {
    TableWork: tables,
    PartitionsWork: partitions,
    SliceWork: slices,
    PassWork: passes,
}


def link_all(project: Project, steps: Sequence[Step], parallel: frozenset[str]) -> list[Step]:
    """Return the steps, each with the steps that it comes after."""
    by_model: dict[str, list[Step]] = {}
    for step in steps:
        by_model.setdefault(step.model, []).append(step)
    agenda = Agenda(project, by_model, parallel)
    return [
        _KINDS[work_of(project, project.models[step.model])].link(agenda, step) for step in steps
    ]


NO_PARTITIONS = Scope()


def plan(  # the sides of one decision
    project: Project,
    selected: Sequence[str],
    records: Records,
    now: Now,
    options: Options,
    scope: Scope = NO_PARTITIONS,
) -> Plan:
    """Compare the selected models with what was built, without effects.

    Steps come in topological order, ties by name, partitions in order. A model whose upstream has a
    step in the plan is planned as `pending`: the outcome of the upstream decides. A cascade
    includes the models downstream of the selected ones.
    """
    question = Question(project, frozenset(selected), records, now, options, scope)
    decided: dict[str, Decided] = {}
    parents = {
        name: (*upstream_models(model), *model.order_after)
        for name, model in project.models.items()
    }
    wanted = project.models if scope.cascade else question.selected
    for name in (each for each in ordered(parents) if each in wanted):
        model = project.models[name]
        decided[name] = _KINDS[work_of(project, model)].decide(question, decided, model)
    each = decided.items()
    steps, left = [step for one in decided.values() for step in one.steps], 0
    if question.scope.most:
        steps, left = cap(steps, question.scope.most)
    at_once = frozenset(name for name, one in each if one.at_once)
    return Plan(
        question.now.run_timestamp,
        steps=tuple(link_all(question.project, steps, at_once)),
        current=tuple(name for name, one in each if one.is_current),
        cosmetic=tuple(name for name, one in each if one.is_cosmetic),
        blocked=tuple(Blocked(name, one.error) for name, one in each if one.error is not None),
        notes=tuple(note for one in decided.values() for note in one.notes),
        remaining=left,
        deferred=_deferred(question, steps),
    )


def _deferred(question: Question, steps: Sequence[Step]) -> tuple[DeferredModel, ...]:
    """Return what the steps read from another target."""
    project, deferred = question.project, question.now.deferred
    models = {step.model for step in steps} if deferred else set()
    read = {up for name in models for up in parents_of(project, project.models[name])}
    return tuple(each for name, each in sorted(deferred.items()) if name in read and each.reads)
