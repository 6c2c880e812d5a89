"""What every part of a test file is read with: keys, scalars, and findings that are collected."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.findings import Finding, Location
from penstock.core.types import ColumnType
from penstock.core.unit_tests import CellKind
from penstock.project.nearest import did_you_mean
from penstock.project.trees.field_types import (
    UnknownTypeError,
    UnsupportedTypeError,
    read_type,
)
from penstock.project.unit_tests.casting import CellError, scalar
from penstock.project.unit_tests.nodes import Node


@dataclass(slots=True)
class Notes:
    """The findings of one test file, and where the project lies."""

    root: Path
    findings: list[Finding] = field(default_factory=list)

    def say(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        """Note one finding."""
        self.findings.append(Finding(where, code, sentence, hint))

    def bad(self, node: Node, what: str, must: str) -> None:
        """Note a value that is not what it must be."""
        shown = _shown(node)
        self.say(node.where, "bad-value", f"{what} is {shown}; it must be {must}")

    def members(self, node: Node, what: str, known: Iterable[str]) -> dict[str, Node]:
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

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """Give the items of a list; anything else is a finding."""
        if node is None or node.is_null:
            return ()
        if node.items is None:
            self.bad(node, what, "a list")
            return ()
        return node.items

    def text(self, node: Node | None, what: str) -> str:
        """Give a scalar as text, "" where there is none."""
        if node is None:
            return ""
        if node.cell is None:
            self.bad(node, what, "a text")
        return node.text

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """Give one text or a list of them."""
        if node is None or node.is_null:
            return ()
        if node.items is None:
            return (self.text(node, what),)
        return tuple(self.text(item, what) for item in node.items)

    def flag(self, node: Node | None, what: str) -> bool:
        """Give a switch, off where it is not written."""
        if node is None:
            return False
        if node.cell is None or node.cell.kind is not CellKind.BOOLEAN:
            self.bad(node, what, "true or false")
            return False
        return node.text.lower() in ("true", "yes", "on")

    def number(self, node: Node | None, what: str) -> int | None:
        """Give a whole number that is not negative."""
        if node is None:
            return None
        if node.cell is None or node.cell.kind is not CellKind.INTEGER or node.text[0] == "-":
            self.bad(node, what, "an integer >= 0")
            return None
        return int(node.text)

    def moment(self, node: Node | None, what: str) -> dt.datetime | None:
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

    def types(self, node: Node | None, what: str) -> dict[str, ColumnType]:
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

    def _type(self, name: str, node: Node) -> ColumnType | None:
        text = self.text(node, name)
        try:
            return read_type(text)
        except UnsupportedTypeError as error:
            hint, sentence = error.hint, f"column {name!r}: Delta has no type {error.word!r}"
        except UnknownTypeError as error:
            hint, sentence = "", f"column {name!r}: {error.word!r} names no type"
        self.say(node.where, "bad-value", sentence, hint)
        return None


def _shown(node: Node) -> str:
    if node.items is not None:
        return "a list"
    if node.members is not None:
        return "a mapping"
    return "null" if node.is_null else repr(node.text[:80])
