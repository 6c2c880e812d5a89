"""Transformations of an entity: the first processing of a slice's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location

_NOWHERE = Location("")


@dataclass(frozen=True, slots=True)
class Projection:
    """A transformation that lists all remaining columns: `SELECT a, upper(b) AS b`.

    `volatile` are the columns that differ between runs, as far as the text shows.
    """

    items: tuple[str, ...]
    volatile: tuple[str, ...] = ()
    where: Location = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        """Return its SQL."""
        return f"select {', '.join(self.items)}"


@dataclass(frozen=True, slots=True)
class ColumnTransformation:
    """A transformation that adds or replaces one column.

    `is_volatile` is whether its values differ between runs.
    """

    column: str
    expression: str
    is_volatile: bool = False
    where: Location = field(default=_NOWHERE, compare=False)

    @property
    def volatile(self) -> tuple[str, ...]:
        """The columns that it sets and that differ between runs."""
        return (self.column,) if self.is_volatile else ()


@dataclass(frozen=True, slots=True)
class Filter:
    """A transformation that keeps the rows for which `condition` is true."""

    condition: str
    where: Location = field(default=_NOWHERE, compare=False)
    volatile: tuple[str, ...] = field(default=(), init=False)

    def __str__(self) -> str:
        """Return its SQL."""
        return f"where {self.condition}"


class Keep(StrEnum):
    """Which of several rows of one key stays."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """A transformation that keeps one row of each business key: the first or last by `order_by`.

    Identical rows become one; different rows that tie in the order all stay.
    """

    keep: Keep
    order_by: tuple[str, ...] = ()
    where: Location = field(default=_NOWHERE, compare=False)
    volatile: tuple[str, ...] = field(default=(), init=False)

    def __str__(self) -> str:
        """Return its words."""
        by = f" by {', '.join(self.order_by)}" if self.order_by else ""
        return f"deduplicate, keep {self.keep}{by}"


Transformation = Projection | ColumnTransformation | Filter | Deduplicate
