"""The comparison of one model: its partitions in pieces, each with the reason of its drift."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.core.errors import PenstockError
from penstock.core.facts import Touched
from penstock.core.findings import some
from penstock.core.model import PARAMETER, Body, Model
from penstock.core.partitions.partition import overlapping
from penstock.core.partitions.ranges import WHOLE, Range, Ranges, difference, intersection, merged
from penstock.core.records import ModelRecord, PartitionRun, Status
from penstock.core.steps.step import ForeignCommit
from penstock.plan.resolve import Segment
from penstock.plan.values import Observed, Owner, Reason, State, Versions

_MOST_NAMED = 3
_LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference from what code and inputs would produce, in some partitions."""

    state: State
    because: str = ""
    ranges: Ranges = WHOLE


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring partitions with the same reasons.

    `because` are the inputs, or the details, of the state that counts.
    """

    low: int
    high: int
    reason: Reason
    because: tuple[str, ...] = ()
    segment: Segment | None = None

    @property
    def state(self) -> State:
        """The state by precedence."""
        return self.reason.state

    @property
    def states(self) -> tuple[State, ...]:
        """Every state that applies; the first one counts."""
        return (self.reason.state, *self.reason.also)

    @property
    def range(self) -> Range:
        """The partitions, both ends inclusive."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for a model: the pieces that are not current, ascending.

    `partitions` are those due and those on record, `recorded` those with a success; for an
    unpartitioned table both are `*`, which needs no version. `whole` is a state of the table itself
    in which nothing may run: `unrecorded`, `foreign_table`, or `unreadable` for the reason in
    `error`. `owner` is another state store that writes it, `gap` what its log lost. `relaid` is the
    earlier grain, if that changed. `mutated` is the SQL of an immutable model that differs from the
    SQL of its partitions.
    """

    model: str
    partitions: Ranges = ()
    segments: tuple[Segment, ...] = ()
    pieces: tuple[Piece, ...] = ()
    recorded: Ranges = ()
    cosmetic: int = 0
    whole: State | None = None
    lines: tuple[str, ...] = ()
    relaid: str = ""
    mutated: tuple[tuple[Body, Ranges], ...] = ()
    error: PenstockError | None = None
    owner: Owner | None = None
    gap: Versions | None = None
    of_table: bool = False

    @property
    def effective(self) -> Ranges:
        """The partitions that have SQL."""
        if self.of_table:
            return self.partitions
        return intersection(self.partitions, merged(segment.range for segment in self.segments))

    @property
    def drifted(self) -> Ranges:
        """The partitions that a sync would run."""
        return merged(
            p.range for p in self.pieces if p.state is not State.NOT_EFFECTIVE and p.reason.drift
        )

    @property
    def missing(self) -> Ranges:
        """The partitions whose rows are gone."""
        return merged(p.range for p in self.pieces if State.MISSING in p.states)

    @property
    def reason(self) -> Reason:
        """The state of the model: that of its table, or the first one of any partition."""
        if self.whole is not None:
            return Reason(self.whole)
        if not self.pieces:
            return Reason(State.CURRENT)
        if self.of_table:
            return self.pieces[0].reason
        order = list(State)
        found = sorted({piece.state for piece in self.pieces}, key=order.index)
        return Reason(found[0], also=tuple(found[1:]))


def first_reason(differences: Sequence[Difference]) -> Reason:
    """Return the first difference as the reason, with the states of the others."""
    if not differences:
        return Reason(State.CURRENT)
    state = differences[0].state
    others = dict.fromkeys(each.state for each in differences[1:] if each.state is not state)
    return Reason(state, differences[0].because, tuple(others))


def gap_line(model: Model, gap: Versions) -> str:
    """Return what is missing in the log of a table."""
    low, high = gap
    which = f"version {low}" if low == high else f"versions {low} to {high}"
    verb = "is" if low == high else "are"
    return (
        f"log-gap: {which} of the Delta log of {model.table} {verb} missing; "
        f"{'its' if low == high else 'their'} changes are unknown"
    )


def partitions_in(verdict: Verdict, wanted: frozenset[State]) -> Ranges:
    """Return the partitions in one of the states, even if it does not count first."""
    return merged(p.range for p in verdict.pieces if wanted & set(p.states))


def unbuilt_reasons(
    model: Model, record: ModelRecord | None, target: Observed
) -> Iterator[Difference]:
    """Return whether a model that never succeeded may begin."""
    if target.there and not model.is_view:  # a try that failed makes it no table of ours
        if target.ever_ours:
            unknown = "its log holds commits of penstock that the state does not know"
            yield Difference(State.UNRECORDED, unknown)
        else:
            made = f"built by {target.owner}" if target.owner else "not built by penstock"
            yield Difference(State.FOREIGN_TABLE, f"the table exists and was {made}")
        return
    if record is not None and record.status is Status.FAILED:
        yield Difference(State.FAILED, record.failure.code if record.failure else "")
        return
    yield Difference(State.NEVER_RUN)


def is_replaced(recorded: str, target: Observed) -> bool:
    """Return whether another table replaced the recorded one."""
    return bool(target.table_id and recorded) and target.table_id != recorded


def target_differences(
    model: Model, runs: tuple[PartitionRun, ...], target: Observed, recorded: str
) -> Iterator[Difference]:
    """Compare partitions with the result of their last successes; `recorded` is their table."""
    held = None if target.lying is None else overlapping(model.grid, target.lying)
    if target.there and target.unrecorded:  # a forgotten step of ours may have replaced the table
        yield Difference(State.UNRECORDED, unrecorded_detail(target.unrecorded[0]))
    for run in runs:
        here = ((run.low, run.high),)
        if not target.there:
            yield Difference(State.MISSING, "the table is gone", here)
            continue
        if is_replaced(recorded, target):
            yield _replaced_difference(target, here)
            continue
        if run.settled_version is None:
            yield Difference(State.MISSING, "its rows are gone", here)
            continue
        since = [commit for commit in target.foreign if commit.version > run.settled_version]
        tampered = [Difference(State.TAMPERED, message(c), _overlap(model, c, here)) for c in since]
        if model.grid.is_whole and since:
            tampered = [Difference(State.TAMPERED, foreign_detail(since))]
        yield from tampered
        if held is None or not run.holds_rows:
            continue
        unseen = target.gap is not None and target.gap[1] > run.settled_version
        suspect = here if unseen else merged(each for one in tampered for each in one.ranges)
        yield Difference(State.MISSING, "its rows are gone", difference(suspect, held))


IN_PLACE = "another table took its place"


def has_other_table(verdict: Verdict) -> bool:
    """Return whether another table is in the place of the recorded one."""
    return any(each.startswith(IN_PLACE) for piece in verdict.pieces for each in piece.because)


def _replaced_difference(target: Observed, here: Ranges) -> Difference:
    """Return the difference for a replaced table, by the writer of the new one."""
    what = IN_PLACE
    if target.owner is not None:
        return Difference(State.TAMPERED, f"{what}, of {target.owner}", here)
    if not target.ever_ours:
        return Difference(State.FOREIGN_TABLE, f"{what}, which penstock did not make", here)
    return Difference(State.MISSING, what, here)


def _overlap(model: Model, commit: Touched, here: Ranges) -> Ranges:
    spans = commit.spans.get(model.partition.field) if model.partition else None
    return here if spans is None else intersection(here, overlapping(model.grid, spans))


def foreign_detail(commits: Sequence[Touched | ForeignCommit]) -> str:
    """Return a message about the first of several foreign commits."""
    more = f" and {len(commits) - 1} more" if len(commits) > 1 else ""
    return f"{message(commits[0])}{more}"


def message(commit: Touched | ForeignCommit) -> str:
    """Return a message about a foreign commit."""
    by = f" by {commit.user}" if commit.user else ""
    when = f"{commit.time:%Y-%m-%d %H:%M:%S} UTC"
    return f"version {commit.version} {commit.operation}{by} at {when}"


def side_notes(model: Model, partitions: Ranges, target: Observed) -> tuple[str, ...]:
    """Return notes that are not drift: foreign rows beside partitions, missing versions."""
    lines = []
    for commit in target.foreign:
        spans = commit.spans.get(model.partition.field) if model.partition else None
        if spans and not intersection(overlapping(model.grid, spans), partitions):
            lines.append(f"foreign rows: {message(commit)} touched no known partition")
    if target.gap:
        lines.append(gap_line(model, target.gap))
    return tuple(lines)


def unrecorded_detail(first: Touched) -> str:
    """Return which commit of this store has no recorded step."""
    return f"version {first.version} is of step {first.step}, which is not on record with it"


def outside_differences(before: str | None, after: str) -> str:
    r"""Return what differs in the files, variables and packages that a model depends on.

    Each line of the texts is a name and a checksum, or a parameter and its value; `before` is None
    where it depended on none.

    >>> outside_differences("settings 1\nenv:RATE 2\na.yml 3", "settings 1\nenv:RATE 4\na.yml 3")
    'env:RATE changed'
    >>> outside_differences("settings 1\nparameter rate 1.2", "settings 1\nparameter rate 1.1")
    'parameter rate 1.2 -> 1.1'
    """
    old, new = (dict(map(_entry, (text or "").splitlines())) for text in (before, after))
    words = [
        _difference(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and name != "settings"
    ]
    if before is not None and after and old["settings"] == new["settings"] and words:
        return some(words, _MOST_NAMED)
    return "; ".join(("its settings changed", *([some(words, _MOST_NAMED)] if words else [])))


def _entry(line: str) -> tuple[str, str]:
    """Return a name and what it had: the name of a file may have spaces, as a value may."""
    if line.startswith(PARAMETER):
        name, _, value = line.removeprefix(PARAMETER).partition(" ")
        return f"{PARAMETER}{name}", value
    name, _, value = line.rpartition(" ")
    return name, value


def _difference(name: str, old: str | None, new: str | None) -> str:
    """Return what changed: of a parameter the values, which are not checksums."""
    if name.startswith(PARAMETER) and old is not None and new is not None:
        return f"{name} {_readable(old)} -> {_readable(new)}"
    return f"{name} {'is new' if old is None else 'changed' if new is not None else 'is gone'}"


def _readable(value: str) -> str:
    """Return a value, which is JSON, with its letters as they were written; its beginning."""
    text = json.dumps(json.loads(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
