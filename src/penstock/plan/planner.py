"""The plan of a run: which of the selected models need a step, in which order, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.project import Project
from penstock.plan.agenda import decide_partitions
from penstock.plan.cascade import upstream_models
from penstock.plan.partition_steps import limited, linked
from penstock.plan.question import Decided, Earlier, Question, Records, Scope
from penstock.plan.table_steps import decide_run, decide_sync
from penstock.plan.values import Blocked, Now, Options, Plan

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
    question = Question(project, frozenset(selected), records, now, options, scope)
    decided: dict[str, Decided] = {}
    for name in _in_order(project, project.models if scope.cascade else selected):
        decided[name] = _decide(question, decided, project.models[name])
    return _folded(question, decided)


def _in_order(project: Project, selected: Iterable[str]) -> list[str]:
    parents = {
        name: (*upstream_models(model), *model.order_after)
        for name, model in project.models.items()
    }
    wanted = set(selected)
    return [name for name in ordered(parents) if name in wanted]


def _decide(question: Question, earlier: Earlier, model: Model) -> Decided:
    if model.partition is not None:
        return decide_partitions(question, earlier, model)
    if question.scope.syncs:
        return decide_sync(question, earlier, model)
    return decide_run(question, earlier, model)


def _folded(question: Question, decided: Earlier) -> Plan:
    """Put the decisions together, in their order."""
    each = decided.items()
    steps, left = [step for one in decided.values() for step in one.steps], 0
    if question.scope.most:
        steps, left = limited(steps, question.scope.most)
    at_once = frozenset(name for name, one in each if one.at_once)
    return Plan(
        question.now.run_timestamp,
        steps=tuple(linked(question.project, steps, at_once)),
        current=tuple(name for name, one in each if one.is_current),
        cosmetic=tuple(name for name, one in each if one.is_cosmetic),
        blocked=tuple(Blocked(name, one.error) for name, one in each if one.error is not None),
        notes=tuple(note for one in decided.values() for note in one.notes),
        remaining=left,
    )
