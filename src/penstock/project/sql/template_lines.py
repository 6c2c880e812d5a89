"""The lines of a template: keys and comments of its config headers, and lines kept on rendering.

What was on line 9 of the file is on line 9 of the query: `keep_lines` puts marks with line numbers
into the template's text, `settle_lines` replaces each by the newlines that rendering removed. Only
a loop or macro that renders to more lines than its source moves the following lines down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.project.files.parsed import place_key
from penstock.project.files.values import Path

_START = re.compile(r"\{\{[-+]?\s*config\s*\(")
_PIECE = re.compile(
    r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<comment>--[^\n]*|#[^\n]*)"
    r"|(?P<open>\()|(?P<close>\))",
    re.DOTALL,
)
Lexed = tuple[int, str, str]
_UNSEEN = ("whitespace", "comment", "comment_begin", "comment_end")
_KEYS = (("(", "name", ("operator", "=")), ("{", "string", ("operator", ":")))
_OPENING = ("(", "[", "{")
_CLOSING = (")", "]", "}")
_MARKER = re.compile("\0(\\d+)\0")
_BEGINS = ("variable_begin", "block_begin", "comment_begin")
_ENDS = ("variable_end", "block_end", "comment_end")
_BODIES = ("for", "macro", "call", "filter", "set")


def blank_comments(source: str) -> str:
    """Replace the comments of every config header by spaces: nothing moves."""
    out: list[str] = []
    done = 0
    for start in _START.finditer(source):
        if start.start() < done:
            continue
        depth = 1
        for piece in _PIECE.finditer(source, start.end()):
            if piece["comment"]:
                out += [source[done : piece.start()], " " * len(piece["comment"])]
                done = piece.end()
            depth += bool(piece["open"]) - bool(piece["close"])
            if not depth:
                break
    return "".join(out) + source[done:]


@dataclass(slots=True)
class _Inside:
    bracket: str
    path: Path
    item: int = 0


def header_keys(tokens: Iterable[Lexed]) -> dict[int, dict[str, int]]:
    """Return the lines of the keys of every `config( … )` among Jinja's tokens, by its own line."""
    seen = [token for token in tokens if token[1] not in _UNSEEN]
    found: dict[int, dict[str, int]] = {}
    for index, (_, kind, word) in enumerate(seen[:-1]):
        if (kind, word) == ("name", "config") and seen[index + 1][1:] == ("operator", "("):
            line = seen[index + 1][0]  # where Jinja sees the call
            found.setdefault(line, _lines_of_keys(seen[index + 1 :]))
    return found


def line_of(lines: Mapping[str, int], path: Path, otherwise: int) -> int:
    """Return the line of a key, or of the nearest one around it."""
    keys = (place_key(path[:depth]) for depth in range(len(path), 0, -1))
    return next((lines[key] for key in keys if key in lines), otherwise)


def _lines_of_keys(tokens: list[Lexed]) -> dict[str, int]:
    lines: dict[str, int] = {}
    stack: list[_Inside] = []
    path: Path = ()
    for (line, kind, word), following in zip(tokens, [*tokens[1:], (0, "", "")], strict=True):
        inside = stack[-1] if stack else None
        if kind == "operator" and word in _OPENING:
            stack.append(_Inside(word, path))
            path = (*path, 0) if word == "[" else path
        elif kind == "operator" and word in _CLOSING:
            stack.pop()
            if not stack:
                break
        elif inside and (kind, word) == ("operator", ","):
            inside.item += 1
            path = (*inside.path, inside.item) if inside.bracket == "[" else inside.path
        elif inside and (inside.bracket, kind, following[1:]) in _KEYS:
            path = (*inside.path, word[1:-1] if kind == "string" else word)
            lines.setdefault(place_key(path), line)
    return lines


def keep_lines(tokens: Iterable[Lexed]) -> str:
    """Return the template of Jinja's tokens with marks.

    Whitespace that `-` strips is stripped here, and its newlines move into the tag.
    """
    marked = _MarkedLines()
    for line, kind, value in tokens:
        marked.add(line, kind, value)
    return "".join(marked.out)


def settle_lines(rendered: str) -> str:
    """Replace every mark by the newlines that are missing up to its line."""
    out: list[str] = []
    line = 1
    for index, piece in enumerate(_MARKER.split(rendered)):
        text = "\n" * (int(piece) - line) if index % 2 else piece
        line += text.count("\n")
        out.append(text)
    return "".join(out)


def marked_data(line: int, value: str, *, glued: bool = False) -> str:
    """Return a text between tags with marks; one that is glued continues what is before it."""
    first, newline, rest = value.partition("\n")
    if value[:1].isspace() and not glued:
        first = f"\0{line}\0{first}"
    return f"{first}{newline}\0{line + 1}\0{rest}" if newline else first


@dataclass(slots=True)
class _MarkedLines:
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
        self.out.append(self._marker(line, value) if kind == "data" else value)

    def _marker(self, line: int, value: str) -> str:
        return value if self.bodies else marked_data(line, value, glued=self.glued)

    def _end_block(self) -> None:
        word = self.tag[0] if self.tag else ""
        if word in _BODIES and not (word == "set" and "=" in self.tag):
            self.bodies.append(word)
        elif word.startswith("end") and self.bodies and word == f"end{self.bodies[-1]}":
            self.bodies.pop()
