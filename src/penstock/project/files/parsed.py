"""The parsed content of a file, and its context: variables, environment and target."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Generic, NewType, TypeAlias, TypeVar

from penstock.core.findings import Finding, Location
from penstock.project.files.values import Path, Plain

T = TypeVar("T")
Packed = NewType("Packed", str)
"""A compressed text, which few loads need."""
Spots: TypeAlias = Mapping[str, tuple[int, int]]
"""Lines and columns of nodes by their `place_key`."""
READS_CODE = "template-reads-table"
_REF = re.compile("\0(\\d+)\0")
_CALL = re.compile(
    r"\{\{\s*env_var\(\s*(['\"])(?P<name>[^'\"]+)\1\s*"
    r"(?:,\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<bare>[\w.-]+))\s*)?\)\s*\}\}"
)
REFERENCE = "\0ref"
"""The only key of a mapping that represents `${{ … }}` in the tree of a YAML file."""
MERGE = "\0<<"
"""The key under which a mapping holds the references that it merges."""
PACKAGE = "sessions"
"""The value of `strategy` in a session package."""
ENTITIES = "entities"
"""The folder of entity documents."""
VERSIONED = frozenset({"versions", "destination", MERGE})
"""A YAML file with one of these keys is a versioned model: only such a file merges others."""


@dataclass(frozen=True, slots=True)
class ReadText(Generic[T]):
    """A value parsed from a text, None if there is none, and all problems of the text.

    The place of a problem is a line of the text, starting at 1, without a file.
    """

    value: T | None
    problems: tuple[Finding, ...] = ()


def located(problems: Sequence[Finding], path: str, line: int = 1) -> list[Finding]:
    """Return problems of a text that begins on a line of a file as findings of the file."""
    return [replace(p, where=Location(path, p.where.line + line - 1)) for p in problems]


def path_from(where: Location, written: str) -> str:
    """Return a path from a file, relative to the project's root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(where.path), written))


def is_outside(path: str) -> bool:
    """Return whether a path from `path_from` is outside the project."""
    return posixpath.isabs(path) or path == ".." or path.startswith("../")


def is_path(text: str) -> bool:
    """Return whether SQL is a file path: one word that ends in .sql.

    >>> is_path("daily.v1.sql"), is_path("select 1 -- a.sql")
    (True, False)
    """
    return text.endswith(".sql") and len(text.split()) == 1


class RefKind(StrEnum):
    """The kind of a reference; for a parameter, its one name has no `@`."""

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
    """One mention of a table. `names` are the arguments of ref and source, or the written parts.

    `bare` is whether the table has no alias; a bare qualifier is a call, and has that call's kind.
    """

    kind: RefKind
    names: tuple[str, ...]
    line: int
    bare: bool = False
    qualifies: bool = False


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of a query, "" if Spark generates its name, with its volatile functions.

    `unit` is the unit of a date that is truncated here.
    """

    name: str
    line: int
    volatile: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The columns of a query as far as its text shows them; `whole` is whether these are all."""

    columns: tuple[OutputColumn, ...] = ()
    whole: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """All names, or None if not all are known."""
        names = tuple(column.name for column in self.columns)
        return names if self.whole and all(names) else None

    @classmethod
    def of(cls, names: Iterable[str]) -> Outputs:
        """Return all columns of a table."""
        return cls(tuple(OutputColumn(name, 1) for name in names), whole=True)


@dataclass(frozen=True, slots=True)
class Branch:
    """A rendered query; `canonical` is None if the parser could not read it."""

    text: str
    canonical: str | None
    refs: tuple[TableRef, ...] = ()
    outputs: Outputs = Outputs()

    @property
    def mentioned(self) -> tuple[TableRef, ...]:
        """The references in its text; the others are calls whose result is not in it."""
        return tuple(self.refs[number] for number in sorted(set(map(int, _REF.findall(self.text)))))


@dataclass(frozen=True, slots=True)
class Dependency:
    """An external value that a file's result depends on, by its digest."""

    kind: str
    name: str
    digest: str

    @property
    def is_pending(self) -> bool:
        """Whether the value was not known yet."""
        return not self.digest


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """A query whose rows a template reads, by the key of its text."""

    key: str
    branch: Branch
    line: int
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A model file: its header with the lines of its keys, its query, two with is_incremental().

    `queries` are those whose rows its template reads; its text `waits` for rows that are unknown.
    """

    path: str
    config: Mapping[str, Plain] = field(default_factory=dict)
    config_line: int = 1
    key_lines: Mapping[str, int] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    findings: tuple[Finding, ...] = ()
    reads: tuple[Dependency, ...] = ()
    queries: tuple[RowsQuery, ...] = ()
    waits: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether it is to be rendered again once all names are known."""
        return any(each.is_pending for each in self.reads)


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A YAML document before environment variables are filled in, with the places of its nodes.

    `keys` are the places of keys, `places` those of values. `misfits` are findings that count
    unless the file is a versioned model or a part of one. `checks` are the texts under `checks:` by
    the place of their entry (`settings/check_keys.py`); `check_files` are the SQL files that they
    name.
    """

    path: str
    tree: Plain = None
    places: Spots = field(default_factory=dict)
    keys: Spots = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    reads: tuple[Dependency, ...] = ()
    misfits: tuple[Finding, ...] = ()
    checks: Mapping[str, Packed] = field(default_factory=dict)
    check_files: tuple[str, ...] = ()

    @property
    def reads_environment(self) -> bool:
        """Whether values of the environment belong into it."""
        return any(each.kind == "env" for each in self.reads)

    @property
    def is_versioned(self) -> bool:
        """Whether it has the keys of a versioned model."""
        return isinstance(self.tree, Mapping) and not VERSIONED.isdisjoint(self.tree)

    @property
    def is_entity(self) -> bool:
        """Whether it is one entity, written as a model."""
        return isinstance(self.tree, Mapping) and "entity" in self.tree and not self.is_versioned

    @property
    def is_package(self) -> bool:
        """Whether it is a session package."""
        is_named = isinstance(self.tree, Mapping) and self.tree.get("strategy") == PACKAGE
        return is_named and not self.is_versioned

    @property
    def is_of_entities(self) -> bool:
        """Whether entities are read from it, which report errors in its keys."""
        return self.is_entity or self.path.startswith(f"{ENTITIES}/")

    def place(self, *path: str | int) -> Location:
        """Return the place of a node, or of the nearest node around it."""
        for end in range(len(path), -1, -1):
            if (found := self.places.get(place_key(path[:end]))) is not None:
                return Location(self.path, *found)
        return Location(self.path, 1, 1)

    def key_place(self, *path: str | int) -> Location:
        """Return the place of a setting's key, or of the nearest node around it."""
        found = self.keys.get(place_key(path))
        return Location(self.path, *found) if found else self.place(*path)

    def spot(self, path: Path, key: bool) -> Location:  # noqa: FBT001  the key or the value
        """Return the place of a value, or of its key."""
        return (self.key_place if key else self.place)(*path)


def place_key(path: Path) -> str:
    """Write the path of a node as one text."""
    return "\n".join(map(str, path))


def path_of(key: str) -> str:
    """Return the file of a `place_key` that begins with its file."""
    return key.partition("\n")[0]


def numbered(number: int) -> str:
    """Return the marker of a reference in a text."""
    return f"\0{number}\0"


def fill(text: str, content: Callable[[int], str]) -> str:
    """Replace every reference by the result of `content` for its number."""
    return _REF.sub(lambda found: content(int(found[1])), text)


def fill_environment(
    tree: Plain, environ: Mapping[str, str], calls: list[tuple[Path, str, bool]], path: Path = ()
) -> Plain:
    """Fill in every variable; one with neither value nor default becomes the empty text.

    Adds to `calls` the place and name of each, and whether it had a value.

    >>> fill_environment({"a": "{{ env_var('HOST', 'db') }}:1"}, {}, [])
    {'a': 'db:1'}
    """
    if isinstance(tree, Mapping):
        return {k: fill_environment(v, environ, calls, (*path, k)) for k, v in tree.items()}
    if isinstance(tree, list):
        return [fill_environment(v, environ, calls, (*path, i)) for i, v in enumerate(tree)]
    if not isinstance(tree, str) or "env_var" not in tree:
        return tree

    def value(call: re.Match[str]) -> str:
        name = call["name"]
        texts = (environ.get(name), call["single"], call["double"], call["bare"])
        found = next((text for text in texts if text is not None), None)
        calls.append((path, name, found is not None))
        return found or ""

    return _CALL.sub(value, tree)
