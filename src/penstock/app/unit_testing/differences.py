"""Differences between the results of a test and its expectations, and their reports."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.app.unit_testing.tables import Row, Value
from penstock.core.columns.types import ArrayType, ColumnType, MapType, ScalarType, StructType
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.project.unit_tests.casting import Column
from penstock.project.unit_tests.definition import UnitTest

_FLOATS = (ScalarType("float"), ScalarType("double"))


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row that differs: `~` different, `-` missing, `+` unexpected; `times` is how often.

    A cell that differs contains both texts: `expected -> found`.
    """

    sign: str
    cells: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class RowsDiffer:
    """How the rows of a table differ from the expected ones; `what` is `rows` or `quarantine`."""

    what: str
    expected: int
    found: int
    columns: tuple[str, ...]
    lines: tuple[RowLine, ...]
    key: tuple[str, ...] = ()

    def count(self, sign: str) -> int:
        """Count the rows with a mark."""
        return sum(line.times for line in self.lines if line.sign == sign)


Difference = RowsDiffer | str
"""Rows that differ, or a line about anything else: `metrics: updated 1 expected, 0 found`."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of one test. `differences` is empty if it passed; `seconds` is its duration.

    With several runs each difference belongs to one of them: `run` counts from 1, 0 for a single
    run.
    """

    test: UnitTest
    differences: tuple[Difference, ...] = ()
    run: int = 0
    seconds: float = 0.0
    skipped: bool = False

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return self.status == "passed"

    @property
    def status(self) -> str:
        """Its status: passed, failed or skipped."""
        return "skipped" if self.skipped else "failed" if self.differences else "passed"

    @property
    def lines(self) -> tuple[str, ...]:
        """The differences in one line each."""
        return tuple(each if isinstance(each, str) else summary(each) for each in self.differences)


@dataclass(frozen=True, slots=True)
class UnitTestReport(ShownInNotebooks):
    """Results in order, including those skipped by `--fail-fast`; `log_path` is Spark's log."""

    _rows = "results"
    _columns = "test=test.name model=test.model status seconds differences=lines"

    results: tuple[UnitResult, ...] = ()
    log_path: str = ""

    @property
    def ok(self) -> bool:
        """Whether no test failed and none was skipped."""
        return all(result.passed for result in self.results)

    def count(self, status: str) -> int:
        """Count the tests with a status."""
        return sum(1 for result in self.results if result.status == status)


def summary(rows: RowsDiffer) -> str:
    """Count the differences."""
    words = {"~": "changed", "-": "missing", "+": "unexpected"}
    found = {word: rows.count(sign) for sign, word in words.items()}
    counts = ", ".join(f"{number} {word}" for word, number in found.items() if number)
    key = f" (key: {', '.join(rows.key)})" if rows.key else ""
    return f"{rows.what}: {rows.expected} expected, {rows.found} found: {counts}{key}"


def pairing(near: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Return the row that each of the others is paired with; the number of pairs is maximal.

    Paired rows move to another partner if that makes room. A chain of moves may be as long as there
    are rows, so this does not use recursion.
    """
    partner: dict[int, int] = {}
    for row in range(len(near)):
        asked_by: dict[int, int] = {}
        waiting, free = deque([row]), None
        while waiting and free is None:
            asking = waiting.popleft()
            for at in near[asking]:
                if at not in asked_by:
                    asked_by[at] = asking
                    if at not in partner:
                        free = at
                        break
                    waiting.append(partner[at])
        held = {of: place for place, of in partner.items()}
        while free is not None:  # every row on the way back takes the one that it asked
            partner[free] = asked_by[free]
            free = held.get(asked_by[free])
    return dict(sorted(partner.items()))


@dataclass(frozen=True, slots=True)
class Comparison:
    """How rows are compared: their columns, those that pair rows, the tolerance for floats."""

    columns: Sequence[Column]
    key: tuple[str, ...] = ()
    tolerance: float = 0.0

    def differ(self, what: str, expected: Sequence[Row], rows: Sequence[Row]) -> RowsDiffer | None:
        """Return how two multisets of rows differ; None if they are equal in any order."""
        missing, extra = self._unmatched(expected, rows)
        if not missing and not extra:
            return None
        names = tuple(name for name, _ in self.columns)
        lines = tuple(self._lines(missing, extra))
        key = tuple(names[place] for place in self._places)
        return RowsDiffer(what, len(expected), len(rows), names, lines, key)

    @property
    def _places(self) -> tuple[int, ...]:
        """The positions of the key's columns; empty if one of them is not compared."""
        names = [name.lower() for name, _ in self.columns]
        wanted = [name.lower() for name in self.key]
        return tuple(map(names.index, wanted)) if set(wanted) <= set(names) else ()

    def identity(self, row: Row) -> tuple[Hashable, ...]:
        """Return a value that is the same for equal rows."""
        return tuple(identity(v, kind) for v, (_, kind) in zip(row, self.columns, strict=True))

    def _unmatched(
        self, expected: Sequence[Row], actual: Sequence[Row]
    ) -> tuple[list[Row], list[Row]]:
        by_identity: dict[tuple[Hashable, ...], list[Row]] = {}
        for row in actual:
            by_identity.setdefault(self.identity(row), []).append(row)
        missing = []
        for row in expected:
            same = by_identity.get(self.identity(row))
            if same:
                same.pop()
            else:
                missing.append(row)
        extra = [row for rows in by_identity.values() for row in rows]
        return self._without_near(missing, extra) if self.tolerance else (missing, extra)

    def _without_near(self, missing: list[Row], extra: list[Row]) -> tuple[list[Row], list[Row]]:
        """Pair as many of the remaining rows as are close enough to each other."""
        alike: dict[tuple[Hashable, ...], list[int]] = {}
        for at, row in enumerate(extra):
            alike.setdefault(self._exact(row), []).append(at)

        def are_near(one: Row, other: Row) -> bool:
            cells = zip(one, other, self.columns, strict=True)
            return all(near(a, b, kind, self.tolerance) for a, b, (_, kind) in cells)

        partner = pairing(
            [
                [at for at in alike.get(self._exact(row), ()) if are_near(row, extra[at])]
                for row in missing
            ]
        )
        paired = set(partner.values())
        left = [row for number, row in enumerate(missing) if number not in paired]
        return left, [row for at, row in enumerate(extra) if at not in partner]

    def _exact(self, row: Row) -> tuple[Hashable, ...]:
        """Return a value that is the same for close rows: their values without floats."""
        pairs = zip(self.identity(row), self.columns, strict=True)
        return tuple(v for v, (_, kind) in pairs if not any(str(f) in str(kind) for f in _FLOATS))

    def _lines(self, missing: list[Row], extra: list[Row]) -> Iterator[RowLine]:
        places = self._places

        def key_of(row: Row) -> tuple[Hashable, ...]:
            found = self.identity(row)
            return tuple(found[place] for place in places)

        waiting: dict[tuple[Hashable, ...], list[Row]] = {}
        for row in extra:
            waiting.setdefault(key_of(row), []).append(row)
        changed, gone = [], []
        for row in missing:
            others = waiting.get(key_of(row)) if places else None
            if others:
                changed.append(self._cells(row, others.pop(0)))
            else:
                gone.append(self._cells(row, row))
        new = [self._cells(row, row) for rows in waiting.values() for row in rows]
        for sign, rows in (("~", changed), ("-", gone), ("+", new)):
            yield from (RowLine(sign, cells, n) for cells, n in sorted(Counter(rows).items()))

    def _cells(self, expected: Row, row: Row) -> tuple[str, ...]:
        cells = []
        for one, other, (_, kind) in zip(expected, row, self.columns, strict=True):
            cells.append(cell_text(one, kind))
            same = identity(one, kind) == identity(other, kind)
            if not same and not (self.tolerance and near(one, other, kind, self.tolerance)):
                cells[-1] += f" -> {cell_text(other, kind)}"
        return tuple(cells)


def _parts_of(value: Value, kind: ColumnType) -> dict[Hashable, tuple[Value, ColumnType]] | None:
    """Return the parts of a list, a struct or a map by position or key; None for a scalar."""
    match kind, value:
        case ArrayType(element), tuple():
            return {at: (each, element) for at, each in enumerate(value)}
        case StructType(fields), tuple():
            pairs = zip(value, fields, strict=True)
            return {field.name: (each, field.type) for each, field in pairs}
        case MapType(key, of), tuple():
            entries = (each for each in value if isinstance(each, tuple))
            return {identity(each, key): (held, of) for each, held in entries}
    return None


def identity(value: Value, kind: ColumnType) -> Hashable:
    """Return a value that is the same for equal values: -0.0 is 0.0, maps have no order."""
    if (parts := _parts_of(value, kind)) is not None:
        return frozenset((at, identity(*each)) for at, each in parts.items())
    return "0.0" if value == "-0.0" and kind in _FLOATS else value


def near(one: Value, other: Value, kind: ColumnType, tolerance: float) -> bool:
    """Return whether two values are equal, nested floats up to a relative difference."""
    if kind in _FLOATS and isinstance(one, str) and isinstance(other, str):
        return one == other or math.isclose(float(one), float(other), rel_tol=tolerance)
    mine, others = _parts_of(one, kind), _parts_of(other, kind)
    if mine is None or others is None:
        return identity(one, kind) == identity(other, kind)
    same = mine.keys() == others.keys()
    return same and all(near(v, others[at][0], of, tolerance) for at, (v, of) in mine.items())


def cell_text(value: Value, kind: ColumnType) -> str:
    """Return a value for display; a text has quotes only if it would be ambiguous."""
    if value is None:
        return "NULL"
    match kind, value:
        case ArrayType(element), tuple():
            return f"[{', '.join(cell_text(each, element) for each in value)}]"
        case StructType(fields), tuple():
            pairs = zip(fields, value, strict=True)
            return f"{{{', '.join(f'{f.name}: {cell_text(v, f.type)}' for f, v in pairs)}}}"
        case MapType(key, of), tuple():
            entries = sorted(
                f"{cell_text(e[0], key)}: {cell_text(e[1], of)}"
                for e in value
                if isinstance(e, tuple)
            )
            return f"{{{', '.join(entries)}}}"
    text = str(value)
    odd = text in ("", "NULL") or text != text.strip() or " -> " in text
    return f"'{text}'" if odd or text[0] == "'" or not text.isprintable() else text
