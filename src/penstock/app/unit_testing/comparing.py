"""Two multisets of typed rows: what only one of them has (spec/checks.md §9.3)."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from penstock.app.unit_testing.reports import RowLine, RowsDiffer
from penstock.core.columns.types import ArrayType, ColumnType, MapType, ScalarType, StructType
from penstock.project.unit_tests.casting import Column, Row, Value, text_of


def pairing(near: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Give the row that each of the others belongs to; no other choice makes more pairs.

    >>> pairing([[0, 1], [0]])
    {0: 1, 1: 0}
    """
    partner: dict[int, int] = {}
    for row in range(len(near)):
        _place(row, near, partner)
    return dict(sorted(partner.items()))


def _place(row: int, near: Sequence[Sequence[int]], partner: dict[int, int]) -> None:
    """Find a partner for a row; rows that have one move to another where that makes room.

    The way to a free one may be as long as there are rows, so nothing calls itself here.
    """
    asked_by: dict[int, int] = {}
    waiting = deque([row])
    while waiting:
        asking = waiting.popleft()
        for at in near[asking]:
            if at in asked_by:
                continue
            asked_by[at] = asking
            if at not in partner:
                _shift(at, asked_by, partner)
                return
            waiting.append(partner[at])


def _shift(free: int, asked_by: Mapping[int, int], partner: dict[int, int]) -> None:
    """Give every row on the way back from a free partner the one that it asked."""
    held = {row: at for at, row in partner.items()}
    at: int | None = free
    while at is not None:
        row = asked_by[at]
        partner[at] = row
        at = held.get(row)


_FLOATS = (ScalarType("float"), ScalarType("double"))
_NAN = ("nan",)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How rows are compared: their columns, which of them pair rows, how near floats must be."""

    columns: Sequence[Column]
    key: tuple[str, ...] = ()
    tolerance: float = 0.0

    def differ(self, what: str, expected: Sequence[Row], found: Sequence[Row]) -> RowsDiffer | None:
        """Say how two multisets differ; None if they are equal, in whatever order."""
        missing, extra = self._unmatched(expected, found)
        if not missing and not extra:
            return None
        names = tuple(name for name, _ in self.columns)
        lines = tuple(self._lines(missing, extra))
        key = tuple(names[place] for place in self._places)
        return RowsDiffer(what, len(expected), len(found), names, lines, key)

    @property
    def _places(self) -> tuple[int, ...]:
        """The key's columns by place; none if one of them is not compared."""
        names = [name.lower() for name, _ in self.columns]
        wanted = [name.lower() for name in self.key]
        return tuple(map(names.index, wanted)) if set(wanted) <= set(names) else ()

    def identity(self, row: Row) -> tuple[Hashable, ...]:
        """Give what two rows that are equal have in common."""
        return tuple(identity(v, kind) for v, (_, kind) in zip(row, self.columns, strict=True))

    def _unmatched(
        self, expected: Sequence[Row], found: Sequence[Row]
    ) -> tuple[list[Row], list[Row]]:
        by_identity: dict[tuple[Hashable, ...], list[Row]] = {}
        for row in found:
            by_identity.setdefault(self.identity(row), []).append(row)
        missing = []
        for row in expected:
            same = by_identity.get(self.identity(row))
            if same:
                same.pop()
            else:
                missing.append(row)
        extra = [row for rows in by_identity.values() for row in rows]
        return self._near(missing, extra) if self.tolerance else (missing, extra)

    def _near(self, missing: list[Row], extra: list[Row]) -> tuple[list[Row], list[Row]]:
        """Pair as many of the rows that are left as are near enough to each other."""
        alike: dict[tuple[Hashable, ...], list[int]] = {}
        for at, row in enumerate(extra):
            alike.setdefault(self._exact(row), []).append(at)
        near = [
            [at for at in alike.get(self._exact(row), ()) if self._are_near(row, extra[at])]
            for row in missing
        ]
        partner = pairing(near)
        mine, others = set(partner.values()), set(partner)
        left = [row for number, row in enumerate(missing) if number not in mine]
        return left, [row for at, row in enumerate(extra) if at not in others]

    def _exact(self, row: Row) -> tuple[Hashable, ...]:
        """Give what rows that are near each other have in common: values that hold no float."""
        pairs = zip(self.identity(row), self.columns, strict=True)
        return tuple(v for v, (_, kind) in pairs if not any(str(f) in str(kind) for f in _FLOATS))

    def _are_near(self, one: Row, other: Row) -> bool:
        pairs = zip(one, other, self.columns, strict=True)
        return all(near(a, b, kind, self.tolerance) for a, b, (_, kind) in pairs)

    def _lines(self, missing: list[Row], extra: list[Row]) -> list[RowLine]:
        """Give rows of one key as changed, then those that are missing, then the others."""
        places = self._places
        waiting: dict[tuple[Hashable, ...], list[Row]] = {}
        for row in extra:
            waiting.setdefault(self._key_of(row), []).append(row)
        changed, gone = [], []
        for row in missing:
            others = waiting.get(self._key_of(row)) if places else None
            if others:
                changed.append(self._both(row, others.pop(0)))
            else:
                gone.append(self._cells(row))
        new = [self._cells(row) for rows in waiting.values() for row in rows]
        marked = (("~", changed), ("-", gone), ("+", new))
        return [RowLine(m, cells, n) for m, rows in marked for cells, n in _counted(rows)]

    def _key_of(self, row: Row) -> tuple[Hashable, ...]:
        found = self.identity(row)
        return tuple(found[place] for place in self._places)

    def _cells(self, row: Row) -> tuple[str, ...]:
        return tuple(shown(v, kind) for v, (_, kind) in zip(row, self.columns, strict=True))

    def _both(self, expected: Row, found: Row) -> tuple[str, ...]:
        cells = []
        for one, other, (_, kind) in zip(expected, found, self.columns, strict=True):
            same = identity(one, kind) == identity(other, kind)
            same = same or (bool(self.tolerance) and near(one, other, kind, self.tolerance))
            cells.append(
                shown(one, kind) if same else f"{shown(one, kind)} -> {shown(other, kind)}"
            )
        return tuple(cells)


def _counted(rows: list[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
    return sorted(Counter(rows).items())


def identity(value: Value, kind: ColumnType) -> Hashable:
    """Give what equal values have in common: NaN equals NaN, -0.0 equals 0.0, maps have no order.

    >>> identity(-0.0, ScalarType("double")) == identity(0.0, ScalarType("double"))
    True
    """
    match kind, value:
        case ArrayType(element), tuple():
            return tuple(identity(each, element) for each in value)
        case StructType(fields), tuple():
            return tuple(identity(v, f.type) for v, f in zip(value, fields, strict=True))
        case MapType(key, of), tuple():
            pairs = (each for each in value if isinstance(each, tuple))
            return frozenset((identity(k, key), identity(v, of)) for k, v in pairs)
        case _, float() if math.isnan(value):
            return _NAN
    return value


def near(one: Value, other: Value, kind: ColumnType, tolerance: float) -> bool:
    """Whether two values are equal, floats of any depth up to a relative difference."""
    if isinstance(one, float) and isinstance(other, float) and kind in _FLOATS:
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=tolerance)
    compare: Callable[[Value, Value, ColumnType], bool] = lambda a, b, k: near(a, b, k, tolerance)  # noqa: E731  said once, used thrice
    match kind, one, other:
        case ArrayType(element), tuple(), tuple():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(compare(a, b, element) for a, b in pairs)
        case StructType(fields), tuple(), tuple():
            three = zip(one, other, fields, strict=True)
            return all(compare(a, b, field.type) for a, b, field in three)
        case MapType(key, of), tuple(), tuple():
            mine, others = (_entries(each, key) for each in (one, other))
            same = mine.keys() == others.keys()
            return same and all(compare(mine[each], others[each], of) for each in mine)
    return identity(one, kind) == identity(other, kind)


def _entries(value: tuple[Value, ...], key: ColumnType) -> dict[Hashable, Value]:
    return {identity(each[0], key): each[1] for each in value if isinstance(each, tuple)}


def shown(value: Value, kind: ColumnType) -> str:
    """Give a value for people; a text has quotes only where it could be taken for another.

    >>> [shown(text, ScalarType("string")) for text in ("a", "", "1 ", "NULL", None)]
    ['a', "''", "'1 '", "'NULL'", 'NULL']
    """
    if value is None:
        return "NULL"
    match kind, value:
        case ArrayType(element), tuple():
            return f"[{', '.join(shown(each, element) for each in value)}]"
        case StructType(fields), tuple():
            pairs = zip(fields, value, strict=True)
            return f"{{{', '.join(f'{f.name}: {shown(v, f.type)}' for f, v in pairs)}}}"
        case MapType(key, of), tuple():
            entries = sorted(
                f"{shown(e[0], key)}: {shown(e[1], of)}" for e in value if isinstance(e, tuple)
            )
            return f"{{{', '.join(entries)}}}"
        case _, str():
            return _quoted(value)
        case _, dt.datetime():
            return value.isoformat(" ", "microseconds").removesuffix(".000000")
    return text_of(value, kind)


def _quoted(text: str) -> str:
    odd = not text or text != text.strip() or text == "NULL" or " -> " in text or text[0] == "'"
    return f"'{text}'" if odd or not text.isprintable() else text
