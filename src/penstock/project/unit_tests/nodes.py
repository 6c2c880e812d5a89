"""YAML of a test file: scalars as they were written, read key by key, findings collected."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from penstock.core.columns.types import ColumnType
from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.partitions.partition import Grid
from penstock.project.files import values
from penstock.project.files.documents import NODES, UNFOLDED, begins_at, syntax_finding
from penstock.project.files.nodes import unknown_key
from penstock.project.unit_tests.casting import CellError, scalar
from penstock.project.unit_tests.definition import Cell, CellKind

_PLAIN = {
    CellKind.INTEGER: r"[-+]?[0-9]+",
    CellKind.NUMBER: (
        r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
    CellKind.DATE: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    CellKind.TIMESTAMP: (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]*)?)?"
        r"\s*(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"
    ),
}
_TAGS = {"null": CellKind.NULL, "bool": CellKind.BOOLEAN}
_SHOWN = {CellKind.NULL: "null", CellKind.LIST: "a list", CellKind.MAPPING: "a mapping"}


def read_nodes(path: str, text: str) -> tuple[Cell | None, tuple[Finding, ...]]:
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
        return None, (Finding(where, "yaml-syntax", sentence, UNFOLDED),)
    return found, tuple(reader.findings)


class _TooMuchError(Exception):
    pass


class _NodeReader:
    def __init__(self, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._count = 0
        self._merger = yaml.SafeLoader("")

    def read(self, node: yaml.Node, above: tuple[int, ...]) -> Cell:
        self._count += 1
        if self._count > NODES or id(node) in above:
            raise _TooMuchError
        where = self._place(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, (*above, id(node)))
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.read(each, (*above, id(node))) for each in node.value)
            return Cell("", CellKind.LIST, where, items)
        kind = CellKind.TEXT
        if isinstance(node, yaml.ScalarNode) and node.style is None:
            tag = node.tag.rpartition(":")[2]
            kind = _TAGS.get(tag) or plain_kind(str(node.value))
        return Cell(str(node.value), kind, where)

    def _mapping(self, node: yaml.MappingNode, where: Location, above: tuple[int, ...]) -> Cell:
        own = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {name for name in own if own.count(name) > 1 and name != "<<"}
        self._merger.flatten_mapping(node)
        members: dict[str, Cell] = {}
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
        return Cell("", CellKind.MAPPING, where, members=members, keys=keys)

    def _place(self, node: yaml.Node) -> Location:
        return Location(self._path, *begins_at(node))


def plain_kind(text: str) -> CellKind:
    """Return what a text without quotes is."""
    found = (kind for kind, form in _PLAIN.items() if re.fullmatch(form, text))
    return next(found, CellKind.TEXT)


@dataclass(slots=True)
class FileNotes:
    """The findings of one test file, and where the project lies."""

    root: Path
    findings: list[Finding] = field(default_factory=list)

    def say(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        """Note one finding."""
        self.findings.append(Finding(where, code, sentence, hint))

    def bad(self, node: Cell, what: str, must: str) -> None:
        """Note a value that is not what it must be."""
        shown = _SHOWN.get(node.kind) or repr(node.text[:80])
        self.say(node.where, "bad-value", f"{what} is {shown}; it must be {must}")

    def members(self, node: Cell, what: str, known: Iterable[str]) -> dict[str, Cell]:
        """Return what stands under the known keys of a mapping; others are findings."""
        if node.is_null:
            return {}
        if node.kind is not CellKind.MAPPING:
            self.bad(node, what, "a mapping")
            return {}
        allowed = tuple(known)
        for key, where in node.keys.items():
            if key not in allowed:
                self.findings.append(unknown_key(where, key, allowed))
        found = node.members.items()
        return {key: inner for key, inner in found if key in allowed and not inner.is_null}

    def pairs(self, node: Cell | None, what: str, of: str) -> Mapping[str, Cell]:
        """Return the members of a mapping whose keys are free; anything else is a finding."""
        if node is None:
            return {}
        if node.kind is not CellKind.MAPPING:
            self.bad(node, what, f"a mapping of names to {of}")
        return node.members

    def items(self, node: Cell | None, what: str) -> tuple[Cell, ...]:
        """Return the items of a list; anything else is a finding."""
        if node is None or node.is_null:
            return ()
        if node.kind is not CellKind.LIST:
            self.bad(node, what, "a list")
        return node.items

    def text(self, node: Cell | None, what: str) -> str:
        """Return a scalar as text, "" where there is none."""
        if node is None:
            return ""
        if node.kind in (CellKind.LIST, CellKind.MAPPING):
            self.bad(node, what, "a text")
        return "" if node.is_null else node.text

    def texts(self, node: Cell | None, what: str) -> tuple[str, ...]:
        """Return one text or a list of them."""
        if node is None or node.is_null:
            return ()
        items = node.items if node.kind is CellKind.LIST else (node,)
        return tuple(self.text(item, what) for item in items)

    def flag(self, node: Cell | None, what: str) -> bool:
        """Return a switch, off where it is not written."""
        if node is None:
            return False
        if node.kind is not CellKind.BOOLEAN:
            self.bad(node, what, "true or false")
            return False
        return node.text.lower() in ("true", "yes", "on")

    def number(self, node: Cell | None, what: str) -> int | None:
        """Return a whole number that is not negative."""
        if node is None:
            return None
        if node.kind is not CellKind.INTEGER or node.text[0] == "-":
            self.bad(node, what, "an integer >= 0")
            return None
        return int(node.text)

    def timestamp(self, node: Cell | None, what: str) -> dt.datetime | None:
        """Return a time, UTC where it has no offset."""
        if node is None:
            return None
        with suppress(CellError):
            found = scalar(self.text(node, what), "timestamp")
            if isinstance(found, dt.datetime):
                return found.replace(tzinfo=dt.UTC)
        self.bad(node, what, "a time, for example 2024-06-02T00:00:00Z")
        return None

    def partition(self, node: Cell, grid: Grid) -> str:
        """Return the key of a partition, "" beside a finding."""
        try:
            return grid.key(grid.parse(self.text(node, "partition")))
        except UsageError as error:
            self.say(node.where, error.code, error.sentence, error.hint)
            return ""

    def types(self, node: Cell | None) -> dict[str, ColumnType]:
        """Return `columns: {name: TYPE}`."""
        found = {}
        for name, inner in self.pairs(node, "columns", "types").items():
            try:
                found[name] = values.read_type(self.text(inner, name))
                continue
            except values.UnsupportedTypeError as error:
                hint, sentence = error.hint, f"column {name!r}: Delta has no type {error.word!r}"
            except values.UnknownTypeError as error:
                hint, sentence = "", f"column {name!r}: {error.word!r} names no type"
            self.say(inner.where, "bad-value", sentence, hint)
        return found
