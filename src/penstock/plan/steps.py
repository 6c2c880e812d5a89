"""What a plan is asked, and the steps it is answered with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.errors import PenstockError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partitions.mapping import joined, spans
from penstock.core.partitions.ranges import (
    Ranges,
    count,
    difference,
    first_numbers,
    intersection,
    numbers,
)
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.core.strategy import Writing
from penstock.plan.cascade import grid_of, reads_itself, upstream_models
from penstock.plan.changes import spans_of
from penstock.plan.resolve import Segment, body_of
from penstock.plan.slices import first_moment
from penstock.plan.values import Estimate, Now, Observed, Options, Reason, State, Step
from penstock.plan.verdict import Verdict, is_replaced

LEFT = frozenset((State.FAILED, State.UPSTREAM_CHANGED))
"""The states in which a cascade that stopped half way leaves what it had still to make."""
Records = Mapping[str, ModelRecord]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command asks of partitions.

    `trigger` is its name, which the steps carry. `syncs` is whether drift is repaired; `run` also
    takes new input and what waits for it. `within` are those that each selected model may run on
    its own account. With `force` they run whatever their state, with `states` only those in one of
    them. `cascade` is whether partitions run wherever others above them do, or only `within`.
    `followed` are then those that read what the selected models may run: of these it also runs
    what an earlier cascade left undone.
    `facts` are those of the tables that may have to change.
    """

    trigger: str = "run"
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    within: Mapping[str, Ranges] = field(default_factory=dict)
    syncs: bool = False
    force: bool = False
    states: frozenset[State] = frozenset()
    cascade: bool = False
    followed: Mapping[str, Ranges] = field(default_factory=dict)
    batch_size: int | None = None
    most: int | None = None
    facts: Mapping[str, TableFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the planner; it stays the same from the first model to the last."""

    project: Project
    selected: frozenset[str]
    records: Records
    now: Now
    options: Options
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of one model; nothing at all where a command passes it by.

    `error` blocks it. `todo` are the partitions that its steps make, `((0, 0),)` for a whole table;
    steps that change no row have none. `hands_on` are the models above that its readers wait for,
    because it has no rows to make itself. `is_unborn` is whether its first version is still to
    come, `is_cosmetic` whether its SQL changed in nothing but its text. `at_once` is whether its
    steps may run beside each other after the first.
    """

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    error: PenstockError | None = None
    todo: Ranges = ()
    hands_on: tuple[str, ...] = ()
    is_current: bool = False
    is_cosmetic: bool = False
    is_unborn: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Partitions of one model that are run: `own` were asked for, the others follow from those.

    `sure` are run whatever becomes of the steps before them. `after` names the models above.
    """

    partitions: Ranges
    own: Ranges
    sure: Ranges
    after: tuple[str, ...] = ()


Earlier = Mapping[str, Decided]
"""What was decided of the models above, by name."""


def waits_for(earlier: Earlier, model: Model) -> tuple[str, ...]:
    """Name the models of the plan that a model comes after, sorted.

    One that is blocked counts, so that what reads it is skipped; one that is left as it is hands
    on those that it would have come after itself.
    """
    found: set[str] = set()
    for name in upstream_models(model):
        above = earlier.get(name, Decided())
        found.update((name,) if above.todo or above.error is not None else above.hands_on)
    return tuple(sorted(found))


BATCH = 31
"""How many partitions share a commit: a month of days, so that a failure loses no more."""
APART = 8
"""How many runs of neighbours may have a commit each."""


def table_step(
    question: Question, model: Model, reason: Reason, waits: tuple[str, ...], *, anew: bool = False
) -> Step:
    """Return the step that builds a model after those it waits for; `anew` from all its inputs."""
    record, options = question.records.get(model.name), question.options
    built = record is not None and record.succeeded_once
    adopted = State.FOREIGN_TABLE in reason.states and (options.adopt or model.keeps_history)
    seen = question.now.targets.get(model.name, Observed())
    initial = (
        anew
        or is_replaced(record.table_id if record else "", seen)
        or options.full_refresh
        or State.MISSING in reason.states
        or not (built or adopted)
    )
    notes, owner = _notes(model, reason, initial=initial), seen.owner
    if owner is not None:
        notes = (*notes, f"takes the table from {owner}, whose next run will be refused")
    executed, estimate = "", None
    if record is not None and built:
        took = record.duration_ms / 1000
        estimate = Estimate(record.rows_written, record.bytes_written, took)
    if record and record.fingerprint and record.fingerprint.sql != model.fingerprint.sql:
        executed = record.fingerprint.sql
    return Step(
        model=model.name,
        reason=reason,
        initial=initial,
        upstream=waits,
        planned_on=record.last_step_seq if record else 0,
        executed=executed,
        estimate=estimate,
        notes=notes,
        kind=_kind(model, options, seen, initial=initial),
        moment=first_moment(question.now, model, options, record, initial=initial),
    )


def _kind(model: Model, options: Options, seen: Observed, *, initial: bool) -> str:
    """Say why a step of a whole table reads what it reads; "" leaves it to its windows."""
    if options.rerun is not None:
        return "rerun"
    anew = initial and options.full_refresh and seen.there
    if anew or not (initial or model.is_view or model.writing is not Writing.WHOLE):
        return "full"
    return "initial" if initial and not model.is_view else ""


def _notes(model: Model, reason: Reason, *, initial: bool) -> tuple[str, ...]:
    """Say what an ordinary run of an incremental model leaves as it is."""
    states = reason.states
    if State.MISSING in states:
        return ("the table is gone: full rebuild from all inputs",)
    if initial or not (model.strategy.keeps_rows or model.keeps_history):
        return ()
    reads_less = model.strategy.adds_again or model.strategy.window or model.entity
    gone = "rows that the query no longer gives stay; --full-refresh drops them"
    kept = _KEPT[model.keeps_history] if reads_less or model.keeps_history else gone
    notes = (kept,) if State.SQL_CHANGED in states else ()
    return (*notes, way_out(model)) if State.TAMPERED in states else notes


def way_out(model: Model, package: str = "") -> str:
    """Return the commands that replace, or keep, rows that others changed, in a sentence."""
    accept = f"penstock accept {model.name} --reason TEXT keeps them"
    if package:
        again = f"penstock run --select {package} --full-refresh rebuilds all tables of {package}"
    elif model.keeps_history:
        command = f"penstock {model.strategy.command} --select {model.name} --full-refresh"
        again = f"{command} would drop all versions"
    else:
        again = f"penstock sync --select {model.name} rebuilds it"
    return f"rows that others changed stay as they are; {again}, {accept}"


_KEPT = {
    False: "rows loaded before keep what the earlier code made; --full-refresh rebuilds them",
    True: "versions opened before keep what the earlier SQL made; "
    "--full-refresh would drop them all",
}
"""What is said of rows by earlier code, of tables (False) and of histories (True)."""


def partition_steps(
    model: Model, verdict: Verdict, wanted: Wanted, trigger: str, batch_size: int | None
) -> Iterator[Step]:
    """Return the steps of one model in the order of its partitions.

    Neighbours of one segment go together: all of them where the SQL takes a range, at most
    `batch_size` where it takes one partition; where there are many gaps, what lies between them
    goes together too. A model that reads itself goes one by one.
    """
    classes = [
        (trigger, False, intersection(wanted.own, wanted.sure)),
        (trigger, True, difference(wanted.own, wanted.sure)),
        ("cascade", False, difference(wanted.sure, wanted.own)),
        ("cascade", True, difference(difference(wanted.partitions, wanted.own), wanted.sure)),
    ]
    found = []
    for name, pending, ranges in classes:
        todo = intersection(ranges, wanted.partitions)
        for segment in verdict.segments:
            pieces = intersection(todo, (segment.range,))
            for batch in _batches(model, segment, pieces, batch_size):
                step = Step(
                    model=model.name,
                    reason=_reason_of_batch(verdict, batch, wanted, pending=pending),
                    initial=False,
                    partitions=batch,
                    grid=model.grid,
                    version=segment.version.number,
                    revision=segment.body.fingerprint.revision,
                    trigger=name,
                    is_range=segment.body.is_range,
                )
                found.append(step)
    yield from sorted(found, key=lambda step: step.partitions)


def _batches(
    model: Model, segment: Segment, pieces: Ranges, batch_size: int | None
) -> Iterator[Ranges]:
    """Cut partitions into those of one commit each.

    Neighbours that lie apart from others are a batch of their own, so that the failure of one
    holds up no other. Of many such runs a commit each would be too many: they share some.
    """
    settings = model.partition
    given = batch_size or (settings.batch_size if settings else None)
    if reads_itself(model):
        size = 1
    elif segment.body.is_range:
        size = given or max(count(pieces), 1)
    else:
        size = given or BATCH
    if len(pieces) > APART and size > 1:
        left = pieces
        while left:
            batch = first_numbers(left[:BATCH], size)
            yield batch
            left = difference(left, batch)
        return
    for low, high in pieces:
        for first in range(low, high + 1, size):
            yield ((first, min(high, first + size - 1)),)


def _reason_of_batch(verdict: Verdict, batch: Ranges, wanted: Wanted, *, pending: bool) -> Reason:
    inside = [p for p in verdict.pieces if intersection((p.range,), batch)]
    if not inside or pending:
        if wanted.after and pending:
            return Reason.after(wanted.after)
        return Reason(State.CURRENT, "asked for", drift=False)
    order = list(State)
    first = min(inside, key=lambda p: order.index(p.state))
    others = {state for p in inside for state in p.states} - {first.state}
    silent = first.state in (State.SQL_CHANGED, State.NEVER_RUN)
    detail = "" if silent else ", ".join(first.because)
    return Reason(first.state, detail, tuple(sorted(others, key=order.index)))


def limited(steps: Sequence[Step], most: int) -> tuple[list[Step], int]:
    """Keep the first `most` partitions in the order of the steps; give how many are left out.

    A step may be split. Steps come after those they read, so what is kept never reads what is not.
    """
    kept, left, room = [], 0, most
    for step in steps:
        take = min(step.count, room)
        room -= take
        left += step.count - take
        if take == step.count:
            kept.append(step)
        elif take:
            kept.append(replace(step, partitions=first_numbers(step.partitions, take)))
    return kept, left


def linked(project: Project, steps: Sequence[Step], parallel: frozenset[str]) -> list[Step]:
    """Say of every step which others it comes after.

    A step of partitions waits for the steps above that make what it reads; a step of a whole
    table for all steps of its upstreams. Steps of one model wait for its first one, which makes
    the table what it must be; for each other where the model is not in `parallel`. Steps that make
    what only checks read come before too.
    """
    by_model: dict[str, list[Step]] = {}
    for step in steps:
        by_model.setdefault(step.model, []).append(step)
    found = []
    for step in steps:
        upstream, later_than = _before(project, step, by_model, parallel), step.later_than
        if step.session is None:  # those of a pass say it themselves
            later_than = tuple(_keys(by_model, project.models[step.model].order_after))
        at_once = step.model in parallel and len(by_model[step.model]) > 1
        if (upstream, later_than, at_once) != (step.upstream, step.later_than, step.at_once):
            step = replace(step, upstream=upstream, later_than=later_than, at_once=at_once)  # noqa: PLW2901
        found.append(step)
    return found


def _before(
    project: Project, step: Step, by_model: Mapping[str, list[Step]], parallel: frozenset[str]
) -> tuple[str, ...]:
    model = project.models[step.model]
    if step.session is not None:  # its pass says which steps; what makes the events is a model
        known = {each.key for steps in by_model.values() for each in steps}
        models = [key for key in step.upstream if key not in known]
        lost = {key.partition(" ")[0] for key in models} - by_model.keys()  # they cannot be run
        known_above = known.intersection(step.upstream)
        return tuple(sorted({*known_above, *lost, *_keys(by_model, models)}))
    if model.partition is None:
        keys = [key for key in step.upstream if key not in by_model]
        named = {key.partition(" ")[0] for key in step.upstream} - {step.model}
        return tuple(sorted({*keys, *_keys(by_model, named)}))
    found: set[str] = set()
    _, body = body_of(model, step.version, step.revision)
    for mapping in body.inputs:
        name = mapping.input
        above = by_model.get(name.name)
        if name.kind is not InputKind.MODEL or name.name == model.name or not above:
            continue
        grid, places = grid_of(project, name.name), map(model.grid.span, numbers(step.partitions))
        read = joined(span for each in places for span in spans(mapping.mapping, each, grid))
        for other in above:
            made = spans_of(other.grid, other.partitions)
            if any(low < end and begin < high for low, high in made for begin, end in read):
                found.add(other.key)
    siblings = by_model[step.model]
    at = siblings.index(step)
    if at:
        found.add(siblings[0 if step.model in parallel else at - 1].key)
    return tuple(sorted(found))


def _keys(by_model: Mapping[str, list[Step]], names: Iterable[str]) -> list[str]:
    return [step.key for name in names for step in by_model.get(name, ())]
