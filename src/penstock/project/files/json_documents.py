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

_BLANK = re.compile(r"[ \t\n\r]*")
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
        tree, end = self.value(self.past(0), "", 0)
        if end != len(self.text):
            raise JSONDecodeError("the document goes on after its end", self.text, end)
        return tree

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def past(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, key: str, depth: int) -> Read:
        """Read a value that begins here and stands under `key`, and the blanks after it."""
        self.places[key] = self.place(at)
        match self.text[at : at + 1]:
            case '"':
                found, end = scanstring(self.text, at + 1)
            case "{" | "[" as opening:
                if depth == _DEEPEST:
                    raise JSONDecodeError("the document is nested too deep", self.text, at)
                read = self._object if opening == "{" else self._array
                found, end = read(self.past(at + 1), key, depth + 1)
            case _:
                found, end = self._scalar(at)
        return found, self.past(end)

    def _object(self, at: int, above: str, depth: int) -> Read:
        found: dict[str, Plain] = {}
        start = f"{above}\n" if above else ""
        if self.text[at : at + 1] == "}":
            return found, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise JSONDecodeError("a key in double quotes is expected", self.text, at)
            name, end = scanstring(self.text, at + 1)
            key, is_first = start + name, name not in found
            if is_first:
                self.keys[key] = self.place(at)
            else:
                sentence = (
                    f"key {name!r} is written twice; the first is on line {self.keys[key][0]}"
                )
                where = Location(self.path, *self.place(at))
                self.findings.append(Finding(where, "duplicate-key", sentence))
            at = self._sign(":", self.past(end))
            if is_first:
                found[name], at = self.value(at, key, depth)
            else:
                _, at = _JsonReader(self.path, self.text).value(at, key, depth)
            if self.text[at : at + 1] == "}":
                return found, at + 1
            at = self._sign(",", at)

    def _array(self, at: int, above: str, depth: int) -> Read:
        found: list[Plain] = []
        start = f"{above}\n" if above else ""
        if self.text[at : at + 1] == "]":
            return found, at + 1
        while True:
            item, at = self.value(at, f"{start}{len(found)}", depth)
            found.append(item)
            if self.text[at : at + 1] == "]":
                return found, at + 1
            at = self._sign(",", at)

    def _sign(self, sign: str, at: int) -> int:
        if self.text[at : at + 1] != sign:
            raise JSONDecodeError(f"{sign!r} is expected", self.text, at)
        return self.past(at + 1)

    def _scalar(self, at: int) -> Read:
        word = _WORD.match(self.text, at)
        if word:
            return _WORDS[word[0]], word.end()
        number = _NUMBER.match(self.text, at)
        if number is None or len(number[0]) > _LONGEST_NUMBER:
            raise JSONDecodeError("a value is expected", self.text, at)
        is_whole = number[2] is None and number[3] is None
        return int(number[0]) if is_whole else float(number[0]), number.end()
