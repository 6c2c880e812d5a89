"""Comments inside `{{ config( … ) }}`: `--` and `#` to the end of the line, outside of strings."""

from __future__ import annotations

import re

_START = re.compile(r"\{\{[-+]?\s*config\s*\(")
_PIECE = re.compile(
    r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<comment>--[^\n]*|#[^\n]*)"
    r"|(?P<open>\()|(?P<close>\))",
    re.DOTALL,
)


def blank_comments(source: str) -> str:
    r"""Replace the comments of every config header by spaces: nothing moves.

    >>> blank_comments("{{ config(a=1, -- or '2'\n b=2) }}")
    '{{ config(a=1,          \n b=2) }}'
    """
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
