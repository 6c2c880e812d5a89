"""Trees of YAML whose nodes know their places, and their mappings read key by key."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import mask, mask_value
from penstock.project.files.values import Path, Plain, duration_of, near_or_known

Scalar = str | int | float | bool | None
Places = Callable[[Path, bool], Location]
"""Where a value stands, or with True its key."""
T = TypeVar("T")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class VersionReference:
    """`${{ versions.N.FIELD }}` as written; N may be no number."""

    version: str
    field: str

    def __str__(self) -> str:
        """Return what stands between the braces."""
        return f"versions.{self.version}.{self.field}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A value that could not be had; a finding has said why."""


class TemplateText(str):
    """SQL that is rendered before it is read; `test` is the parametrised test that it calls."""

    __slots__ = ("test",)
    test: str

    @classmethod
    def of(cls, text: str, test: str = "") -> TemplateText:
        """Take a text; of a test of its own file `test` is ""."""
        found = cls(text)
        found.test = test
        return found


Value = Scalar | VersionReference | Broken | tuple["YamlNode", ...] | Mapping[str, "Member"]


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value and where it begins. `file` is the file whose whole text it is, "" for YAML."""

    value: Value
    where: Location
    file: str = ""

    @property
    def members(self) -> Mapping[str, Member]:
        """Its keys, none for anything but a mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[YamlNode, ...]:
        """Its items, none for anything but a list."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def is_absent(self) -> bool:
        """Whether it says nothing: null, or broken."""
        return self.value is None or isinstance(self.value, Broken)

    @property
    def plain(self) -> Plain:
        """The tree without places; what is broken, or refers to something, is null."""
        if isinstance(self.value, Mapping):
            return {key: member.node.plain for key, member in self.members.items()}
        if isinstance(self.value, tuple):
            return [item.plain for item in self.items]
        return None if isinstance(self.value, VersionReference | Broken) else self.value


@dataclass(frozen=True, slots=True)
class Member:
    """What stands under a key of a mapping, where the key stands, and whether `<<` brought it."""

    key: Location
    node: YamlNode
    is_merged: bool = False


def walk(node: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Yield every node below with the key it stands under, "" for items."""
    for key, member in node.members.items():
        yield key, member.node
        yield from walk(member.node)
    for item in node.items:
        yield "", item
        yield from walk(item)


def node_of(tree: Plain, places: Places, path: Path = ()) -> YamlNode:
    """Return a tree, which stands at a path, as nodes."""
    where = places(path, False)  # noqa: FBT003  the value
    if isinstance(tree, Mapping):
        members = {
            key: Member(places((*path, key), True), node_of(value, places, (*path, key)))  # noqa: FBT003  the key
            for key, value in tree.items()
        }
        return YamlNode(members, where)
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        items = (node_of(item, places, (*path, index)) for index, item in enumerate(tree))
        return YamlNode(tuple(items), where)
    return YamlNode(tree, where)


def mapping_node(where: Location, values: Mapping[str, YamlNode | str]) -> YamlNode:
    """Make a mapping that nobody wrote as one: each key stands where its value does."""
    nodes = {key: YamlNode(v, where) if isinstance(v, str) else v for key, v in values.items()}
    return YamlNode({key: Member(node.where, node) for key, node in nodes.items()}, where)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that a mapping may have; `aliases` are other words for some of them."""

    known: tuple[str, ...]
    needed: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Section:
    """The members of a mapping under one name each; `above` is the dotted name of the mapping.

    A member that is null or broken counts as not written. Getters give None for what does not fit.
    """

    node: YamlNode
    above: str
    findings: list[Finding]
    members: dict[str, Member] = field(default_factory=dict)

    def find(self, key: str) -> YamlNode | None:
        """Return the value of a key that is written."""
        member = self.members.get(key)
        return None if member is None or member.node.is_absent else member.node

    def place(self, key: str) -> Location:
        """Return where a value stands, or the mapping itself."""
        member = self.members.get(key)
        return member.node.where if member else self.node.where

    def text(self, key: str) -> str:
        """Return a text; numbers are texts too."""

        def read(value: object) -> str | None:
            is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
            return str(value) if is_text else None

        return self._read(key, read, "a text") or ""

    def number(self, key: str, least: int | None = None, most: float = math.inf) -> int | None:
        """Return a whole number."""

        def read(value: object) -> int | None:
            if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool):
                return None
            return value if (least is None or value >= least) and value <= most else None

        expected = "an integer" if least is None else f"an integer >= {least}"
        if most < math.inf:
            expected = f"an integer from {least} to {most}"
        return self._read(key, read, expected)

    def date(self, key: str) -> dt.date | None:
        """Return a date."""
        return self._read(key, lambda value: as_date(str(value)), "a date such as 2024-03-01")

    def flag(self, key: str) -> bool | None:
        """Return a switch."""
        words = {"true": True, "false": False}
        return self._read(key, lambda value: words.get(str(value).lower()), "true or false")

    def word(self, key: str, allowed: Sequence[str]) -> str:
        """Return one of several words in the letters in which they are listed."""
        words = {word.lower(): word for word in allowed}
        expected = f"one of {', '.join(allowed)}"
        return self._read(key, lambda value: words.get(str(value).lower()), expected) or ""

    def duration(self, key: str) -> dt.timedelta | None:
        """Return a duration."""
        expected = "a duration such as 90m, 36h or 2 days"
        return self._read(key, lambda value: duration_of(str(value)), expected)

    def _read(self, key: str, read: Callable[[object], T | None], expected: str) -> T | None:
        node = self.find(key)
        found = None if node is None else read(node.value)
        if node is not None and found is None:
            self.bad(key, expected)
        return found

    def texts(self, key: str) -> tuple[YamlNode, ...]:
        """Return the items of a list of texts; one text alone is such a list."""
        node = self.find(key)
        if node is None:
            return ()
        items = (node,) if isinstance(node.value, str) else node.items
        if not items and node.value != ():
            self.bad(key, "a list of texts")
        others = [item for item in items if not isinstance(item.value, str)]
        for item in others:
            if isinstance(item.value, VersionReference | Broken):
                self.bad(key, "a list of texts")
                continue
            value = shown(key, item.value)
            sentence = f"{self._dotted(key)} holds {value}; it must be a list of texts"
            self.findings.append(Finding(item.where, "bad-value", sentence))
        return () if others else items

    def _dotted(self, key: str) -> str:
        return f"{self.above}.{key}" if self.above else key

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Note that a value does not fit, or that it is a reference that gives something else."""
        value, dotted = self.members[key].node.value, self._dotted(key)
        if isinstance(value, VersionReference):
            sentence = f"{value} stands under {dotted}, which is no {value.field}"
            self.report(key, "reference-wrong-field", sentence)
        else:
            sentence = f"{dotted} is {shown(key, value)}; it must be {expected}"
            self.report(key, "bad-value", sentence, hint)

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where a value stands."""
        self.findings.append(Finding(self.place(key), code, sentence, hint))

    def warn(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Note a warning where a value stands."""
        where = self.place(key)
        self.findings.append(Finding(where, code, sentence, hint, Severity.WARNING))


def open_section(node: YamlNode, keys: Keys, above: str, findings: list[Finding]) -> Section:
    """Take a mapping's members by their one name; note unknown, missing and doubled keys."""
    section = Section(node, above, findings)
    if not isinstance(node.value, Mapping):
        if not isinstance(node.value, Broken):
            whole = Section(node, "", findings, {above: Member(node.where, node)})
            whole.bad(above, "a mapping")
        return section
    for written, member in node.members.items():
        key = keys.aliases.get(written, written)
        known = section.members.get(key)
        if key not in keys.known:
            findings.append(unknown_key(member.key, written, (*keys.known, *keys.aliases)))
        elif known is not None and member.is_merged == known.is_merged:
            names = [key, *(alias for alias, name in keys.aliases.items() if name == key)]
            first, second = sorted((known.key, member.key))
            sentence = f"{' and '.join(names)} are one key; the other is on line {first.line}"
            findings.append(Finding(second, "alias-conflict", sentence, "keep one of them"))
        elif known is None or known.is_merged:
            section.members[key] = member
    for key in keys.needed:
        if key not in section.members or section.members[key].node.value is None:
            where = section.members[key].key if key in section.members else node.where
            findings.append(Finding(where, "missing-key", f"{key!r} is missing"))
    return section


def items_of(section: Section, key: str, what: str) -> tuple[YamlNode, ...]:
    """Return the items of a list; of what is none there are none, and a finding."""
    node = section.find(key)
    if node is not None and not isinstance(node.value, tuple):
        section.bad(key, f"a list of {what}")
    return node.items if node else ()


def unknown_key(where: Location, key: str, known: Iterable[str]) -> Finding:
    """Say that a mapping may have no such key."""
    return Finding(where, "unknown-key", f"unknown key {key!r}", near_or_known(key, known))


def as_date(text: str) -> dt.date | None:
    """Read a date as YAML writes it, 2024-03-01; None for anything else."""
    try:
        return dt.date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


def shown(keys: str | Path, value: object) -> str:
    """Show the value under some keys in a sentence: short, and no password."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple | list):
        return "a list"
    if value is None:
        return "null"
    text = mask(str(value))
    for key in [keys] if isinstance(keys, str) else keys:
        text = mask_value(str(key), text)
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return repr(cut) if isinstance(value, str) else cut.lower()
