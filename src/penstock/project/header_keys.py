"""On which line of a file each key of its config headers stands, nested keys too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.project.parsed import place_key
from penstock.project.values import Path

Lexed = tuple[int, str, str]
_UNSEEN = ("whitespace", "comment", "comment_begin", "comment_end")
_OPENING = ("(", "[", "{")
_CLOSING = (")", "]", "}")


@dataclass(slots=True)
class HeaderKeys:
    """One call of config: its line and the line of every key that is written in it."""

    line: int
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Inside:
    bracket: str
    path: Path
    item: int = 0


def header_keys(tokens: Iterable[Lexed]) -> list[HeaderKeys]:
    r"""Find the keys of every `config( … )` in what Jinja's lexer gives.

    >>> from jinja2 import Environment
    >>> header_keys(Environment().lex("{{ config(a=1,\n b={'c': 2}) }}"))[0].lines
    {'a': 1, 'b': 2, 'b\nc': 2}
    """
    seen = [token for token in tokens if token[1] not in _UNSEEN]
    found = []
    for index, (_, kind, word) in enumerate(seen[:-1]):
        if (kind, word) == ("name", "config") and seen[index + 1][1:] == ("operator", "("):
            keys = HeaderKeys(seen[index + 1][0])  # where Jinja sees the call
            _read(seen[index + 1 :], keys.lines)
            found.append(keys)
    return found


def line_of(lines: Mapping[str, int], path: Path, otherwise: int) -> int:
    """Give the line of a key, or of the nearest one around it."""
    for depth in range(len(path), 0, -1):
        line = lines.get(place_key(path[:depth]))
        if line is not None:
            return line
    return otherwise


def _read(tokens: list[Lexed], lines: dict[str, int]) -> None:
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
                return
        elif inside and (kind, word) == ("operator", ","):
            inside.item += 1
            path = (*inside.path, inside.item) if inside.bracket == "[" else inside.path
        elif inside and _is_key(inside.bracket, kind, following):
            path = (*inside.path, word[1:-1] if kind == "string" else word)
            lines.setdefault(place_key(path), line)


def _is_key(bracket: str, kind: str, following: Lexed) -> bool:
    sign = following[2] if following[1] == "operator" else ""
    return (bracket, kind, sign) in (("(", "name", "="), ("{", "string", ":"))
