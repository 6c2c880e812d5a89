"""What is to be said of a text of SQL by itself, before it is known where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.values import Path, Plain

T = TypeVar("T")
_REF = re.compile("\0(\\d+)\0")
REFERENCE = "\0ref"
"""The one key of a mapping that stands for `${{ … }}` in the tree of a YAML file."""
MERGE = "\0<<"
"""The key under which a mapping holds the references that it merges."""
VERSIONED = frozenset({"versions", "destination", MERGE})
"""A YAML file with one of these keys is a versioned model: only such a file merges others."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a text; whoever read it from a file says where that is.

    `line_offset` counts lines from the first line of the text, which is 0.
    """

    code: str
    sentence: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    line_offset: int = 0


@dataclass(frozen=True, slots=True)
class ReadText(Generic[T]):
    """A value that was read from a text, None if it gives none, and every problem of the text."""

    value: T | None
    problems: tuple[Problem, ...] = ()


def located(problems: Iterable[Problem], path: str, line: int = 1) -> list[Finding]:
    """Give problems as findings of a file; `line` is the one on which the text begins."""
    return [
        Finding(Location(path, p.line_offset + line), p.code, p.sentence, p.hint, p.severity)
        for p in problems
    ]


def problems_of(findings: Iterable[Finding]) -> Iterator[Problem]:
    """Give findings of a text whose first line is 1, without the place of the text."""
    return (Problem(f.code, f.sentence, f.hint, f.severity, f.where.line - 1) for f in findings)


def has_error(problems: Sequence[Problem]) -> bool:
    """Whether a text gives no value."""
    return any(problem.severity is Severity.ERROR for problem in problems)


class RefKind(StrEnum):
    """What a reference is to: a table, the qualifier of a column, a system column, a condition.

    Or a parameter, whose one name stands without `@`.
    """

    REF = "ref"
    SOURCE = "source"
    THIS = "this"
    PLAIN = "plain"
    QUALIFIER = "qualifier"
    VALID_FROM = "valid_from"
    VALID_TO = "valid_to"
    PRESENT = "present"
    PARAM = "param"


@dataclass(frozen=True, slots=True)
class TableRef:
    """One mention of a table. `names` are the arguments of ref and source, or the parts written.

    `bare` is whether the query gives the table no alias; in a qualifier it says that the name is
    that of a `ref` or `source` call and not a written one, and `kind` is then that call's.
    """

    kind: RefKind
    names: tuple[str, ...]
    line: int
    bare: bool = False
    qualifies: bool = False


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of a query: its name, its line, and the volatile functions that make it.

    The name is "" where Spark makes one up.
    """

    name: str
    line: int
    volatile: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The columns of a query as far as its text tells; `whole` is whether there are no others."""

    columns: tuple[OutputColumn, ...] = ()
    whole: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """All names, or None where not every one is known."""
        names = tuple(column.name for column in self.columns)
        return names if self.whole and all(names) else None


@dataclass(frozen=True, slots=True)
class Branch:
    """A rendered query; `canonical` is None where the parser could not read it."""

    text: str
    canonical: str | None
    refs: tuple[TableRef, ...] = ()
    outputs: Outputs = Outputs()


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside of a file that its result depends on, by the digest of its value."""

    kind: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A model file: its header and its query, once or, with is_incremental(), twice.

    `key_lines` tells where the keys of the header stand.
    """

    path: str
    config: Mapping[str, Plain] = field(default_factory=dict)
    config_line: int = 1
    key_lines: Mapping[str, int] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    findings: tuple[Finding, ...] = ()
    reads: tuple[Dependency, ...] = ()


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A YAML document before environment variables are filled in, with the places of its nodes.

    `keys` tells where keys stand, `places` where values begin. `misfits` are findings that count
    unless the file is a versioned model or a part of one. `checks` are the texts of what stands
    under `checks:` by the place of its entry (`settings/check_keys.py`); `named` the SQL files that
    they name.
    """

    path: str
    tree: Plain = None
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    keys: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    reads: tuple[Dependency, ...] = ()
    misfits: tuple[Finding, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    named: tuple[str, ...] = ()

    @property
    def is_versioned(self) -> bool:
        """Whether it says what a versioned model says."""
        return is_versioned(self.tree)

    def place(self, *path: str | int) -> Location:
        """Give where a node stands, or the nearest node around it."""
        parts = list(path)
        while parts:
            found = self.places.get(place_key(tuple(parts)))
            if found:
                return Location(self.path, *found)
            parts.pop()
        return Location(self.path, 1, 1)

    def key_place(self, *path: str | int) -> Location:
        """Give where the key of a setting stands, or the nearest node around it."""
        found = self.keys.get(place_key(tuple(path)))
        return Location(self.path, *found) if found else self.place(*path)


def is_versioned(tree: Plain) -> bool:
    """Whether the tree of a file is that of a versioned model."""
    return isinstance(tree, Mapping) and not VERSIONED.isdisjoint(tree)


def place_key(path: Path) -> str:
    """Write the path of a node as one text."""
    return "\n".join(str(part) for part in path)


def path_of(key: str) -> str:
    """Give the file of a node that `place_key` wrote with its file in front."""
    return key.partition("\n")[0]


def numbered(number: int) -> str:
    """Write the place of a reference in a text."""
    return f"\0{number}\0"


def fill(text: str, content: Callable[[int], str]) -> str:
    """Replace every reference by what `content` gives for its number."""
    return _REF.sub(lambda found: content(int(found[1])), text)


# Any: this is the JSON of our own cache, checked by the damage rule: whatever does not fit is
# thrown away as a whole.
def write_sql(file: SqlFile) -> list[Any]:
    """Give a JSON form that `read_sql` reads back equal."""
    branches = [
        [
            b.text,
            b.canonical,
            [[h.kind, h.names, h.line, h.bare, h.qualifies] for h in b.refs],
            [[o.name, o.line, o.volatile] for o in b.outputs.columns],
            b.outputs.whole,
        ]
        for b in file.branches
    ]
    header = [file.config, file.config_line, dict(file.key_lines)]
    return [*header, branches, write_findings(file.findings)]


def read_sql(path: str, reads: Sequence[Dependency], entry: Sequence[Any]) -> SqlFile:
    """Read what `write_sql` gave; raises `ValueError`, `TypeError` or `KeyError` on damage."""
    config, line, key_lines, branches, findings = entry
    return SqlFile(
        path,
        dict(config),
        int(line),
        {key: int(number) for key, number in key_lines.items()},
        tuple(_read_branch(*branch) for branch in branches),
        read_findings(findings),
        tuple(reads),
    )


def write_yaml(file: YamlFile) -> list[Any]:
    """Give a JSON form that `read_yaml` reads back equal."""
    found = [write_findings(file.findings), write_findings(file.misfits)]
    places = [_write_places(file.places), _write_places(file.keys)]
    return [file.tree, *places, *found, dict(file.checks), file.named]


def read_yaml(path: str, reads: Sequence[Dependency], entry: Sequence[Any]) -> YamlFile:
    """Read what `write_yaml` gave; raises `ValueError`, `TypeError` or `KeyError` on damage."""
    tree, places, keys, findings, misfits, checks, named = entry
    return YamlFile(
        path,
        tree,
        _read_places(places),
        _read_places(keys),
        read_findings(findings),
        tuple(reads),
        read_findings(misfits),
        dict(checks),
        tuple(named),
    )


def _write_places(places: Mapping[str, tuple[int, int]]) -> list[Any]:
    lines, columns = (
        [line for line, _ in places.values()],
        [column for _, column in places.values()],
    )
    return [list(places), lines, columns]


def _read_places(places: Sequence[Sequence[Any]]) -> dict[str, tuple[int, int]]:
    names, lines, columns = places
    if not isinstance(sum(lines) + sum(columns), int):  # one look at all: there are many
        raise ValueError("a place is no number")  # noqa: TRY004  damage is a ValueError
    return dict(zip(names, zip(lines, columns, strict=True), strict=True))


def _read_branch(
    text: str,
    canonical: str | None,
    refs: Sequence[Sequence[Any]],
    columns: Sequence[Sequence[Any]],
    whole: bool,  # noqa: FBT001  by its place in the cache
) -> Branch:
    known = tuple(
        TableRef(RefKind(kind), tuple(names), line, bare, qualifies)
        for kind, names, line, bare, qualifies in refs
    )
    outputs = tuple(OutputColumn(name, line, tuple(volatile)) for name, line, volatile in columns)
    return Branch(text, canonical, known, Outputs(outputs, whole))


def write_findings(findings: Iterable[Finding]) -> list[list[str | int]]:
    """Give a JSON form that `read_findings` reads back equal."""
    return [
        [f.where.path, f.where.line, f.where.column, f.code, f.sentence, f.hint, str(f.severity)]
        for f in findings
    ]


def read_findings(entries: Sequence[Sequence[Any]]) -> tuple[Finding, ...]:
    """Read what `write_findings` gave; raises `ValueError` or `TypeError` on damage."""
    return tuple(
        Finding(Location(path, line, column), code, sentence, hint, Severity(severity))
        for path, line, column, code, sentence, hint, severity in entries
    )
