"""Watermarks of entities: what a step leaves, and what they say of rows to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.columns.typed import TypedValue
from penstock.core.entity import Entity, WatermarkEntry
from penstock.core.errors import IncrementalConfigError
from penstock.core.names import quoted

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


@dataclass(frozen=True, slots=True)
class EntityWindow:
    """The rows of the target that a slice should hold, by one watermark column; both ends in it.

    `high` is None where an empty slice stands for all that is above.
    """

    column: str
    low: TypedValue
    high: TypedValue | None = None

    def condition(self, alias: str = "") -> str:
        """Give the condition of a row being inside; NULL never is."""
        column = f"{alias}{quoted(self.column)}"
        above = f"{self.low.sql} <= {column}"
        return above if self.high is None else f"{above} AND {column} <= {self.high.sql}"

    @property
    def is_empty(self) -> bool:
        """Whether no value lies inside: an older slice again."""
        return self.high is not None and self.high < self.low


def moved_on(
    entity: Entity, column: str, stored: TypedValue | None, high: TypedValue | None
) -> TypedValue | None:
    """Give what a step leaves of a watermark: the greater value, never less; None for nothing new.

    A wider integer or decimal goes on with the series; raises `watermark-type-changed` for others.
    """
    if high is None:
        return None
    if stored is None:
        return high
    if _series(stored.type) != _series(high.type):
        raise IncrementalConfigError(
            "watermark-type-changed",
            f"watermark {column!r} of {entity.model} is {high.type} now and was {stored.type}",
            where=entity.where,
            hint=f"penstock watermark set {entity.model} VALUE --column {column}",
        )
    return high if high > stored else None


def _series(kind: str) -> str:
    if kind in _INTEGERS:
        return "integer"
    return kind.partition("(")[0]


def read_filter(entries: tuple[WatermarkEntry, ...], lows: Mapping[str, TypedValue]) -> str:
    """Give the condition under which rows of a whole source are read; `lows` by column.

    Groups come in ascending number, entries of one group in their order, left to right; a group is
    joined by the operation of its first entry.
    """
    groups: dict[int, list[WatermarkEntry]] = {}
    for each in entries:
        groups.setdefault(each.group, []).append(each)
    whole = ""
    for place, number in enumerate(sorted(groups)):
        first, *others = groups[number]
        text = _reached(first, lows)
        for each in others:
            text = f"({text} {each.operation.upper()} {_reached(each, lows)})"
        whole = f"({whole})" if place > 1 else whole
        whole = f"{whole} {first.operation.upper()} {text}" if whole else text
    return whole


def _reached(entry: WatermarkEntry, lows: Mapping[str, TypedValue]) -> str:
    low = lows.get(entry.column)
    return "TRUE" if low is None else f"{quoted(entry.column)} >= {low.sql}"
