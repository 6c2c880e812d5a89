"""Templates that are read without Jinja: text with calls of a few functions, and two branches.

Most models need no more, and compiling a template to Python takes longer than all the rest of
reading it. What such a template renders to is what Jinja renders it to; anything else in a file,
down to a single sign that is not known here, makes it a file for Jinja.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.project.sql.context.rendering import Rendering
from penstock.project.sql.template_lines import Lexed, header_keys, marked_data

CALLED = ("config", "ref", "source", "var", "is_incremental", "this")
"""The names that such a template may use."""
_MOST_SIGNS = 100_000
_BEGIN = re.compile(r"\{[{%#]")
_BLANK, _END = re.compile(r"\s*"), re.compile(r"\s*\}\}")
_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)|(?P<string>'[^'\\\n]*'|\"[^\"\\\n]*\")"
    r"|(?P<integer>0|[1-9]\d*)|(?P<operator>[()\[\]=,])",
    re.ASCII,
)
_VALUES = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_STATEMENT = re.compile(
    r"\{%\s+(?:(?P<if>if)\s+(?P<not>not\s+)?is_incremental\s*\(\s*\)|(?P<else>else)|endif)\s+%\}"
)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


class _OtherError(Exception):
    """This template is one for Jinja."""


@dataclass(frozen=True, slots=True)
class _Print:
    """A call whose result is printed, on a line; without arguments it is a name alone."""

    name: str
    line: int
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None


@dataclass(slots=True)
class _Branches:
    """What is printed if the table exists, and if not."""

    there: list[_Part] = field(default_factory=list)
    new: list[_Part] = field(default_factory=list)


_Part = str | _Print | _Branches


@dataclass(frozen=True, slots=True)
class SimpleTemplate:
    """A template that can be rendered without Jinja."""

    parts: Sequence[_Part]
    headers: Mapping[int, Mapping[str, int]]
    written: int
    """The number of signs of its text."""

    def pieces(self, names: Mapping[str, Any], now: Rendering) -> Iterator[object]:
        """Yield the texts and values that it prints; they hold marks of lines."""
        yield from _pieces(self.parts, names, now)


def _pieces(parts: Sequence[_Part], names: Mapping[str, Any], now: Rendering) -> Iterator[object]:
    for part in parts:
        match part:
            case str():
                yield part
            case _Print(name, line, arguments):
                now.line = line
                called = names[name]
                yield called(*arguments[0], **arguments[1]) if arguments else called
            case _Branches():
                is_there = names["is_incremental"]()
                yield from _pieces(part.there if is_there else part.new, names, now)


def simple_template(source: str) -> SimpleTemplate | None:
    """Return a template that needs no Jinja, else None.

    >>> simple_template("select {{ var('a') }}").parts
    ['select ', _Print(name='var', line=1, arguments=(('a',), {}))]
    >>> simple_template("select {{ a + 1 }}") is None
    True
    """
    if len(source) > _MOST_SIGNS or "\r" in source:
        return None
    try:
        return _TemplateReader(source).template()
    except _OtherError:
        return None


@dataclass(slots=True)
class _TemplateReader:
    source: str
    at: int = 0
    line: int = 1
    tokens: list[Lexed] = field(default_factory=list)
    written: int = 0

    def template(self) -> SimpleTemplate:
        top: list[_Part] = []
        inner, open_branches = [top], list[tuple[_Branches, bool]]()
        while begin := _BEGIN.search(self.source, self.at):
            self._data(begin.start(), inner[-1])
            if begin[0] == "{{":
                inner[-1].append(self._print())
            elif begin[0] == "{#":
                self._comment()
            else:
                self._statement(inner, open_branches)
        self._data(len(self.source), inner[-1])
        if open_branches:
            raise _OtherError
        return SimpleTemplate(top, header_keys(self.tokens), self.written)

    def _pass(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return what stands here, and go on behind it."""
        passed = pattern.match(self.source, self.at)
        if passed is None:
            raise _OtherError
        self._go(passed.end())
        return passed

    def _go(self, end: int) -> None:
        self.line += self.source.count("\n", self.at, end)
        self.at = end

    def _data(self, end: int, parts: list[_Part]) -> None:
        if text := self.source[self.at : end]:
            parts.append(marked := marked_data(self.line, text))
            self.written += len(marked)
        self._go(end)

    def _comment(self) -> None:
        text = self._pass(_COMMENT)[0]
        if text[2] in "-+" or text[-3] in "-+":
            raise _OtherError

    def _statement(
        self, inner: list[list[_Part]], open_branches: list[tuple[_Branches, bool]]
    ) -> None:
        """Read `if`, `else` or `endif`."""
        word = self._pass(_STATEMENT)
        if word["if"]:
            branches, is_new = _Branches(), bool(word["not"])
            inner[-1].append(branches)
            open_branches.append((branches, is_new))
            inner.append(branches.new if is_new else branches.there)
            return
        if not open_branches:
            raise _OtherError
        branches, is_new = open_branches[-1]
        other = branches.there if is_new else branches.new
        if not word["else"]:
            open_branches.pop()
            inner.pop()
        elif inner[-1] is other:
            raise _OtherError
        else:
            inner[-1] = other

    def _print(self) -> _Print:
        self._go(self.at + 2)
        tokens: list[Lexed] = []
        while (end := _END.match(self.source, self.at)) is None:
            self._pass(_BLANK)
            line, token = self.line, self._pass(_TOKEN)
            tokens.append((line, str(token.lastgroup), token[0]))
        self._go(end.end())
        (line, _, name), *others = tokens or [(0, "", "")]
        if name not in CALLED or (name == "this") is bool(others):
            raise _OtherError
        if name == "config":
            self.tokens += tokens
        return _Print(name, others[0][0], _arguments(others)) if others else _Print(name, line)


def _arguments(tokens: list[Lexed]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the arguments of a call, from its first bracket to its last."""
    words = [word for _, _, word in tokens]
    positional, named = list[Any](), dict[str, Any]()
    if words[0] != "(" or words[-1] != ")":
        raise _OtherError
    at, last = 1, len(words) - 1
    while at < last:
        key = words[at] if words[at + 1] == "=" and tokens[at][1] == "name" else ""
        value, at = _value(tokens, at + 2 if key else at)
        if key in named or (named and not key):
            raise _OtherError
        if key:
            named[key] = value
        else:
            positional.append(value)
        at = _after_comma(words, at, ")")
    if at != last:
        raise _OtherError
    return tuple(positional), named


def _value(tokens: list[Lexed], at: int) -> tuple[Any, int]:
    """Return the value that begins at a token, and the place behind it."""
    _, kind, word = tokens[at]
    if kind == "string":
        return word[1:-1], at + 1
    if kind == "integer":
        return int(word), at + 1
    if word in _VALUES:
        return _VALUES[word], at + 1
    if word != "[":
        raise _OtherError
    found, at, words = list[Any](), at + 1, [each for _, _, each in tokens]
    while words[at] != "]":
        value, at = _value(tokens, at)
        found.append(value)
        at = _after_comma(words, at, "]")
    return found, at + 1


def _after_comma(words: list[str], at: int, end: str) -> int:
    if words[at] not in (",", end):
        raise _OtherError
    return at + (words[at] == ",")
