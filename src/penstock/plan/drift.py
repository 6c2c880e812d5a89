"""Drift of models that are one partition: what differs between record, code, inputs and facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.core.inputs import DeltaPin, Pin, ViewPin
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.core.records import ModelRecord, Status
from penstock.plan.cascade import is_looked_at_alone
from penstock.plan.changes import differences
from penstock.plan.refusals import unrecorded_detail
from penstock.plan.values import Now, Observed, Reason, State, told_error

Difference = tuple[State, str]
_INPUTS = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


def drift(project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now) -> Reason:
    """Give the first state that holds for the model, with the others in `also`.

    New input of a windowed model is not drift, because its window takes the new rows; the reason
    then says `drift=False`. What an upstream changed below the watermark no window takes: it is,
    until a step reads everything.
    """
    record = records.get(model.name)
    seen = now.targets.get(model.name, Observed())
    found = list(_differences(project, model, record, seen, records, now))
    if model.strategy.window is None:
        return _first(found)
    lasting = list(_passed(model, record, now))
    only_new = bool(found) and found[0][0] in _INPUTS
    if lasting and (only_new or not found):
        return replace(_first([*lasting, *found]), stale=True, passed=not found)
    return replace(_first(found), stale=bool(lasting), drift=not only_new)


def _first(found: Sequence[Difference]) -> Reason:
    if not found:
        return Reason(State.CURRENT)
    state, detail = found[0]
    return Reason(state, detail, tuple(dict.fromkeys(s for s, _ in found[1:] if s is not state)))


def _passed(model: Model, record: ModelRecord | None, now: Now) -> Iterator[Difference]:
    """Give what the next window leaves as it is: others' changes of the table, and of its inputs.

    Both last until a step reads everything.
    """
    passed = record.passed_by if record is not None else ()
    if model.name in passed:
        yield State.TAMPERED, "rows that others changed stay as they are"
    stale = {*now.below.get(model.name, ()), *passed} - {model.name}
    if stale:
        yield State.UPSTREAM_CHANGED, ", ".join(sorted(stale))


def _differences(  # one question, six sides
    project: Project,
    model: Model,
    record: ModelRecord | None,
    seen: Observed,
    records: Mapping[str, ModelRecord],
    now: Now,
) -> Iterator[Difference]:
    begins = model.fingerprint.effective_from
    if begins is not None and begins > now.run_timestamp.date():
        yield State.NOT_EFFECTIVE, f"its first version is effective from {begins}"
        return
    if model.name in now.unreadable:
        yield State.UNREADABLE, told_error(now.unreadable[model.name])
        return
    if record is None or not record.succeeded_once:
        yield from _without_success(model, record, seen)
        return
    if record.status is Status.FAILED:
        code = record.failure.code if record.failure else ""
        yield State.FAILED, code
    if not model.is_view:
        yield from _target(record, seen)
    if record.fingerprint is not None:
        found = differences(record.fingerprint, model.fingerprint, now.meaning)
        yield from (each for each in found if each[0] is not State.CURRENT)
    if not model.is_view or is_looked_at_alone(project, model):
        # a view has no rows that could be stale, but checks that somebody must look at
        yield from _inputs(project, model, record, records, now)
    for name in sources_below(project, model) if now.broken else ():
        if name in now.broken:
            yield State.UNREADABLE, told_error(now.broken[name])


def sources_below(project: Project, model: Model) -> list[str]:
    """Give the sources that a model reads, itself or through views, sorted."""
    found: set[str] = set()
    waiting = list(model.inputs)
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        if name.kind is InputKind.SOURCE:
            found.add(name.name)
        inner = project.models.get(name.name)
        if name.kind is InputKind.MODEL and inner is not None and inner.is_view:
            more = [each for each in inner.inputs if each not in seen]
            seen.update(more)
            waiting.extend(more)
    return sorted(found)


def _without_success(
    model: Model, record: ModelRecord | None, seen: Observed
) -> Iterator[Difference]:
    if seen.head is not None and not model.is_view:  # a try that failed makes it no table of ours
        if seen.ever_ours:
            yield State.UNRECORDED, "its log holds commits of penstock that the state does not know"
        else:
            yield State.FOREIGN_TABLE, whose_table(seen)
        return
    if record is not None and record.status is Status.FAILED:
        yield State.FAILED, record.failure.code if record.failure else ""
        return
    yield State.NEVER_RUN, ""


def whose_table(seen: Observed) -> str:
    """Say who made a table that is not ours."""
    return (
        f"a table of {seen.owner} is there"
        if seen.owner
        else ("a table that penstock did not make is there")
    )


def is_replaced(record: ModelRecord | None, seen: Observed) -> bool:
    """Whether another table took the place of the one on record."""
    known = record.table_id if record is not None else ""
    return bool(seen.table_id and known) and seen.table_id != known


def _target(record: ModelRecord, seen: Observed) -> Iterator[Difference]:
    if seen.head is None:
        yield State.MISSING, "the table is gone"
        return
    if seen.unrecorded:  # a step of ours that is forgotten may have replaced the table
        yield State.UNRECORDED, unrecorded_detail(seen.unrecorded[0])
    if is_replaced(record, seen):
        yield _replaced(seen)
        return
    if seen.foreign:
        first = seen.foreign[0]
        by = f" by {first.user}" if first.user else ""
        more = f" and {len(seen.foreign) - 1} more" if len(seen.foreign) > 1 else ""
        when = f"{first.time:%Y-%m-%d %H:%M:%S} UTC"
        yield State.TAMPERED, f"version {first.version} {first.operation}{by} at {when}{more}"


def _replaced(seen: Observed) -> Difference:
    """Tell a table that another one replaced by who made that."""
    if seen.owner is not None:
        return State.TAMPERED, f"another table took its place, of {seen.owner}"
    if not seen.ever_ours:
        return State.FOREIGN_TABLE, "another table took its place, which penstock did not make"
    return State.MISSING, "another table took its place"


def _inputs(
    project: Project,
    model: Model,
    record: ModelRecord,
    records: Mapping[str, ModelRecord],
    now: Now,
) -> Iterator[Difference]:
    for name, pin in wanted_pins(project, model, records, now).items():
        recorded = record.pins.get(name)
        if recorded == pin:
            continue
        upstream = records.get(name)
        if name in project.models or name in project.seeds:
            if recorded is None or upstream is None or _moved(recorded, pin):
                yield State.UPSTREAM_CHANGED, name
        elif recorded is None:
            yield State.SOURCE_CHANGED, f"{name} is new"
        else:
            yield State.SOURCE_CHANGED, f"{name} {recorded} -> {pin}"
    if record.cut_at is not None and record.cut_at < now.run_timestamp:
        yield State.SOURCE_CHANGED, f"read up to {record.cut_at:%Y-%m-%d %H:%M:%S} only"


def _moved(recorded: Pin, pin: Pin) -> bool:
    """Whether an upstream's last data change came after the version that was read."""
    match recorded, pin:
        case DeltaPin(old_id, read), DeltaPin(new_id, changed):
            return old_id != new_id or changed > read
        case ViewPin(read), ViewPin(made):
            return made > read
        case _:
            return True


def wanted_pins(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> dict[str, Pin]:
    """Give the version that each input of the model has now, views and what they read included.

    A model counts with the version of its last data change; sources with their newest.
    """
    pins: dict[str, Pin] = {}
    waiting = [each for each in model.query.inputs if each.kind is not InputKind.THIS]
    seen = set(waiting)
    while waiting:
        name = waiting.pop(0)
        inner = project.models.get(name.name)
        record = records.get(name.name)
        if inner is not None and inner.is_view:
            more = [each for each in inner.query.inputs if each not in seen]
            seen.update(more)
            waiting.extend(more)
            pins[name.name] = ViewPin(record.step_seq if record else 0)
        elif inner is not None or name.name in project.seeds:
            if record is not None and record.commit_version is not None:
                pins[name.name] = DeltaPin(record.table_id, record.commit_version)
        elif name.name in now.sources:
            pins[name.name] = now.sources[name.name]
    return pins
