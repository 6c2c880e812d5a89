r"""JSON text to plain values with the place of every node, duplicate keys too.

The reader of YAML would not do: it refuses tabs and `\/`, reads other words than `true` as a
switch, and takes ten times as long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public, and in no stub
from typing import TypeAlias

from penstock.core.findings import Finding, Location
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import Plain

_NEXT = re.compile(r"[ \t\n\r]*(.?)[ \t\n\r]*", re.DOTALL)
"""A sign between blanks: it is met twice for each node, so one look finds all of it."""
_NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?")
_WORD = re.compile(r"true|false|null")
_WORDS: dict[str, Plain] = {"true": True, "false": False, "null": None}
_DEEPEST = 100
_LONGEST_NUMBER = 1000
Read: TypeAlias = "tuple[Plain, int]"


def read_json(path: str, text: str) -> YamlFile:
    """Read one JSON document; what is no JSON has no tree, beside a finding `json-syntax`."""
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
        """Return the sign after blanks, "" at the end; where it stands, and what follows it."""
        found = _NEXT.match(self.text, at)
        if found is None or (expected and (not found[1] or found[1] not in expected)):
            where = found.start(1) if found else at
            raise JSONDecodeError(f"{expected[:1]!r} is expected", self.text, where)
        return found[1], found.start(1), found.end()

    def value(self, at: int, key: str, depth: int) -> Read:
        """Read a value that begins here and stands under `key`."""
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
        word = _WORD.match(self.text, at)
        if word:
            return _WORDS[word[0]], word.end()
        number = _NUMBER.match(self.text, at)
        if number is None or len(number[0]) > _LONGEST_NUMBER:
            raise JSONDecodeError("a value is expected", self.text, at)
        is_whole = number[2] is None and number[3] is None
        return int(number[0]) if is_whole else float(number[0]), number.end()
