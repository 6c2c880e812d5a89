"""The cascade: which partitions must run because partitions upstream of them do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping

from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import downstream
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import WHOLE, Ranges, difference, merged, union
from penstock.core.project import Project
from penstock.plan.changes import spans_of, with_view_inputs
from penstock.plan.resolve import Segment


def cascade(
    project: Project,
    start: Mapping[str, Ranges],
    candidates: Callable[[str], tuple[Segment, ...]],
    takes_part: Callable[[Model], bool],
) -> dict[str, Ranges]:
    """Return everything that runs when `start` runs, including `start`, by model.

    `candidates` are the segments of a model's partitions that may run; `takes_part` returns whether
    a model without partitions runs after its upstreams.
    """
    todo = {name: ranges for name, ranges in start.items() if ranges}
    parents = {name: direct_parents(model) for name, model in project.models.items()}
    through: set[str] = set()  # views that read what is run, run themselves or not
    for name in ordered(parents):
        model = project.models[name]
        follows = any(up in todo or up in through for up in parents[name])
        if follows and model.is_view:
            through.add(name)
        if not follows and name not in todo:
            continue
        if model.partition is None:
            if follows and takes_part(model):
                todo[name] = WHOLE
            continue
        found = followers(project, model, candidates(name), todo)
        if found:
            todo[name] = union(todo.get(name, ()), found)
    return todo


def upstream_models(model: Model) -> tuple[str, ...]:
    """Return the models and seeds that a model reads or depends on, sorted."""
    read = {name.name for name in model.inputs if name.kind is InputKind.MODEL}
    return tuple(sorted((read | set(model.depends_on)) - {model.name}))


def parents_of(project: Project, model: Model) -> tuple[str, ...]:
    """Return the models and seeds that a model reads, also through views, without itself."""
    names = with_view_inputs(project, _declared_inputs(model))
    found = {name.name for name in names if name.kind is InputKind.MODEL}
    return tuple(sorted(found - {model.name}))


def direct_parents(model: Model) -> tuple[str, ...]:
    """Return the same as `parents_of` without tables behind views: enough to order all models.

    The closure of a chain of views grows with the square of its length.
    """
    found = {name.name for name in _declared_inputs(model) if name.kind is InputKind.MODEL}
    return tuple(sorted(found - {model.name}))


def parents_among(project: Project, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the parents that order some models, skipping views that are not among them.

    The order equals that of `parents_of`.
    """
    found = {}
    for name in names:
        left = [*direct_parents(project.models[name])]
        seen = {name, *left}
        for parent in left:  # it grows on the way
            model = project.models.get(parent)
            if model is not None and model.is_view and parent not in names:
                more = [each for each in direct_parents(model) if each not in seen]
                seen.update(more)
                left += more
        found[name] = tuple(sorted(left))
    return found


def read_through_views(project: Project, wanted: Container[str]) -> dict[str, frozenset[str]]:
    """Return which of the wanted names every model reads, also through views.

    Models of a chain share one set, so that long chains are cheap.
    """
    parents = {name: direct_parents(model) for name, model in project.models.items()}
    found: dict[str, frozenset[str]] = {}
    for name in ordered(parents):
        sets = [found[up] for up in parents[name] if up in found and project.models[up].is_view]
        sets = [each for each in sets if each]
        own = frozenset(up for up in parents[name] if up in wanted)
        found[name] = sets[0] if len(sets) == 1 and own <= sets[0] else own.union(*sets)
    return found


def _declared_inputs(model: Model) -> tuple[InputName, ...]:
    read = [m.input for version in model.versions for b in version.bodies for m in b.inputs]
    declared = [InputName(InputKind.MODEL, name) for name in model.depends_on]
    return (*model.inputs, *read, *declared)


def is_decided_alone(project: Project, model: Model) -> bool:
    """Return whether a view is due if what it reads has changed.

    It then has checks and no table reads it, so that no other step runs them; or its template reads
    rows.
    """
    if not model.is_view:
        return False
    has_checks = bool(model.all_checks) and model.name not in project.views_of_tables
    return has_checks or bool(model.query.reads)


def grid_of(project: Project, name: str) -> Grid:
    """Return the grid of an input; `*` for one without partitions."""
    model = project.models.get(name)
    return model.grid if model else Grid()


def mapped_to(
    project: Project, model: Model, segments: tuple[Segment, ...], todo: Mapping[str, Ranges]
) -> Ranges:
    """Return the partitions of the segments that read any of the partitions in `todo`."""
    found: list[tuple[int, int]] = []
    for segment in segments:
        for mapping in segment.body.inputs:
            name, kind = mapping.input.name, mapping.input.kind
            above = model.name if kind is InputKind.THIS else name
            ranges = todo.get(above) if kind in (InputKind.MODEL, InputKind.THIS) else None
            if not ranges:
                continue
            grid = grid_of(project, name)
            changed = spans_of(grid, ranges)
            here = (segment.range,)
            found.extend(downstream(mapping.mapping, model.grid, here, changed, grid))
    return merged(found)


def followers(
    project: Project, model: Model, segments: tuple[Segment, ...], todo: Mapping[str, Ranges]
) -> Ranges:
    """Return the partitions of a model that must run after `todo`, including consequences."""
    own, found = todo.get(model.name, ()), mapped_to(project, model, segments, todo)
    while reads_itself(model):
        more = mapped_to(project, model, segments, {**todo, model.name: union(own, found)})
        if not difference(more, found):
            break
        found = union(found, more)
    return found


def reads_itself(model: Model) -> bool:
    """Return whether a partition of the model reads earlier partitions."""
    return any(
        mapping.input.kind is InputKind.THIS or mapping.input.name == model.name
        for version in model.versions
        for body in version.bodies
        for mapping in body.inputs
    )
