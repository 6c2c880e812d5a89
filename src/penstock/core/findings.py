"""Places in the user's files, and what `validate` has to say about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

    >>> print(Finding(Location("a.sql", 3, 7), "bad-value", "threads is 0", "give 1 or more"))
    a.sql:3:7: error: bad-value: threads is 0
      hint: give 1 or more
    """

    where: Location
    code: str
    sentence: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    @property
    def is_error(self) -> bool:
        """Whether the finding stops a command."""
        return self.severity is Severity.ERROR

    @property
    def is_warning(self) -> bool:
        """Whether the finding stops only `--strict`."""
        return self.severity is Severity.WARNING

    def render(self) -> str:
        """Give the one form in which findings are printed (spec/project.md §1)."""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.where}: {self.severity}: {self.code}: {self.sentence}{hint}"

    def __str__(self) -> str:
        """Print as `render` does."""
        return self.render()
