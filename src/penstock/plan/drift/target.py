"""What a target's log says against the record: rows or tables that are gone, or are others'."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.facts import LogCommit, Touched
from penstock.core.model import Model
from penstock.core.partitions.partition import overlapping
from penstock.core.partitions.ranges import WHOLE, Ranges, difference, intersection, merged
from penstock.core.records import ModelRecord, PartitionRun, Status
from penstock.plan.changes import TargetNow
from penstock.plan.drift.verdict import Difference, gap_line
from penstock.plan.refusals import unrecorded_detail
from penstock.plan.values import Observed, Owner, State


def without_success(
    model: Model, record: ModelRecord | None, seen: Observed
) -> Iterator[Difference]:
    """Say of a model that never succeeded whether it may begin."""
    if seen.head is not None and not model.is_view:  # a try that failed makes it no table of ours
        if seen.ever_ours:
            unknown = "its log holds commits of penstock that the state does not know"
            yield Difference(State.UNRECORDED, unknown)
        else:
            yield Difference(State.FOREIGN_TABLE, whose_table(seen))
        return
    if record is not None and record.status is Status.FAILED:
        yield Difference(State.FAILED, record.failure.code if record.failure else "")
        return
    yield Difference(State.NEVER_RUN)


def whose_table(seen: Observed) -> str:
    """Say who made a table that is not ours."""
    made = f"of {seen.owner}" if seen.owner else "that penstock did not make"
    return f"a table {made} is there"


def is_replaced(record: ModelRecord | None, seen: Observed) -> bool:
    """Whether another table took the place of the one on record."""
    known = record.table_id if record is not None else ""
    return bool(seen.table_id and known) and seen.table_id != known


def of_table(record: ModelRecord, seen: Observed) -> Iterator[Difference]:
    """Compare a table without partitions with what the last success left."""
    if seen.head is None:
        yield Difference(State.MISSING, "the table is gone")
        return
    if seen.unrecorded:  # a step of ours that is forgotten may have replaced the table
        yield Difference(State.UNRECORDED, unrecorded_detail(seen.unrecorded[0]))
    if is_replaced(record, seen):
        yield _replaced(seen.owner, WHOLE, ever_ours=seen.ever_ours)
        return
    if seen.foreign:
        more = f" and {len(seen.foreign) - 1} more" if len(seen.foreign) > 1 else ""
        yield Difference(State.TAMPERED, f"{messages(seen.foreign[0])}{more}")


def of_partitions(
    model: Model, done: tuple[PartitionRun, ...], target: TargetNow, recorded: str
) -> Iterator[Difference]:
    """Compare partitions with what their last successes left; `recorded` is the table of these."""
    replaced = bool(target.table_id and recorded) and target.table_id != recorded
    held = None if target.lying is None else overlapping(model.grid, target.lying)
    for run in done:
        here = ((run.low, run.high),)
        if not target.there:
            yield Difference(State.MISSING, "the table is gone", here)
            continue
        if replaced:
            yield _replaced(target.owner, here, ever_ours=True)
            continue
        if run.settled_version is None:
            yield Difference(State.MISSING, "its rows are gone", here)
            continue
        since = [commit for commit in target.foreign if commit.version > run.settled_version]
        tampered = [
            Difference(State.TAMPERED, messages(c), _touched(model, c, here)) for c in since
        ]
        yield from tampered
        if held is None or not run.holds_rows:
            continue
        unseen = target.gap is not None and target.gap[1] > run.settled_version
        suspect = here if unseen else merged(each for one in tampered for each in one.ranges)
        yield Difference(State.MISSING, "its rows are gone", difference(suspect, held))


def _replaced(owner: Owner | None, here: Ranges, *, ever_ours: bool) -> Difference:
    """Tell a table that another one replaced by who made that."""
    what = "another table took its place"
    if owner is not None:
        return Difference(State.TAMPERED, f"{what}, of {owner}", here)
    if not ever_ours:
        return Difference(State.FOREIGN_TABLE, f"{what}, which penstock did not make", here)
    return Difference(State.MISSING, what, here)


def _touched(model: Model, commit: Touched, here: Ranges) -> Ranges:
    spans = commit.spans.get(model.partition.field) if model.partition else None
    return here if spans is None else intersection(here, overlapping(model.grid, spans))


def messages(commit: LogCommit | Touched) -> str:
    """Word somebody else's commit."""
    by = f" by {commit.user}" if commit.user else ""
    when = f"{commit.time:%Y-%m-%d %H:%M:%S} UTC"
    return f"version {commit.version} {commit.operation}{by} at {when}"


def lines_of(model: Model, known: Ranges, target: TargetNow) -> tuple[str, ...]:
    """Say what is no drift of any partition: foreign rows beside them, versions that are lost."""
    lines = []
    for commit in target.foreign:
        spans = commit.spans.get(model.partition.field) if model.partition else None
        if spans is not None and spans and not intersection(overlapping(model.grid, spans), known):
            lines.append(f"foreign rows: {messages(commit)} touched no known partition")
    if target.gap:
        lines.append(gap_line(model, target.gap))
    return tuple(lines)
