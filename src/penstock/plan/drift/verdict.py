"""What was found of one model: its partitions in pieces, each with the reason why it drifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.errors import PenstockError
from penstock.core.model import Body, Model
from penstock.core.partitions.ranges import WHOLE, Range, Ranges, intersection, merged
from penstock.plan.resolve import Segment
from penstock.plan.values import Owner, Reason, State, Versions, error_line


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as code and inputs would make it, in some partitions."""

    state: State
    because: str = ""
    ranges: Ranges = WHOLE


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring partitions for which the same holds, for the same reasons.

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
        """Every state that holds; the first one counts."""
        return (self.reason.state, *self.reason.also)

    @property
    def range(self) -> Range:
        """The partitions, both ends included."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of a model: pieces that are not current, rising.

    `known` are the due partitions and those on record, `recorded` those with a success; of a table
    without partitions both are `*`, which needs no version to be made. `whole` is
    a state of the table as such, in which nothing of it may run: `unrecorded`, `foreign_table`, or
    `unreadable` for the reason in `error`. `owner` is another state store that writes it, `gap`
    what its log lost of it. `relaid` says how the partitions were cut before, if otherwise than
    now. `mutated` is the SQL of an immutable model that is not what its partitions were made by.
    """

    model: str
    known: Ranges = ()
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
            return self.known
        return intersection(self.known, merged(segment.range for segment in self.segments))

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
        """The state of the model: that of its table, or the first that any partition is in."""
        if self.whole is not None:
            return Reason(self.whole)
        if not self.pieces:
            return Reason(State.CURRENT)
        if self.of_table:
            return self.pieces[0].reason
        order = list(State)
        found = sorted({piece.state for piece in self.pieces}, key=order.index)
        return Reason(found[0], also=tuple(found[1:]))


def first_of(found: Sequence[Difference]) -> Reason:
    """Give the first difference as the reason, with the states of the others."""
    if not found:
        return Reason(State.CURRENT)
    state = found[0].state
    others = dict.fromkeys(each.state for each in found[1:] if each.state is not state)
    return Reason(state, found[0].because, tuple(others))


def gap_line(model: Model, gap: Versions) -> str:
    """Say what the log of a table no longer tells."""
    low, high = gap
    which = f"version {low}" if low == high else f"versions {low} to {high}"
    verb = "is" if low == high else "are"
    return (
        f"log-gap: {which} of the log of {model.table} {verb} gone; "
        f"changes in {'it' if low == high else 'them'} are not known"
    )


def unreadable(
    model: str, known: Ranges, segments: tuple[Segment, ...], error: PenstockError
) -> Verdict:
    """Give the verdict on a model whose log, or that of an input, cannot be read."""
    lines, whole = (error_line(error),), State.UNREADABLE
    return Verdict(model, known, segments, whole=whole, error=error, lines=lines)


def all_current(model: str, known: Ranges, segments: tuple[Segment, ...]) -> Verdict:
    """Give the verdict on a model of which nothing differs, without looking at its partitions."""
    return Verdict(model, known, segments, recorded=known)


def states_of(verdict: Verdict, wanted: frozenset[State]) -> Ranges:
    """Give the partitions that are in one of the states, whether it counts first or not."""
    return merged(p.range for p in verdict.pieces if wanted & set(p.states))
