"""YAML of a test file with every scalar as it was written: `1.50` stays those four signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from penstock.core.findings import Finding, Location
from penstock.core.unit_tests import Cell, CellKind

_NODES = 500_000
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]*)?)?"
    r"\s*(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node and where it begins: a cell, a list of nodes, or nodes by their keys.

    `keys` tells where the keys stand. `lines` is the line on which the text of a block begins.
    """

    where: Location
    cell: Cell | None = None
    items: tuple[Node, ...] | None = None
    members: Mapping[str, Node] | None = None
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


def read_nodes(path: str, text: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """Read one YAML document; None with a finding for a text that is none, or is empty."""
    reader = _Reader(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        found = reader.read(node, ()) if node is not None else None
    except yaml.YAMLError as error:
        return None, (_syntax(path, error),)
    except (_TooMuchError, RecursionError):
        where = Location(path, 1, 1)
        sentence = f"the document is nested too deep, or unfolds to more than {_NODES:,} nodes"
        return None, (Finding(where, "yaml-syntax", sentence),)
    return found, tuple(reader.findings)


class _TooMuchError(Exception):
    pass


class _Reader:
    def __init__(self, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._count = 0
        self._merger = yaml.SafeLoader("")

    def read(self, node: yaml.Node, above: tuple[int, ...]) -> Node:
        self._count += 1
        if self._count > _NODES or id(node) in above:
            raise _TooMuchError
        where = self._place(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, (*above, id(node)))
        if isinstance(node, yaml.SequenceNode):
            inside = (*above, id(node))
            return Node(where, items=tuple(self.read(each, inside) for each in node.value))
        kind = _kind(node) if isinstance(node, yaml.ScalarNode) else CellKind.TEXT
        return Node(where, cell=Cell(str(node.value), kind, where))

    def _mapping(self, node: yaml.MappingNode, where: Location, above: tuple[int, ...]) -> Node:
        own = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {name for name in own if own.count(name) > 1 and name != "<<"}
        self._merger.flatten_mapping(node)
        members: dict[str, Node] = {}
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
        return Node(where, members=members, keys=keys)

    def _place(self, node: yaml.Node) -> Location:
        mark = node.start_mark
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return Location(self._path, mark.line + 2, 1)  # its text begins on the next line
        return Location(self._path, mark.line + 1, mark.column + 1)


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


def _syntax(path: str, error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    where = Location(path, mark.line + 1, mark.column + 1) if mark else Location(path, 1, 1)
    said = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return Finding(where, "yaml-syntax", str(said), "quote the value if it is meant as text")
