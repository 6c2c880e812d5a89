"""Where a check stands: its model, what that reads, and which columns there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.names import InputKind, InputName
from penstock.core.query import PARAMETERS
from penstock.core.strategy import Strategy
from penstock.project.book import Book, Named
from penstock.project.cache import ParseCache
from penstock.project.nearest import did_you_mean, some_of
from penstock.project.trees.references import Files


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of some rows as far as files tell.

    `names` is None where not every one is known. `types` are Spark's types by the names in small
    letters, of those that say one.
    """

    names: tuple[str, ...] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def type_of(self, name: str) -> str:
        """Give the type of a column, "" where it is not known."""
        return self.types.get(name.lower(), "")

    def lacks(self, name: str) -> bool:
        """Whether there is no such column for certain."""
        folded = name.lower()
        return self.names is not None and all(each.lower() != folded for each in self.names)

    def without(self, name: str) -> tuple[str, str]:
        """Say that there is no such column, and hint at the nearest one."""
        known = self.names or ()
        hint = did_you_mean(name, known) or f"there are: {some_of(known)}"
        return f"no column is called {name!r}", hint


UNKNOWN = Columns()
_OF_WINDOWS = frozenset({"start_date", "end_date", "run_date"})


@dataclass(frozen=True, slots=True)
class World:
    """What all checks of a project may ask for."""

    book: Book
    files: Files
    cache: ParseCache
    columns_of: Callable[[InputName], Columns]
    sample: bool = True


@dataclass(frozen=True, slots=True)
class Scene:
    """One version of a model. `inputs` is None where its SQL cannot be read.

    `allowed` are the parameters that have a value here.
    """

    model: Named
    strategy: Strategy
    world: World
    allowed: frozenset[str]
    columns: Columns = UNKNOWN
    inputs: tuple[InputName, ...] | None = None

    def columns_of(self, name: InputName) -> Columns:
        """Give the columns of an input, or of the model itself."""
        return self.columns if name.kind is InputKind.THIS else self.world.columns_of(name)

    def shown(self, name: InputName) -> str:
        """Give what people call the table of an input, or of the model itself."""
        if name.kind is InputKind.THIS:
            return str(self.model.table)
        found = self.world.book.model(name.name) if name.kind is InputKind.MODEL else None
        return str(found.table) if found else name.name

    @property
    def this(self) -> InputName:
        """The model itself as an input of its own checks."""
        return InputName(InputKind.THIS, self.model.input.name)


def allowed_in(strategy: Strategy) -> frozenset[str]:
    """Give the parameters that checks of a model may name (spec/checks.md §1.6).

    >>> from penstock.strategies.view import View
    >>> sorted(allowed_in(View()))
    ['run_date']
    """
    if strategy.partitioning is not None:
        return frozenset(PARAMETERS)
    return _OF_WINDOWS if strategy.window else frozenset({"run_date"})
