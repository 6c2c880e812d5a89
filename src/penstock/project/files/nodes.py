"""Trees of YAML whose nodes know their places, and reading their mappings key by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import mask, mask_value
from penstock.core.names import is_plain
from penstock.project.files.kinds import TEXT, ValueKind
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import Path, Plain, did_you_mean, near_or_known

Scalar = str | int | float | bool | None
Places = Callable[[Path, bool], Location]
"""The place of a value, or with True of its key."""
T = TypeVar("T")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class VersionReference:
    """`${{ versions.N.FIELD }}` as written; N may be any text."""

    version: str
    field: str

    def __str__(self) -> str:
        """Return the text between the braces."""
        return f"versions.{self.version}.{self.field}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A value that could not be read, for which there is a finding."""


class TemplateText(str):
    """SQL that is rendered before it is parsed; `test` is the parametrised test that it calls."""

    __slots__ = ("test",)
    test: str

    @classmethod
    def of(cls, text: str, test: str = "") -> TemplateText:
        """Return a text; `test` is "" for a test in its own file."""
        found = cls(text)
        found.test = test
        return found


Value = Scalar | VersionReference | Broken | tuple["YamlNode", ...] | Mapping[str, "YamlNode"]


class YamlNode:
    """A value, its place and the place of its key; child nodes are created on demand.

    `file` is the file that consists only of this text, "" otherwise. `is_merged` is whether `<<`
    added it.
    """

    __slots__ = ("_is_open", "_key", "_places", "_value", "_where", "file", "is_merged", "path")

    def __init__(
        self,
        value: object,
        where: Location | None = None,
        file: str = "",
        *,
        path: Path = (),
        key: Location | None = None,
        places: Places | None = None,
    ) -> None:
        self._value, self._where, self._key = value, where, key
        self.file, self.path, self._places = file, path, places
        self.is_merged, self._is_open = False, places is None

    @property
    def value(self) -> Value:
        """Its scalar, or its keys or items as nodes."""
        if self._is_open:
            return cast("Value", self._value)
        value, path, places = self._value, self.path, self._places
        if isinstance(value, Mapping):
            value = {k: YamlNode(v, path=(*path, k), places=places) for k, v in value.items()}
        elif isinstance(value, list | tuple):
            items = enumerate(value)
            value = tuple(YamlNode(v, path=(*path, n), places=places) for n, v in items)
        self._value, self._is_open = value, True
        return cast("Value", value)

    @property
    def where(self) -> Location:
        """The place of its value."""
        if self._where is None and self._places is not None:
            self._where = self._places(self.path, False)  # noqa: FBT003  the value
        return self._where or Location("")

    @property
    def key(self) -> Location:
        """The place of its key, or of the value without a key."""
        if self._key is None and self._places is not None:
            self._key = self._places(self.path, True)  # noqa: FBT003  the key
        return self._key or self.where

    @property
    def node(self) -> YamlNode:
        """Itself, as the value of its key."""
        return self

    def under(self, key: Location, *, is_merged: bool = False) -> YamlNode:
        """Return it as the value of a key at some place."""
        found = YamlNode(self.value, self.where, self.file, path=self.path, key=key)
        found.is_merged = is_merged
        return found

    def having(self, value: Value, where: Location | None = None) -> YamlNode:
        """Return it with another value, possibly at another place."""
        return YamlNode(value, where or self.where, self.file, path=self.path, key=self._key)

    def __str__(self) -> str:
        """Return its JSON path.

        >>> str(YamlNode(None, Location("a.json"), path=("entities", 1, "odd key")))
        "$.entities[1]['odd key']"
        """
        return "$" + "".join(_step(each) for each in self.path)

    def __eq__(self, other: object) -> bool:
        """Return whether another one has the same content and place."""
        return isinstance(other, YamlNode) and self._facts == other._facts

    def __hash__(self) -> int:
        """Return equal hashes for equal nodes."""
        return hash(self.where)

    @property
    def _facts(self) -> tuple[Value, Location, str]:
        return self.value, self.where, self.file

    @property
    def members(self) -> Mapping[str, YamlNode]:
        """Its keys, empty for anything but a mapping."""
        value = self.value
        return value if isinstance(value, dict) else {}

    @property
    def items(self) -> tuple[YamlNode, ...]:
        """Its items, empty for anything but a list."""
        value = self.value
        return value if isinstance(value, tuple) else ()

    @property
    def is_absent(self) -> bool:
        """Whether it is null or broken."""
        return self._value is None or isinstance(self._value, Broken)

    @property
    def plain(self) -> Plain:
        """The tree without places; broken parts and references are null."""
        if not self._is_open:
            return cast("Plain", self._value)
        value = self.value
        if isinstance(value, Mapping):
            return {key: member.plain for key, member in value.items()}
        if isinstance(value, tuple):
            return [item.plain for item in value]
        return None if isinstance(value, VersionReference | Broken) else value


Member = YamlNode
"""The value of a key."""


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if is_plain(part) else f"[{part!r}]"


def walk(node: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Yield every node below with its key, "" for items."""
    for key, member in node.members.items():
        yield key, member
        yield from walk(member)
    for item in node.items:
        yield "", item
        yield from walk(item)


def node_of(tree: Plain, places: Places, path: Path = ()) -> YamlNode:
    """Return a tree at a path as a node."""
    return YamlNode(tree, path=path, places=places)


def file_node(file: YamlFile, tree: Plain, path: Path = ()) -> YamlNode:
    """Return a file's tree at a path as a node."""
    return YamlNode(tree, path=path, places=file.spot)


def mapping_node(where: Location, values: Mapping[str, YamlNode | str]) -> YamlNode:
    """Create a mapping that is not in the file: each key has the place of its value."""
    nodes = {key: YamlNode(v, where) if isinstance(v, str) else v for key, v in values.items()}
    return YamlNode({key: node.under(node.where) for key, node in nodes.items()}, where)


@dataclass(frozen=True, slots=True)
class Keys:
    """The allowed keys of a mapping; `aliases` maps other words to keys."""

    names: tuple[str, ...]
    needed: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


class Section:
    """The members of a mapping under unique names; `above` is the dotted name of the mapping.

    A null or broken member counts as absent. For an invalid value, getters return their kind's
    empty value and report a finding.
    """

    is_exact = False
    """Whether a number is not a text, and a text not a number."""

    def __init__(
        self,
        node: YamlNode,
        above: str,
        findings: list[Finding],
        members: Mapping[str, YamlNode] | None = None,
    ) -> None:
        self.node, self.above, self.findings = node, above, findings
        self.members: dict[str, YamlNode] = dict(members or {})

    def find(self, key: str) -> YamlNode | None:
        """Return the value of a given key."""
        member = self.members.get(key)
        return None if member is None or member.is_absent else member

    def place(self, key: str) -> Location:
        """Return the place of a value, or of the mapping."""
        member = self.members.get(key)
        return member.where if member else self.node.where

    def read(self, key: str, kind: ValueKind[T]) -> T:
        """Return the value of a key; its default, with a finding if it is invalid."""
        node = self.members.get(key)
        if node is None or node.is_absent:
            return kind.empty
        value = node.value
        is_fit = not self.is_exact or type(value) in kind.exact
        found = kind.parse(value) if is_fit else None
        if found is None:
            near = did_you_mean(str(value), kind.words)
            self.bad(key, kind.expected, kind.hint(value) if self.is_exact else near)
            return kind.empty
        return found

    def text(self, key: str) -> str:
        """Return a text; numbers count as text."""
        return self.read(key, TEXT)

    def texts(self, key: str) -> tuple[YamlNode, ...]:
        """Return the items of a list of texts; one text counts as a list."""
        node = self.find(key)
        if node is None:
            return ()
        items = (node,) if isinstance(node.value, str) else node.items
        if not items and node.value != ():
            self.bad(key, "a list of texts", "write a list" if self.is_exact else "")
        fitting = tuple(item for item in items if isinstance(item.value, str))
        for item in items:
            if not isinstance(item.value, str):
                self._bad_item(key, item)
        return fitting if self.is_exact or len(fitting) == len(items) else ()

    def _bad_item(self, key: str, item: YamlNode) -> None:
        """Report that an item of a list of texts is not a text."""
        if isinstance(item.value, VersionReference | Broken):
            self.bad(key, "a list of texts")
            return
        sentence = (
            f"{self.dotted(key)} holds {excerpt(key, item.value)}; it must be a list of texts"
        )
        self.findings.append(Finding(item.where, "bad-value", sentence))

    def dotted(self, key: str) -> str:
        """Return the name of a key for messages."""
        return f"{self.above}.{key}" if self.above else key

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Report that a value is invalid, or that a reference gives an invalid value."""
        node, dotted = self.members[key], self.dotted(key)
        value = node.value
        if isinstance(value, VersionReference):
            sentence = f"{value} is under {dotted}, which is not a {value.field}"
            self.report(key, "reference-wrong-field", sentence)
        else:
            sentence = f"{dotted} is {excerpt((*node.path, key), value)}; it must be {expected}"
            self.report(key, "bad-value", sentence, hint)

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Report an error at the place of a value."""
        self.findings.append(Finding(self.place(key), code, self._phrase(key, sentence), hint))

    def warn(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Report a warning at the place of a value."""
        where, warning = self.place(key), Severity.WARNING
        self.findings.append(Finding(where, code, self._phrase(key, sentence), hint, warning))

    def _phrase(self, key: str, sentence: str) -> str:  # noqa: ARG002  exact sections show it
        """Return a message about a key, or about the mapping for "", with masked values."""
        return sentence

    def _missing(self, key: str) -> None:
        where = self.members[key].key if key in self.members else self.node.where
        self.findings.append(Finding(where, "missing-key", self._phrase("", f"{key!r} is missing")))

    def _unknown(self, written: str, member: YamlNode, candidates: Iterable[str]) -> None:
        self.findings.append(unknown_key(member.key, written, candidates))


def open_section(node: YamlNode, keys: Keys, above: str, findings: list[Finding]) -> Section:
    """Return a mapping's members by unique name; report unknown, missing and duplicate keys."""
    section = Section(node, above, findings)
    if isinstance(node.value, Mapping):
        take_members(section, keys)
    elif not isinstance(node.value, Broken):
        Section(node, "", findings, {above: node}).bad(above, "a mapping")
    return section


def take_members(section: Section, keys: Keys) -> None:
    """Return a mapping's members by unique name; report unknown, missing and duplicate keys."""
    members, findings = section.members, section.findings
    for written, member in section.node.members.items():
        key = keys.aliases.get(written, written)
        first = members.get(key)
        if key not in keys.names:
            section._unknown(written, member, (*keys.names, *keys.aliases))  # noqa: SLF001  its own
        elif first is not None and member.is_merged == first.is_merged:
            names = [key, *(alias for alias, name in keys.aliases.items() if name == key)]
            one, two = sorted((first.key, member.key))
            sentence = f"{' and '.join(names)} are one key; the other is on line {one.line}"
            findings.append(Finding(two, "alias-conflict", sentence, "keep one of them"))
        elif first is None or first.is_merged:
            members[key] = member
    for key in keys.needed:
        if key not in members or members[key].value is None:
            section._missing(key)  # noqa: SLF001  its own


def items_of(section: Section, key: str, what: str) -> tuple[YamlNode, ...]:
    """Return the items of a list; anything else has none, with a finding."""
    node = section.find(key)
    if node is not None and not isinstance(node.value, tuple):
        section.bad(key, f"a list of {what}", "write a list" if section.is_exact else "")
    return node.items if node else ()


def unknown_key(where: Location, key: str, candidates: Iterable[str]) -> Finding:
    """Report that a mapping must not have a key."""
    return Finding(where, "unknown-key", f"unknown key {key!r}", near_or_known(key, candidates))


def excerpt(keys: str | Path, value: object) -> str:
    """Return the values of some keys for messages: short, without passwords."""
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
