"""The result of rendering one file, and where in which file a template is."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import mask
from penstock.project.files.parsed import Dependency, TableRef
from penstock.project.files.values import Plain

SHOWN = 300


@dataclass(frozen=True, slots=True)
class ConfigCall:
    """A call of config; `lines` maps each of its keys to its line."""

    settings: Mapping[str, Plain]
    line: int
    lines: Mapping[str, int]


class AskedRows(NamedTuple):
    """A query whose rows a template reads, as rendered, with its line and the tables until then."""

    text: str
    line: int
    calls: tuple[TableRef, ...]


@dataclass(slots=True)
class Rendering:
    """The result for one file; `text` is "" if it could not be rendered."""

    path: str
    key: str = ""
    """The key of the file's query in a load: its path, or that of an entry in YAML."""
    text: str = ""
    incremental: bool = False
    is_branching: bool = False
    """Whether the text may depend on `incremental`."""
    calls: list[TableRef] = field(default_factory=list)
    configs: list[ConfigCall] = field(default_factory=list)
    headers: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    reads: set[Dependency] = field(default_factory=set)
    may_read: bool = False
    """Whether the template may read rows."""
    executes: bool = True
    """Whether the rows that it reads are known; if not, `run_query` returns nothing."""
    queries: dict[str, AskedRows] = field(default_factory=dict)
    """What it reads, by the key of the query."""
    results: dict[str, object] = field(default_factory=dict)
    """The results of `statement` by name."""
    line: int = 0
    """The line that is rendered, 0 if Jinja knows it."""

    @property
    def is_pending(self) -> bool:
        """Whether it asked for something that is known only once all files are read."""
        return any(each.is_pending for each in self.reads)

    @property
    def current_line(self) -> int:
        """The line of the file that is being rendered."""
        return self.line or line_in(self.path)

    def report(
        self, code: str, sentence: str, hint: str = "", severity: Severity = Severity.ERROR
    ) -> None:
        """Add a finding at the line that is being rendered."""
        where = Location(self.path, self.current_line)
        message = f"{mask(sentence)[:SHOWN]}{macro_place(self.path, places())}"
        self.findings.append(Finding(where, code, message, hint, severity))


Now = Callable[[], Rendering]
"""Returns the rendering that is under way."""


def places() -> Iterator[tuple[str, int]]:
    """Yield file and line of every template that is being rendered, the innermost first.

    Jinja keeps the lines in its code.
    """
    for frame, line in traceback.walk_stack(inspect.currentframe()):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            yield template.name or "", int(template.get_corresponding_lineno(line))


def line_in(path: str) -> int:
    """Return the line of a file that is being rendered."""
    return next((line for name, line in places() if name == path), 1)


def macro_place(path: str, templates: Iterable[tuple[str, int]]) -> str:
    """Return the place in a macro's file, "" if the innermost place is in the file itself."""
    name, line = next(iter(templates), (path, 0))
    return "" if name == path else f" (in {name}:{line})"
