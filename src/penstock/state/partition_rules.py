"""What the end of a step means for partitions, as functions of values: every store obeys them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.core.ranges import Ranges, count
from penstock.core.records import LeastPin, PartitionRun
from penstock.core.step import Intent, Outcome, StepKind

BUILDS = (StepKind.BUILD, StepKind.SEED)
"""The kinds of steps that make rows from inputs."""

RESHAPES = (StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE)
"""The kinds that make a table ready. Where rows were held back they come inside of a build: begun
after it and ended before it, they make it no older."""

Written = tuple[int | None, int | None]
"""Rows and bytes of one partition; None where nobody knows."""


def is_whole(intent: Intent) -> bool:
    """Whether the step's model is one partition."""
    return intent.grid.is_whole


def leaves_history(intent: Intent, *, succeeded: bool) -> bool:
    """Whether the end of a step is told in the history of partitions.

    Making or rewriting a table is not, nor is a change of properties where there are many, nor an
    attempt to take rows back that failed a gate: the next command tries again.
    """
    if intent.kind is StepKind.ROLLBACK and intent.on_failure and not succeeded:
        return False
    if is_whole(intent):
        return not succeeded or intent.kind not in {StepKind.CREATE, StepKind.REWRITE}
    return intent.kind in {*BUILDS, StepKind.ROLLBACK}


def takes_grid(intent: Intent, *, succeeded: bool, settles: bool, has_rows: bool) -> bool:
    """Whether a step of another grid than the one on record makes it the model's.

    Records of the old grid go then. A failure or a change of properties takes it only where there
    are none; a step that is older than the records never does.
    """
    rebuilds = succeeded and intent.kind is not StepKind.ALTER
    return settles and (rebuilds or not has_rows)


class RowsByPartition:
    """What a step wrote to each of its partitions."""

    def __init__(self, outcome: Outcome, ords: Ranges) -> None:
        self._told: Mapping[int, Written] = {
            each.ord: (each.rows, each.size_bytes) for each in outcome.partitions
        }
        self._other: Written = (0, 0)
        if outcome.version is not None and not outcome.partitions:
            one = (outcome.rows.written, outcome.bytes_written)
            self._other = one if count(ords) == 1 else (None, None)
        if outcome.version is None:
            self._told = {}

    def of(self, number: int) -> Written:
        """Give rows and bytes of one partition."""
        return self._told.get(number, self._other)


Neighbour = tuple[int, PartitionRun]
"""A partition and what is known of it, as a run with the bounds 0."""

ToldPin = tuple[str, str, int, int, int]
"""Pins of one kind of one table: kind, table id, least version, how many, the newest step."""


def joined(partitions: Iterable[Neighbour]) -> tuple[PartitionRun, ...]:
    """Put neighbours of which the same is known into one run; partitions come rising."""
    runs: list[PartitionRun] = []
    low = high = 0
    known: PartitionRun | None = None
    for number, what in partitions:
        if known is not None and number == high + 1 and what == known:
            high = number
            continue
        if known is not None:
            runs.append(replace(known, low=low, high=high))
        low, high, known = number, number, what
    if known is not None:
        runs.append(replace(known, low=low, high=high))
    return tuple(runs)


def least_pin(told: Iterable[ToldPin]) -> LeastPin:
    """Give the oldest pin of an input; its kind is that of the newest step."""
    told = sorted(told, key=lambda each: each[4])
    return LeastPin(
        kind=told[-1][0],
        version=min(version for _, _, version, _, _ in told),
        table_ids=frozenset(table_id for _, table_id, _, _, _ in told),
        steps=sum(count for _, _, _, count, _ in told),
    )
