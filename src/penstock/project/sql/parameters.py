"""Positions of parameters, `@partition_date`, and placeholders of checks, `{destination}`.

They are tokens of a text: strings and comments contain none, a quoted name only as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from penstock.core.findings import Finding, Location, Severity
from penstock.core.query import PARAMETERS
from penstock.project.files.parsed import RefKind, TableRef
from penstock.project.files.values import did_you_mean
from penstock.project.sql.canonical import tokens_of

_WORD = re.compile("[A-Za-z_0-9]+")
_SPELT = re.compile(rf"@(?:{'|'.join(PARAMETERS)})\b")
_KNOWN = tuple(f"@{name}" for name in PARAMETERS)

DESTINATION = "destination"
COLUMN = "column"
_THIS = "`penstock:this`"
_BRACED = re.compile("{([A-Za-z_][A-Za-z_0-9]*)}")
_QUOTED = re.compile("`{([A-Za-z_][A-Za-z_0-9]*)}`")
Spot = tuple[int, int, str]
"""The start and the exclusive end of a token, and its text."""


def parameters_of(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int, TableRef]]:
    """Yield every parameter of a query with its position, including unknown names."""
    for sign, word in pairwise(tokens):
        if sign.token_type is TokenType.PARAMETER and text[sign.start] == "@":
            name, line = text[word.start : word.end + 1], text.count("\n", 0, sign.start) + 1
            if word.start == sign.end + 1 and _WORD.fullmatch(name):
                found = TableRef(RefKind.PARAM, (name,), line, qualifies=True)
                yield sign.start, word.end + 1, found


def parameter_problems(text: str, tokens: Sequence[Token]) -> Iterator[Finding]:
    """Report unknown parameters, and strings that contain one."""
    for _, _, ref in parameters_of(text, tokens):
        spelt = f"@{ref.names[0]}"
        if spelt not in _KNOWN:
            sentence = f"unknown parameter {spelt!r}"
            hint = did_you_mean(spelt, _KNOWN) or f"known here: {', '.join(_KNOWN)}"
            yield Finding(Location("", ref.line), "unknown-parameter", sentence, hint)
    for token in tokens:
        is_string = token.token_type.name.endswith("STRING")
        found = _SPELT.search(text, token.start, token.end + 1) if is_string else None
        if found:
            sentence = f"{found[0]} is inside a string and stays text"
            hint = "a parameter is a typed value: write it without quotes"
            where, warning = line_at(text, found.start()), Severity.WARNING
            yield Finding(where, "parameter-in-string", sentence, hint, warning)


def line_at(text: str, at: int) -> Location:
    """Return the line of a text at a position."""
    return Location("", text.count("\n", 0, at) + 1)


def placeholders_of(text: str, tokens: Sequence[Token]) -> Iterator[Spot]:
    """Yield every `{word}` of a text with its position, including unknown words."""
    for number, token in enumerate(tokens):
        if token.token_type is TokenType.IDENTIFIER:
            found = _QUOTED.fullmatch(text, token.start, token.end + 1)
            if found:
                yield token.start, token.end + 1, found[1]
        elif token.token_type is TokenType.L_BRACE:
            last = tokens[min(number + 2, len(tokens) - 1)]
            start, end = token.start, last.end + 1
            found = _BRACED.fullmatch(text, start, end)
            is_other = text[max(start - 1, 0) : start] in ("{", "$") or text[end : end + 1] == "}"
            if found and last.token_type is TokenType.R_BRACE and not is_other:
                yield start, end, found[1]


def replaced(text: str, spots: Iterable[Spot]) -> str:
    """Replace each range by its text; ranges do not overlap."""
    out: list[str] = []
    done = 0
    for start, end, content in sorted(spots):
        out += [text[done:start], content]
        done = end
    return "".join(out) + text[done:]


def with_destination(text: str) -> tuple[str, list[Finding]]:
    """Replace `{destination}` by the `this` of templates, and report every other placeholder.

    Line numbers stay. A text that cannot be split into tokens stays unchanged.
    """
    try:
        tokens = tokens_of(text) if "{" in text else []
    except SqlglotError:
        return text, []
    found = list(placeholders_of(text, tokens))
    known = [(start, end, _THIS) for start, end, word in found if word == DESTINATION]
    return replaced(text, known), unknown_placeholders(text, found, DESTINATION)


def unknown_placeholders(text: str, spots: Iterable[Spot], allowed: str) -> list[Finding]:
    """Report every placeholder except the one that is allowed here; "" allows none."""
    problems = []
    for start, word in ((start, word) for start, _, word in spots if word != allowed):
        hint = f"did you mean {{{allowed}}}?" if allowed else "name columns as they are"
        if word in PARAMETERS:
            hint = f"did you mean @{word}?"
        elif word == COLUMN:
            hint = "{column} is known in the `check` of a column_check: write the column's name"
        code, sentence = "unknown-placeholder", f"unknown placeholder {{{word}}}"
        problems.append(Finding(line_at(text, start), code, sentence, hint))
    return problems
