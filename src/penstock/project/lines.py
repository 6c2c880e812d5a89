"""Keeping the lines of a template: what was on line 9 of the file is on line 9 of the query.

`keep_lines` puts marks with line numbers into the template's text, `settle_lines` turns each into
the newlines that rendering swallowed. A loop or macro that renders to more lines than it is written
on moves what follows down; nothing else does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

_MARK = re.compile("\0(\\d+)\0")
_BEGINS = ("variable_begin", "block_begin", "comment_begin")
_ENDS = ("variable_end", "block_end", "comment_end")
_BODIES = ("for", "macro", "call", "filter", "set")


def keep_lines(environment: Environment, source: str) -> str:
    """Give the same template with marks; raises `TemplateSyntaxError` as Jinja would.

    Whitespace that `-` strips is stripped here, and its newlines move into the tag.
    """
    marked = _Marked()
    for line, kind, value in environment.lex(source):
        marked.add(line, kind, value)
    return "".join(marked.out)


def settle_lines(rendered: str) -> str:
    r"""Replace every mark by the newlines that are missing up to its line.

    >>> settle_lines("select 1\0003\000\nfrom t")
    'select 1\n\n\nfrom t'
    """
    out: list[str] = []
    line = 1
    for index, piece in enumerate(_MARK.split(rendered)):
        text = "\n" * (int(piece) - line) if index % 2 else piece
        line += text.count("\n")
        out.append(text)
    return "".join(out)


@dataclass(slots=True)
class _Marked:
    out: list[str] = field(default_factory=list)
    line: int = 1
    tag: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    glued: bool = False

    def add(self, line: int, kind: str, value: str) -> None:
        if kind in _BEGINS:
            self.tag = []
            value += "\n" * (line - self.line)
        elif kind in _ENDS:
            self.glued = value.startswith("-")
            value = "\n" * value.count("\n") + value.rstrip()
            if kind == "block_end":
                self._end_block()
        elif kind in ("name", "operator"):
            self.tag.append(value)
        self.line += value.count("\n")
        self.out.append(self._mark(line, value) if kind == "data" else value)

    def _mark(self, line: int, value: str) -> str:
        if self.bodies:
            return value
        first, newline, rest = value.partition("\n")
        if value[:1].isspace() and not self.glued:
            first = f"\0{line}\0{first}"
        return f"{first}{newline}\0{line + 1}\0{rest}" if newline else first

    def _end_block(self) -> None:
        word = self.tag[0] if self.tag else ""
        if word in _BODIES and not (word == "set" and "=" in self.tag):
            self.bodies.append(word)
        elif word.startswith("end") and self.bodies and word == f"end{self.bodies[-1]}":
            self.bodies.pop()
