r"""YAML and JSON to plain values with the place of every node, duplicate keys and `${{ … }}` too.

The reader of YAML would not do for JSON: it refuses tabs and `\/`, reads other words than `true`
as a switch, and takes ten times as long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public, and in no stub
from typing import TypeAlias

import yaml

from penstock.core.findings import Finding, Location
from penstock.project.files.parsed import MERGE, REFERENCE, YamlFile, place_key
from penstock.project.files.values import Path, Plain, list_of

_WHOLE = re.compile(r"\$\{\{[ \t]*(.+?)[ \t]*\}\}")
_BARE = re.compile(r"(\$\{\{[^\n]*?\}\})[ \t]*(?=[ \t]#|\r?\n|\0|\Z)")
_INNER = re.compile(r"file:[ \t]*\S.*|versions\.[^.\s]*\.\w+")
NODES = 500_000
"""How many nodes a document may unfold to."""
_MERGE = "tag:yaml.org,2002:merge"
_LOADER = yaml.SafeLoader("")
_READERS: Mapping[str, Callable[[yaml.ScalarNode], Plain]] = {
    "null": _LOADER.construct_yaml_null,
    "bool": _LOADER.construct_yaml_bool,
    "int": _LOADER.construct_yaml_int,
    "float": _LOADER.construct_yaml_float,
}


class ReferenceLoader(yaml.SafeLoader):
    """Reads a bare `${{ file: … }}`, which is not YAML, as a scalar in place of a plain one."""

    def scan_plain(self) -> yaml.ScalarToken:
        """Scan a bare reference as one token, otherwise as usual."""
        found = None if self.flow_level else _BARE.match(self.buffer, self.pointer)
        if found is None or inner_of(found[1]) is None:
            return super().scan_plain()
        start = self.get_mark()
        self.forward(len(found[1]))
        return yaml.ScalarToken(found[1], True, start, self.get_mark())  # noqa: FBT003  plain


def inner_of(text: str) -> str | None:
    """Return the text between the braces of a reference, None for any other text.

    >>> inner_of("${{ file: a b.yaml }}"), inner_of("${{ x }}")
    ('file: a b.yaml', None)
    """
    found = _WHOLE.fullmatch(text)
    return found[1] if found and "}}" not in found[1] and _INNER.fullmatch(found[1]) else None


def reference_in(node: yaml.ScalarNode) -> str | None:
    """Return the reference in a scalar; a block scalar is never one."""
    return None if node.style in ("|", ">") else inner_of(node.value)


UNFOLDED = (
    "write out what *aliases repeat, or split the file; no alias may stand inside its &anchor"
)


class _TooManyNodesError(Exception):
    pass


Scalars = Callable[[yaml.ScalarNode], Plain]


def read_document(path: str, text: str, scalars: Scalars | None = None) -> YamlFile:
    """Read one YAML document; references are mappings with only `REFERENCE`; None for invalid YAML.

    With `scalars`, which reads each of them, there are no references.
    """
    builder = _TreeBuilder(path, scalars or _scalar)
    tree, where = None, Location(path, 1, 1)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader if scalars else ReferenceLoader)
        tree = builder.build(node, (), ()) if node is not None else None
    except yaml.YAMLError as error:
        builder.findings.append(syntax_finding(path, error))
    except (_TooManyNodesError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        what = "is nested too deep" if is_deep else f"unfolds to more than {NODES:,} nodes"
        builder.findings.append(Finding(where, "yaml-syntax", f"the document {what}", UNFOLDED))
    return YamlFile(path, tree, builder.places, builder.keys, tuple(builder.findings))


@dataclass(slots=True)
class _TreeBuilder:
    path: str
    scalar: Scalars
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    nodes: int = 0

    def build(self, node: yaml.Node, path: Path, above: tuple[int, ...]) -> Plain:
        self.nodes += 1
        if self.nodes > NODES or id(node) in above:
            raise _TooManyNodesError
        self.places.setdefault(place_key(path), begins_at(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, (*above, id(node)))
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return [self.build(item, (*path, i), (*above, id(node))) for i, item in items]
        return self.scalar(node) if isinstance(node, yaml.ScalarNode) else None

    def _mapping(self, node: yaml.MappingNode, path: Path, above: tuple[int, ...]) -> Plain:
        result: dict[str, Plain] = {}
        merges = [value for key, value in node.value if key.tag == _MERGE]
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            at = (*path, key)
            if key in result:
                first = self.keys[place_key(at)][0]
                sentence = f"key {key!r} is written twice; the first is on line {first}"
                where = Location(self.path, *begins_at(key_node))
                self.findings.append(Finding(where, "duplicate-key", sentence))
                continue
            self.keys.setdefault(place_key(at), begins_at(key_node))
            result[key] = self.build(value_node, at, above)
        included: list[Plain] = []
        for value in merges:
            result = {**self._merged(value, path, above, included), **result}
        return {**result, MERGE: included} if included else result

    def _merged(
        self, node: yaml.Node, path: Path, above: tuple[int, ...], included: list[Plain]
    ) -> dict[str, Plain]:
        """Build the merged part of a mapping at its own path: its own keys have their places."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Plain] = {}
        for source in sources:
            if isinstance(source, yaml.ScalarNode) and reference_in(source):
                included.append(self.build(source, (*path, MERGE, len(included)), above))
            elif isinstance(source, yaml.MappingNode):
                built = self.build(source, path, above)
                more = dict(built) if isinstance(built, dict) else {}
                included += list_of(more.pop(MERGE, None))
                result = {**more, **result}
        return result


def _scalar(node: yaml.ScalarNode) -> Plain:
    reference = reference_in(node)
    if reference is not None:
        return {REFERENCE: reference}
    read = _READERS.get(node.tag.rpartition(":")[2])
    with suppress(ValueError):
        return read(node) if read else str(node.value)
    return str(node.value)


def begins_at(node: yaml.Node) -> tuple[int, int]:
    """Return the line and column of a node's text."""
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return node.start_mark.line + 2, 1  # its text begins on the next line
    return node.start_mark.line + 1, node.start_mark.column + 1


def syntax_finding(path: str, error: yaml.YAMLError) -> Finding:
    """Return the finding for a YAML syntax error."""
    place = getattr(error, "problem_mark", None)
    where = Location(path, place.line + 1, place.column + 1) if place else Location(path, 1, 1)
    said = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return Finding(where, "yaml-syntax", str(said), "quote the value if it is meant as text")


_NEXT = re.compile(r"[ \t\n\r]*(.?)[ \t\n\r]*", re.DOTALL)
"""A character between blanks: it occurs twice per node, so one match finds all of it."""
_NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?")
_JSON_WORD = re.compile(r"true|false|null")
_JSON_WORDS: dict[str, Plain] = {"true": True, "false": False, "null": None}
_DEEPEST = 100
_LONGEST_NUMBER = 1000
Read: TypeAlias = "tuple[Plain, int]"


def read_json(path: str, text: str) -> YamlFile:
    """Read one JSON document; invalid JSON has no tree, with a finding `json-syntax`."""
    reader = _JsonReader(path, text)
    try:
        tree = reader.whole()
    except JSONDecodeError as error:
        where = Location(path, *reader.place(error.pos))
        said = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")
        hint = "JSON has no comments, no commas at the end, and texts in double quotes"
        finding = Finding(where, "json-syntax", said, hint)
        return YamlFile(path, findings=(*reader.findings, finding))
    return YamlFile(path, tree, reader.places, reader.keys, tuple(reader.findings))


@dataclass(slots=True)
class _JsonReader:
    path: str
    text: str
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    lines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def whole(self) -> Plain:
        tree, end = self.value(self.sign(0)[1], "", 0)
        found, at, _ = self.sign(end)
        if found:
            raise JSONDecodeError("the document goes on after its end", self.text, at)
        return tree

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def sign(self, at: int, expected: str = "") -> tuple[str, int, int]:
        """Return the next character, "" at the end; its position, and the position after it."""
        found = _NEXT.match(self.text, at)
        if found is None or (expected and (not found[1] or found[1] not in expected)):
            where = found.start(1) if found else at
            raise JSONDecodeError(f"{expected[:1]!r} is expected", self.text, where)
        return found[1], found.start(1), found.end()

    def value(self, at: int, key: str, depth: int) -> Read:
        """Read a value that begins here, under `key`."""
        self.places[key] = self.place(at)
        opening, _, inside = self.sign(at)
        if opening == '"':
            found, end = scanstring(self.text, at + 1)
            return found, end
        if opening not in ("{", "["):
            return self._scalar(at)
        if depth == _DEEPEST:
            raise JSONDecodeError("the document is nested too deep", self.text, at)
        read = self._object if opening == "{" else self._array
        return read(inside, f"{key}\n" if key else "", depth + 1)

    def _object(self, at: int, start: str, depth: int) -> Read:
        found: dict[str, Plain] = {}
        sign = "}" if self.text[at : at + 1] == "}" else ","
        at += sign == "}"
        while sign == ",":
            if self.text[at : at + 1] != '"':
                raise JSONDecodeError("a key in double quotes is expected", self.text, at)
            name, end = scanstring(self.text, at + 1)
            key, (_, _, begin) = start + name, self.sign(end, ":")
            if name not in found:
                self.keys[key] = self.place(at)
                found[name], end = self.value(begin, key, depth)
            else:
                first = self.keys[key][0]
                sentence = f"key {name!r} is written twice; the first is on line {first}"
                where = Location(self.path, *self.place(at))
                self.findings.append(Finding(where, "duplicate-key", sentence))
                _, end = _JsonReader(self.path, self.text).value(begin, key, depth)
            sign, _, at = self.sign(end, ",}")
        return found, at

    def _array(self, at: int, start: str, depth: int) -> Read:
        found: list[Plain] = []
        sign = "]" if self.text[at : at + 1] == "]" else ","
        at += sign == "]"
        while sign == ",":
            item, end = self.value(at, f"{start}{len(found)}", depth)
            found.append(item)
            sign, _, at = self.sign(end, ",]")
        return found, at

    def _scalar(self, at: int) -> Read:
        word = _JSON_WORD.match(self.text, at)
        if word:
            return _JSON_WORDS[word[0]], word.end()
        number = _NUMBER.match(self.text, at)
        if number is None or len(number[0]) > _LONGEST_NUMBER:
            raise JSONDecodeError("a value is expected", self.text, at)
        is_whole = number[2] is None and number[3] is None
        return int(number[0]) if is_whole else float(number[0]), number.end()
