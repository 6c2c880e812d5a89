"""Parameters of SQL, `@partition_date` and its like: where they stand, and what is wrong with them.

They are found by the tokens of a query, so strings, comments and quoted names never hold one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType

from penstock.core.findings import Severity
from penstock.core.query import PARAMETERS
from penstock.project.nearest import did_you_mean
from penstock.project.parsed import Hole, HoleKind
from penstock.project.problems import Problem

_WORD = re.compile("[A-Za-z_0-9]+")
_SPELT = re.compile(rf"@(?:{'|'.join(PARAMETERS)})\b")
_KNOWN = tuple(f"@{name}" for name in PARAMETERS)

Cut = tuple[int, int, Hole]
"""From where to where a hole reaches, the end not included."""


def parameters_of(text: str, tokens: Sequence[Token]) -> Iterator[Cut]:
    """Give every parameter of a query with its place, unknown names too.

    >>> from penstock.project.canonical import tokens_of
    >>> text = "select @run_date, '@run_date'"
    >>> [(start, end) for start, end, _ in parameters_of(text, tokens_of(text))]
    [(7, 16)]
    """
    for start, end in _spots(text, tokens):
        name, line = text[start + 1 : end], text.count("\n", 0, start) + 1
        yield start, end, Hole(HoleKind.PARAM, (name,), line, qualifies=True)


def parameter_problems(text: str, tokens: Sequence[Token]) -> Iterator[Problem]:
    """Report names that are no parameter, and strings that spell one out."""
    for start, end in _spots(text, tokens):
        spelt = text[start:end]
        if spelt not in _KNOWN:
            sentence = f"unknown parameter {spelt!r}"
            hint = did_you_mean(spelt, _KNOWN) or f"known here: {', '.join(_KNOWN)}"
            line = text.count("\n", 0, start)
            yield Problem("unknown-parameter", sentence, hint, line_offset=line)
    for token in tokens:
        found = _SPELT.search(text, token.start, token.end + 1) if _is_string(token) else None
        if found:
            sentence = f"{found[0]} stands in a string and stays text"
            hint = "a parameter is a typed value: write it without quotes"
            line = text.count("\n", 0, found.start())
            yield Problem("parameter-in-string", sentence, hint, Severity.WARNING, line)


def _spots(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    for sign, word in pairwise(tokens):
        if sign.token_type is TokenType.PARAMETER and text[sign.start] == "@":
            name = text[word.start : word.end + 1]
            if word.start == sign.end + 1 and _WORD.fullmatch(name):
                yield sign.start, word.end + 1


def _is_string(token: Token) -> bool:
    return token.token_type.name.endswith("STRING")
