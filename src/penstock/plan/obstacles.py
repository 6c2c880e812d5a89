"""What keeps a model from being planned: a lost source, an upstream never built, a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.core.errors import PenstockError, TableError
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.plan.values import Now, Options, Reason, State


def upstream_models(model: Model) -> tuple[str, ...]:
    """Give the models and seeds that a model reads or declares to depend on, sorted."""
    read = {name.name for name in model.inputs if name.kind is InputKind.MODEL}
    return tuple(sorted((read | set(model.depends_on)) - {model.name}))


def obstacle(
    project: Project,
    model: Model,
    built: Collection[str],
    records: Mapping[str, ModelRecord],
    now: Now,
) -> PenstockError | None:
    """Find what keeps a model from being planned: a lost source, an upstream never built.

    `built` names the models that the plan builds before it.
    """
    for name in _sources_below(project, model):
        if name in now.broken:
            return now.broken[name]
    for name in upstream_models(model):
        record = records.get(name)
        if name in built or (record is not None and record.succeeded_once):
            continue
        if name in project.seeds:
            return TableError(
                "seed-not-loaded",
                f"{model.name} reads the seed {name}, which was never loaded",
                where=model.where,
                hint="run: penstock seed",
            )
        return _not_built(model, project.models[name])
    return None


def _not_built(model: Model, upstream: Model) -> TableError:
    if upstream.is_snapshot:
        return TableError(
            "snapshot-not-built",
            f"model {model.name!r} reads snapshot {upstream.name!r}, which has no table yet",
            where=model.where,
            hint=f"penstock snapshot run --select {upstream.name}",
        )
    wanted = upstream.name if model.is_snapshot else f"+{model.name}"
    return TableError(
        "upstream-not-built",
        f"{model.name} reads {upstream.name}, which was never built",
        where=model.where,
        hint=f"run: penstock run --select {wanted}",
    )


def _sources_below(project: Project, model: Model) -> list[str]:
    found: list[str] = []
    waiting = list(model.inputs)
    while waiting:
        name = waiting.pop()
        if name.kind is InputKind.SOURCE:
            found.append(name.name)
        inner = project.models.get(name.name)
        if name.kind is InputKind.MODEL and inner is not None and inner.is_view:
            waiting.extend(inner.inputs)
    return sorted(found)


def table_refusal(model: Model, reason: Reason, options: Options) -> PenstockError | None:
    """Find states of a table in which nothing of its model may run."""
    if reason.state is State.UNRECORDED:
        return TableError(
            "unrecorded",
            f"{model.table} was built by penstock, but the state store does not know it",
            where=model.where,
            hint="restore the records from the tables' logs: penstock state rebuild",
        )
    if reason.state is State.FOREIGN_TABLE and not options.adopt:
        return TableError(
            "foreign-table",
            f"{model.table} exists and was not built by penstock",
            where=model.where,
            hint=f"to take it over: penstock run --select {model.name} --adopt",
        )
    return None
