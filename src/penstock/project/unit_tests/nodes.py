"""YAML of a test file: scalars as they were written, read key by key, findings collected."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from penstock.core.columns.types import ColumnType
from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.partitions.partition import Grid
from penstock.project.files.documents import NODES, begins_at, syntax_finding
from penstock.project.files.field_types import UnknownTypeError, UnsupportedTypeError, read_type
from penstock.project.files.values import did_you_mean
from penstock.project.unit_tests.casting import CellError, scalar
from penstock.project.unit_tests.definition import Cell, CellKind

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]*)?)?"
    r"\s*(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class CellNode:
    """A node and where it begins: a cell, a list of nodes, or nodes by their keys.

    `keys` tells where the keys stand. `lines` is the line on which the text of a block begins.
    """

    where: Location
    cell: Cell | None = None
    items: tuple[CellNode, ...] | None = None
    members: Mapping[str, CellNode] | None = None
    keys: Mapping[str, Location] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The scalar as text; "" for null, lists and mappings."""
        return self.cell.text if self.cell and self.cell.kind is not CellKind.NULL else ""

    @property
    def is_null(self) -> bool:
        """Whether it says nothing."""
        return self.cell is not None and self.cell.kind is CellKind.NULL

    def as_cell(self) -> Cell:
        """Give the node as one value of a row."""
        if self.items is not None:
            cells = tuple(item.as_cell() for item in self.items)
            return Cell("", CellKind.LIST, self.where, items=cells)
        if self.members is not None:
            pairs = tuple((name, node.as_cell()) for name, node in self.members.items())
            return Cell("", CellKind.MAPPING, self.where, entries=pairs)
        return self.cell or Cell("", CellKind.NULL, self.where)


def read_nodes(path: str, text: str) -> tuple[CellNode | None, tuple[Finding, ...]]:
    """Read one YAML document; None with a finding for a text that is none, or is empty."""
    reader = _NodeReader(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        found = reader.read(node, ()) if node is not None else None
    except yaml.YAMLError as error:
        return None, (syntax_finding(path, error),)
    except (_TooMuchError, RecursionError):
        where = Location(path, 1, 1)
        sentence = f"the document is nested too deep, or unfolds to more than {NODES:,} nodes"
        return None, (Finding(where, "yaml-syntax", sentence),)
    return found, tuple(reader.findings)


class _TooMuchError(Exception):
    pass


class _NodeReader:
    def __init__(self, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._count = 0
        self._merger = yaml.SafeLoader("")

    def read(self, node: yaml.Node, above: tuple[int, ...]) -> CellNode:
        self._count += 1
        if self._count > NODES or id(node) in above:
            raise _TooMuchError
        where = self._place(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, (*above, id(node)))
        if isinstance(node, yaml.SequenceNode):
            inside = (*above, id(node))
            return CellNode(where, items=tuple(self.read(each, inside) for each in node.value))
        kind = _kind(node) if isinstance(node, yaml.ScalarNode) else CellKind.TEXT
        return CellNode(where, cell=Cell(str(node.value), kind, where))

    def _mapping(self, node: yaml.MappingNode, where: Location, above: tuple[int, ...]) -> CellNode:
        own = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {name for name in own if own.count(name) > 1 and name != "<<"}
        self._merger.flatten_mapping(node)
        members: dict[str, CellNode] = {}
        keys: dict[str, Location] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            place = self._place(key)
            if name in members and name in twice:
                sentence = f"key {name!r} is written twice; the first is on line {keys[name].line}"
                self.findings.append(Finding(place, "duplicate-key", sentence))
                continue
            members[name] = self.read(value, above)
            keys[name] = place
        return CellNode(where, members=members, keys=keys)

    def _place(self, node: yaml.Node) -> Location:
        return Location(self._path, *begins_at(node))


def _kind(node: yaml.ScalarNode) -> CellKind:
    if node.style is not None:
        return CellKind.TEXT
    match node.tag.rpartition(":")[2]:
        case "null":
            return CellKind.NULL
        case "bool":
            return CellKind.BOOLEAN
    return plain_kind(str(node.value))


def plain_kind(text: str) -> CellKind:
    """Give what a text without quotes is.

    >>> [str(plain_kind(text)) for text in ("1", "1.5", "2024-03-01", "10:30", "a")]
    ['integer', 'number', 'date', 'text', 'text']
    """
    if _INTEGER.fullmatch(text):
        return CellKind.INTEGER
    if _NUMBER.fullmatch(text) or _NAN.fullmatch(text):
        return CellKind.NUMBER
    if _DATE.fullmatch(text):
        return CellKind.DATE
    return CellKind.TIMESTAMP if _TIMESTAMP.fullmatch(text) else CellKind.TEXT


@dataclass(slots=True)
class FileNotes:
    """The findings of one test file, and where the project lies."""

    root: Path
    findings: list[Finding] = field(default_factory=list)

    def say(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        """Note one finding."""
        self.findings.append(Finding(where, code, sentence, hint))

    def bad(self, node: CellNode, what: str, must: str) -> None:
        """Note a value that is not what it must be."""
        shown = _shown(node)
        self.say(node.where, "bad-value", f"{what} is {shown}; it must be {must}")

    def members(self, node: CellNode, what: str, known: Iterable[str]) -> dict[str, CellNode]:
        """Give what stands under the known keys of a mapping; others are findings."""
        if node.is_null:
            return {}
        if node.members is None:
            self.bad(node, what, "a mapping")
            return {}
        allowed = tuple(known)
        for key, where in node.keys.items():
            if key not in allowed:
                hint = did_you_mean(key, allowed) or f"known here: {', '.join(sorted(allowed))}"
                self.say(where, "unknown-key", f"unknown key {key!r}", hint)
        found = ((key, node.members[key]) for key in node.members if key in allowed)
        return {key: inner for key, inner in found if not inner.is_null}

    def items(self, node: CellNode | None, what: str) -> tuple[CellNode, ...]:
        """Give the items of a list; anything else is a finding."""
        if node is None or node.is_null:
            return ()
        if node.items is None:
            self.bad(node, what, "a list")
            return ()
        return node.items

    def text(self, node: CellNode | None, what: str) -> str:
        """Give a scalar as text, "" where there is none."""
        if node is None:
            return ""
        if node.cell is None:
            self.bad(node, what, "a text")
        return node.text

    def texts(self, node: CellNode | None, what: str) -> tuple[str, ...]:
        """Give one text or a list of them."""
        if node is None or node.is_null:
            return ()
        if node.items is None:
            return (self.text(node, what),)
        return tuple(self.text(item, what) for item in node.items)

    def flag(self, node: CellNode | None, what: str) -> bool:
        """Give a switch, off where it is not written."""
        if node is None:
            return False
        if node.cell is None or node.cell.kind is not CellKind.BOOLEAN:
            self.bad(node, what, "true or false")
            return False
        return node.text.lower() in ("true", "yes", "on")

    def number(self, node: CellNode | None, what: str) -> int | None:
        """Give a whole number that is not negative."""
        if node is None:
            return None
        if node.cell is None or node.cell.kind is not CellKind.INTEGER or node.text[0] == "-":
            self.bad(node, what, "an integer >= 0")
            return None
        return int(node.text)

    def timestamp(self, node: CellNode | None, what: str) -> dt.datetime | None:
        """Give a time, UTC where it has no offset."""
        if node is None:
            return None
        try:
            found = scalar(self.text(node, what), "timestamp")
        except CellError:
            found = None
        if not isinstance(found, dt.datetime):
            self.bad(node, what, "a time, for example 2024-06-02T00:00:00Z")
            return None
        return found.replace(tzinfo=dt.UTC)

    def partition(self, node: CellNode, grid: Grid) -> str:
        """Give the key of a partition, "" beside a finding."""
        try:
            return grid.key(grid.parse(self.text(node, "partition")))
        except UsageError as error:
            self.say(node.where, error.code, error.sentence, error.hint)
            return ""

    def types(self, node: CellNode | None, what: str) -> dict[str, ColumnType]:
        """Give `columns: {name: TYPE}`."""
        if node is None:
            return {}
        if node.members is None:
            self.bad(node, what, "a mapping of names to types")
            return {}
        found = {}
        for name, inner in node.members.items():
            kind = self._type(name, inner)
            if kind is not None:
                found[name] = kind
        return found

    def _type(self, name: str, node: CellNode) -> ColumnType | None:
        text = self.text(node, name)
        try:
            return read_type(text)
        except UnsupportedTypeError as error:
            hint, sentence = error.hint, f"column {name!r}: Delta has no type {error.word!r}"
        except UnknownTypeError as error:
            hint, sentence = "", f"column {name!r}: {error.word!r} names no type"
        self.say(node.where, "bad-value", sentence, hint)
        return None


def _shown(node: CellNode) -> str:
    if node.items is not None:
        return "a list"
    if node.members is not None:
        return "a mapping"
    return "null" if node.is_null else repr(node.text[:80])
