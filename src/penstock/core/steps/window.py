"""Windows: the part of an input that one step may read, decided before the step starts."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.columns.typed import TypedValue
from penstock.core.names import quoted


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a window."""

    value: TypedValue
    inclusive: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A range of one column; an end that is None is open.

    `nulls` is whether rows with NULL in the column are read too (first load only).

    >>> one, two = TypedValue("INT", "1"), TypedValue("INT", "2")
    >>> str(Window("n", Bound(one, inclusive=False), Bound(two, inclusive=True)))
    '(1, 2]'
    """

    column: str
    lower: Bound | None = None
    upper: Bound | None = None
    nulls: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no value can be inside; true for a window without an upper bound."""
        if self.upper is None:
            return not self.nulls
        if self.lower is None:
            return False
        if self.lower.value == self.upper.value:
            return not (self.lower.inclusive and self.upper.inclusive)
        return self.upper.value < self.lower.value

    @property
    def condition(self) -> str:
        """The SQL condition for rows inside the window.

        >>> Window("n", None, Bound(TypedValue("DATE", "2024-01-01"), inclusive=True)).condition
        "`n` <= DATE '2024-01-01'"
        """
        column = quoted(self.column)
        terms = []
        if self.lower:
            terms.append(f"{column} {'>=' if self.lower.inclusive else '>'} {self.lower.value.sql}")
        if self.upper:
            terms.append(f"{column} {'<=' if self.upper.inclusive else '<'} {self.upper.value.sql}")
        inside = " AND ".join(terms) or "false"
        return f"({inside} OR {column} IS NULL)" if self.nulls else inside

    def __str__(self) -> str:
        """Return mathematical interval notation; open ends are -∞ and ∞."""
        low = (
            "(-∞"
            if not self.lower
            else f"{'[' if self.lower.inclusive else '('}{self.lower.value.text}"
        )
        high = (
            "∞)"
            if not self.upper
            else f"{self.upper.value.text}{']' if self.upper.inclusive else ')'}"
        )
        return f"{low}, {high}"


@dataclass(frozen=True, slots=True)
class InputWindow:
    """The window of one input of a step.

    `kind` is why it reads these rows: initial, full, forward, lookback, rerun or external, "" if
    not set. `version` is that of the Delta table below the input.
    """

    input: str
    window: Window
    kind: str = ""
    version: int | None = None

    @property
    def key(self) -> str:
        """The key of its watermark: `input.column`."""
        return f"{self.input}.{self.window.column}"


@dataclass(frozen=True, slots=True)
class Watermark:
    """The value of one `input.column` that a step leaves behind."""

    input: str
    column: str
    value: TypedValue

    @property
    def key(self) -> str:
        """Its name in commands: `input.column`."""
        return f"{self.input}.{self.column}"
