"""Placeholders of check SQL, `{destination}` and its like: where they stand (spec/checks.md §1.6).

They are found by the tokens of a text, so strings, comments and quoted names never hold one; a
quoted name that is nothing but a placeholder is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from penstock.core.query import PARAMETERS
from penstock.project.canonical import tokens_of
from penstock.project.problems import Problem

DESTINATION = "destination"
COLUMN = "column"
_THIS = "`penstock:this`"
_WORD = re.compile("[A-Za-z_][A-Za-z_0-9]*")
_QUOTED = re.compile("`{([A-Za-z_][A-Za-z_0-9]*)}`")

Spot = tuple[int, int, str]
"""From where to where something reaches, the end not included, and the text it is about."""


def placeholders_of(text: str, tokens: Sequence[Token]) -> Iterator[Spot]:
    """Give every `{word}` of a text with its place, unknown words too.

    >>> text = "select '{a}' from {destination} -- {b}"
    >>> list(placeholders_of(text, tokens_of(text)))
    [(18, 31, 'destination')]
    """
    for number, token in enumerate(tokens):
        if token.token_type is TokenType.IDENTIFIER:
            found = _QUOTED.fullmatch(text, token.start, token.end + 1)
            if found:
                yield token.start, token.end + 1, found[1]
        elif token.token_type is TokenType.L_BRACE:
            spot = _between_braces(text, tokens[number : number + 3])
            if spot:
                yield spot


def replaced(text: str, spots: Iterable[Spot]) -> str:
    """Put the text of each spot in its place; they do not overlap.

    >>> replaced("a {b} c", [(2, 5, "B")])
    'a B c'
    """
    out: list[str] = []
    done = 0
    for start, end, content in sorted(spots):
        out += [text[done:start], content]
        done = end
    return "".join(out) + text[done:]


def with_destination(text: str) -> tuple[str, list[Problem]]:
    """Write `{destination}` as templates write `this`, and report every other placeholder.

    The lines stay. A text that cannot be cut into tokens stays as it is.
    """
    try:
        tokens = tokens_of(text) if "{" in text else []
    except SqlglotError:
        return text, []
    found = list(placeholders_of(text, tokens))
    known = [(start, end, _THIS) for start, end, word in found if word == DESTINATION]
    return replaced(text, known), unknown_placeholders(text, found, DESTINATION)


def unknown_placeholders(text: str, found: Iterable[Spot], known: str) -> list[Problem]:
    """Report every placeholder but the one that is known here; "" means that none is."""
    return [
        Problem(
            "unknown-placeholder",
            f"unknown placeholder {{{word}}}",
            _hint(word, known),
            line_offset=text.count("\n", 0, start),
        )
        for start, _, word in found
        if word != known
    ]


def _hint(word: str, known: str) -> str:
    if word in PARAMETERS:
        return f"did you mean @{word}?"
    if word == COLUMN:
        return "{column} is known in the `check` of a column_check: write the column's name"
    return f"did you mean {{{known}}}?" if known else "name columns as they are"


def _between_braces(text: str, tokens: Sequence[Token]) -> Spot | None:
    start, end = tokens[0].start, tokens[-1].end + 1
    word = text[start + 1 : end - 1]
    is_shut = len(tokens) == 3 and tokens[2].token_type is TokenType.R_BRACE  # noqa: PLR2004  {, word, }
    is_other = text[max(start - 1, 0) : start] in ("{", "$") or text[end : end + 1] == "}"
    return (start, end, word) if is_shut and _WORD.fullmatch(word) and not is_other else None
