"""What a run does with the models of session packages: the steps of their passes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.core.errors import PenstockError, TableError
from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partitions.ranges import WHOLE
from penstock.core.sessions.manifest import (
    PassKind,
    PassStep,
    PassStepKind,
    PlannedPass,
    instant_text,
)
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionModel, SessionPackage, SessionTableKind
from penstock.plan.kinds.tables import detect_table_drift, table_step
from penstock.plan.obstacles import obstacle, table_obstacle
from penstock.plan.steps import Agenda, Decided, Earlier, Question, waits_for, way_out
from penstock.plan.values import PassesNow, Reason, State, Step
from penstock.plan.work import PassWork


def decide(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Return the steps of a model in the passes of its package; a sync changes nothing.

    A model without gain is current, even if its inputs have changed.
    """
    package = question.project.package_of(model.name)
    if package is None:
        return Decided()
    now = question.now.passes.get(package.name)
    found = detect_table_drift(question.project, model, question.records, question.now).reason
    is_tampered = model.name in question.selected and State.TAMPERED in found.states
    notes = (f"{model.name}: {found.detail}; {way_out(model, package.name)}",) * is_tampered
    if now is None or question.scope.syncs:
        return Decided(notes=notes)
    if now.error is not None:
        return Decided(error=now.error)
    if question.options.full_refresh and model.name not in now.overwrites:
        # its table would lose what the manifest holds to be processed
        question = replace(question, options=replace(question.options, full_refresh=False))
    steps = tuple(_steps(question, earlier, model, now))
    if State.MISSING in found.states:
        steps = tuple(_as_rebuilds(steps))
    if not steps:
        is_current = model.name in question.selected and not model.is_view
        return Decided(notes=notes, is_current=is_current)
    error = (
        _events_obstacle(question, earlier, package)
        or table_obstacle(question, earlier, model, found)
        or _lost_table(model, now, found)
    )
    return Decided(error=error) if error else Decided(steps, notes, todo=WHOLE)


def _events_obstacle(
    question: Question, earlier: Earlier, package: SessionPackage
) -> PenstockError | None:
    """Return why a package cannot read its events: then none of its steps may run."""
    lifecycle = package.model(SessionTable.LIFECYCLE)
    reader = question.project.models.get(lifecycle.name) if lifecycle else None
    return obstacle(question, earlier, reader) if reader else None


def _lost_table(model: Model, now: PassesNow, reason: Reason) -> TableError | None:
    """Refuse to build a table of one window that lost rows the manifest lists as processed."""
    name = now.package.name
    is_held, again = model.name in now.processed, f"sessions forget {name} {model.name}"
    kinds = {each.name: each.kind for each in now.package.models}
    if kinds.get(model.name) is SessionTableKind.KEPT:
        is_held, again = bool(now.processed), f"run --select {name} --full-refresh"
    if State.MISSING not in reason.states or not is_held or model.name in now.overwrites:
        return None
    return TableError(
        "session-table-missing",
        f"{model.table} is gone, and the manifest of {name!r} records its rows as made",
        where=model.where,
        hint=f"restore it, or replay what it held: penstock {again}",
    )


def _as_rebuilds(steps: Sequence[Step]) -> Iterator[Step]:
    """Let a user's model rebuild its missing table; later passes find it there."""
    for number, each in enumerate(steps):
        is_model = isinstance(each.work, PassWork) and each.work.part.kind is PassStepKind.MODEL
        yield replace(each, initial=each.initial or (is_model and number == 0))


def _steps(question: Question, earlier: Earlier, model: Model, now: PassesNow) -> Iterator[Step]:
    before: tuple[str, ...] = ()
    for planned in now.planned:
        parts = pass_steps(now.package, planned, now.readers, question.selected)
        named = {each.name: each for each in parts}
        for part in parts:
            if part.model == model.name:
                own = PassWork(now.package.name, planned, part)
                step = _step(question, model, now, own)
                if before:  # the pass before has made its table
                    step = replace(step, initial=False)
                needs = [own.key_of(named[name]) for name in part.needs if name in named]
                after = [own.key_of(named[name]) for name in part.after if name in named]
                above = _outer_steps(question, earlier, model, part)
                above = (*above, *_event_models(earlier, now.package, part))
                yield replace(
                    step,
                    upstream=tuple(dict.fromkeys((*needs, *above))),
                    later_than=(*after, *before),
                )
        made = [PassWork(now.package.name, planned, each).key(each.model) for each in parts]
        before = (*before, *made)


def _outer_steps(
    question: Question, earlier: Earlier, model: Model, part: PassStep
) -> Sequence[str]:
    """Return what a user's model waits for outside its pass: models of other packages."""
    if part.kind is not PassStepKind.MODEL:
        return ()
    of, own = question.project.package_of, question.project.package_of(model.name)
    return [name for name in waits_for(earlier, model) if of(name) != own]


def _step(question: Question, model: Model, now: PassesNow, own: PassWork) -> Step:
    reason = Reason(State.CURRENT, _events_text(own), drift=False)
    step = table_step(question, model, reason, ())
    anew = model.name in now.overwrites and own.part.kind is not PassStepKind.STITCH
    keeps = own.part.kind is PassStepKind.MODEL
    return replace(step, initial=anew or (keeps and step.initial), work=own, notes=())


def _events_text(own: PassWork) -> str:
    """Return which events a step reads; unless it is the model's only step, also its part."""
    kind, limits = own.planned.kind, own.planned.limits
    if own.planned.rebuild is not None:
        return f"{kind} {own.planned.rebuild}"
    words = [str(kind)] * (kind is not PassKind.PACKAGE)
    words += ["stitch"] * (own.part.kind is PassStepKind.STITCH)
    return " ".join(
        [*words, instant_text(limits.lower_limit), "to", instant_text(limits.upper_limit)]
    )


def _event_models(earlier: Earlier, package: SessionPackage, part: PassStep) -> Sequence[str]:
    """Return the models that build the events; the first step of a pass waits for them."""
    events = package.events
    if events.kind is not InputKind.MODEL or part.needs:
        return ()
    found = earlier.get(events.name, Decided())
    if found.todo or found.error is not None:
        return (events.name,)
    return found.hands_on


def pass_steps(
    package: SessionPackage,
    planned: PlannedPass,
    readers: Mapping[str, Sequence[str]],
    selected: Collection[str] | None = None,
) -> tuple[PassStep, ...]:
    """Return the steps of a pass in an executable order.

    Base tables are built for any selection. `readers` are the project's tagged models with their
    inputs; None selects all.
    """
    gaining = (*planned.models, *planned.conditional)
    wanted = {name for name in gaining if selected is None or name in selected}
    if not wanted:
        return ()
    base = tuple(each.name for each in package.models if not each.is_tracked)
    found = [_table_step(each, base, wanted, planned) for each in package.models]
    steps = [each for each in found if each is not None]
    inside = {name: [each for each in read if each in readers] for name, read in readers.items()}
    steps += [
        PassStep(
            PassStepKind.MODEL,
            name,
            name,
            tuple(dict.fromkeys((*base, *(each for each in readers[name] if each in wanted)))),
            conditional=name in planned.conditional,
        )
        for name in ordered(inside)
        if name in wanted
    ]
    return (*steps, *_stitch_steps(package, {each.name for each in steps}, base))


def _table_step(
    each: SessionModel, base: Sequence[str], wanted: Collection[str], planned: PlannedPass
) -> PassStep | None:
    """Return the step of a table; a failed base table ends the pass for all readers."""
    if not each.is_tracked:
        before = tuple(base[: base.index(each.name)])
        return PassStep(PassStepKind.BASE, each.name, each.name, before)
    if each.name not in wanted:
        return None
    needs = tuple(dict.fromkeys((*base, *each.reads)))
    may = each.name in planned.conditional
    return PassStep(PassStepKind.MODULE, each.name, each.name, needs, each.after, may)


def _stitch_steps(
    package: SessionPackage, names: Collection[str], base: tuple[str, ...]
) -> list[PassStep]:
    """Return the steps that stitch, including targets without gain in this pass."""
    mapping = package.model(SessionTable.USER_MAPPING)
    if mapping is None:
        return []
    targets = [package.model(part) for part in package.options.stitched]
    return [
        PassStep(
            PassStepKind.STITCH,
            f"{package.name}_stitch_{each.part}",
            each.name,
            (*base, *(name for name in (mapping.name, each.name) if name in names)),
        )
        for each in targets
        if each is not None
    ]


def link(agenda: Agenda, step: Step) -> Step:
    """Wait for the steps of the pass, and for all steps of the models that build the events."""
    known = {each.key for steps in agenda.by_model.values() for each in steps}
    models = [key for key in step.upstream if key not in known]
    lost = {key.partition(" ")[0] for key in models} - agenda.by_model.keys()  # they cannot be run
    above = known.intersection(step.upstream)
    return replace(step, upstream=tuple(sorted({*above, *lost, *agenda.keys(models)})))
