"""Watermarks of entities: their values after a step, and the rows that they select."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import Entity, WatermarkEntry
from penstock.core.errors import IncrementalConfigError
from penstock.core.names import quoted
from penstock.strategies.entities.statistics import SliceCounts

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


@dataclass(frozen=True, slots=True)
class EntityWindow:
    """The range of target rows that a slice should contain, by one watermark column, inclusive.

    `high` is None if an empty slice stands for everything above.
    """

    column: str
    low: TypedValue
    high: TypedValue | None = None

    def condition(self, alias: str = "") -> str:
        """Return the condition for rows inside; NULL is never inside."""
        column = f"{alias}{quoted(self.column)}"
        above = f"{self.low.sql} <= {column}"
        return above if self.high is None else f"{above} AND {column} <= {self.high.sql}"

    @property
    def is_empty(self) -> bool:
        """Whether it contains no value: an older slice again."""
        return self.high is not None and self.high < self.low


def new_watermark(
    entity: Entity, column: str, stored: TypedValue | None, high: TypedValue | None
) -> TypedValue | None:
    """Return a watermark after a step: the greater value; None if unchanged.

    A wider integer or decimal continues the series; other types raise `watermark-type-changed`.
    """
    if high is None:
        return None
    if stored is None:
        return high
    if _type_series(stored.type) != _type_series(high.type):
        raise IncrementalConfigError(
            "watermark-type-changed",
            f"watermark {column!r} of {entity.model} is {high.type} now and was {stored.type}",
            where=entity.where,
            hint=f"penstock watermark set {entity.model} VALUE --column {column}",
        )
    return high if high > stored else None


def _type_series(kind: str) -> str:
    if kind in _INTEGERS:
        return "integer"
    return kind.partition("(")[0]


def inferred_windows(
    entity: Entity, lows: Mapping[int, TypedValue], counts: SliceCounts, table: Schema | None
) -> tuple[tuple[EntityWindow, ...] | None, tuple[str, ...]]:
    """Return the windows in which missing keys count as deleted; or None, and the reason.

    `lows` are the low bounds by position of the entry, so that one column may have several. A first
    run, without a table, cannot infer deletes.
    """
    if table is None or not entity.infers_deletes or not entity.watermark:
        return None, ()
    empty = not counts.rows
    if empty and not entity.settings.allow_empty_delete:
        return None, ()
    windows, undefined = [], []
    for place, each in enumerate(entity.watermark):
        low, known = lows.get(place), table.find(each.column)
        high = next((v for k, v in counts.highs.items() if k.lower() == each.column.lower()), None)
        if low is None or known is None or (high is None and not empty):
            undefined.append(each.column)
        else:
            windows.append(EntityWindow(known.name, low, high))
    if undefined:
        named = ", ".join(repr(name) for name in dict.fromkeys(undefined))
        words = f"nothing is inferred to be deleted, since {named} has no window yet"
        return None, (f"delete-window-undefined: {words}",)
    return (None if any(each.is_empty for each in windows) else tuple(windows)), ()


def read_filter(entries: tuple[WatermarkEntry, ...], lows: Mapping[int, TypedValue]) -> str:
    """Return the condition for the rows to read from a whole source; `lows` as above.

    Groups are in ascending number, entries of one group in order, left to right; the operation of
    its first entry joins a group.
    """
    groups: dict[int, list[tuple[WatermarkEntry, str]]] = {}
    for place, each in enumerate(entries):
        reached = _above_bound(each, lows.get(place))
        groups.setdefault(each.group, []).append((each, reached))
    whole = ""
    for place, number in enumerate(sorted(groups)):
        (first, text), *others = groups[number]
        for each, reached in others:
            text = f"({text} {each.operation.upper()} {reached})"
        whole = f"({whole})" if place > 1 else whole
        whole = f"{whole} {first.operation.upper()} {text}" if whole else text
    return whole


def _above_bound(entry: WatermarkEntry, low: TypedValue | None) -> str:
    return "TRUE" if low is None else f"{quoted(entry.column)} >= {low.sql}"
