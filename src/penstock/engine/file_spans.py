"""Where the rows of a data file lie, by what the log says of the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.partition import Span, position

NOWHERE: Span = (0, 0)
"""No position at all: an empty file, or one that has only NULLs in the column."""

_DAY = 86_400_000_000
CUT = 1_000
"""How far above its written value an instant can lie: statistics are cut to milliseconds."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column, as it is asked for and as the log names it, and its Spark type."""

    name: str
    physical: str
    kind: str
    _read: dict[str, Span | None] = field(default_factory=dict)

    def at(self, text: str | None) -> Span | None:
        """Give the span of a partition value, which is exact; None if it cannot be read."""
        if not text:
            return NOWHERE
        if text not in self._read:
            self._read[text] = over(position(text, self.kind), kind=self.kind)
        return self._read[text]

    def between(self, statistics: Mapping[str, Any]) -> Span | None:
        """Give the span of a file's statistics; None if they do not tell."""
        records = statistics.get("numRecords")
        nulls = (statistics.get("nullCount") or {}).get(self.physical)
        if records == 0 or (records is not None and nulls == records):
            return NOWHERE
        low = (statistics.get("minValues") or {}).get(self.physical)
        high = (statistics.get("maxValues") or {}).get(self.physical)
        if low is None or high is None:
            return None
        first, last = position(str(low), self.kind), position(str(high), self.kind)
        return over(first, last, kind=self.kind, cut=CUT)


def over(low: int | None, high: int | None = None, *, kind: str, cut: int = 1) -> Span | None:
    """Give the span from one value to another, or of one alone; a DATE is its whole day.

    `cut` is how far above its written value an instant can lie.

    >>> over(0, kind="date"), over(5, 7, kind="int"), over(5, 7, kind="timestamp", cut=1000)
    ((0, 86400000000), (5, 8), (5, 1007))
    """
    high = low if high is None else high
    if low is None or high is None:
        return None
    width = _DAY if kind == "date" else cut if kind.startswith("timestamp") else 1
    return low, high + width


def spans_of(action: Mapping[str, Any], fields: Sequence[Field]) -> tuple[Span | None, ...]:
    """Give where the rows of an `add` or `remove` can lie, by column; None for anywhere.

    Statistics are read only for a column that the table is not partitioned by.
    """
    parts = action.get("partitionValues") or {}
    if all(each.physical in parts for each in fields):
        return tuple(each.at(parts[each.physical]) for each in fields)
    told = json.loads(action.get("stats") or "{}")
    return tuple(
        each.at(parts[each.physical]) if each.physical in parts else each.between(told)
        for each in fields
    )


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Give spans rising and apart; neighbours become one, empty ones go.

    >>> joined([(5, 7), (1, 3), (3, 4), (0, 0), (6, 9)])
    ((1, 4), (5, 9))
    """
    apart: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if apart and low <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], high))
        else:
            apart.append((low, high))
    return tuple(apart)
