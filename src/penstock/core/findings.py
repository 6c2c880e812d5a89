"""Places in the user's files, and what `validate` has to say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.masking import mask


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a project file; `path` is relative to the project root, lines start at 1.

    >>> str(Location("models/a.sql", 3, 7))
    'models/a.sql:3:7'
    """

    path: str
    line: int = 1
    column: int = 0

    def __str__(self) -> str:
        """Leave the column out where it is not known."""
        column = f":{self.column}" if self.column else ""
        return f"{self.path}:{self.line}{column}"


class Severity(StrEnum):
    """An error stops every command that needs the project; a warning stops `--strict`.

    What is said for information stops nothing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing `validate` has to say; sorts by file, line, column, code.

    `about` names the models that it is about, none where it is about the whole project.

    >>> print(Finding(Location("a.sql", 3, 7), "bad-value", "threads is 0", "give 1 or more"))
    a.sql:3:7: error: bad-value: threads is 0
      hint: give 1 or more
    """

    where: Location
    code: str
    sentence: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    about: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_error(self) -> bool:
        """Whether the finding stops a command."""
        return self.severity is Severity.ERROR

    @property
    def is_warning(self) -> bool:
        """Whether the finding stops only `--strict`."""
        return self.severity is Severity.WARNING

    def render(self) -> str:
        """Give the one form in which findings are printed (spec/project.md §1), without secrets."""
        hint = f"\n  hint: {mask(self.hint)}" if self.hint else ""
        return f"{self.where}: {self.severity}: {self.code}: {mask(self.sentence)}{hint}"

    def __str__(self) -> str:
        """Print as `render` does."""
        return self.render()


def some(items: Sequence[str], most: int, between: str = ", ") -> str:
    """Name the first items and say how many more there are; after clauses, `; `, as one more.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2), some([], 2)
    ('a, b and 1 more', 'a, b', '')
    >>> some(["a is 1", "b is 2", "c is 3"], 1, "; ")
    'a is 1; and 2 more'
    """
    named, rest = between.join(items[:most]), len(items) - most
    if rest <= 0:
        return named
    return f"{named}{' ' if between == ', ' else between}and {rest} more"
