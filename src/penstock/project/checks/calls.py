"""Function calls of a condition, found by its tokens: what aggregates, what is volatile.

Tokens and not a tree, because the text of an aggregate is wanted as it was written, and because
the parser takes some aggregates for plain functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType

from penstock.project.checks.functions import AGGREGATES, UNOBSERVED
from penstock.project.outputs import VOLATILE

_RANDOM = {"random", "shuffle", "randstr", "uniform"}
_MOMENTS = {"curdate", "localtimestamp", "current_time"}
_FILES = {"input_file_block_start", "input_file_block_length"}
_CHANGING = _RANDOM | _MOMENTS | _FILES | set(VOLATILE)
_WITHOUT_BRACKETS = {"current_timestamp", "current_date", "localtimestamp", "current_time"}
_OF_NOW = "unix_timestamp"  # without an argument
_PATTERNS = (TokenType.LIKE, TokenType.ILIKE)  # like any (…) is no aggregate
_SHIFT = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate call: from where to where it reaches, the end not included, and its text."""

    start: int
    end: int
    text: str
    observable: bool


def aggregates_of(text: str, tokens: Sequence[Token]) -> Iterator[Call]:
    """Give the aggregate calls that stand in no other, with what belongs to each behind it.

    >>> from penstock.project.canonical import tokens_of
    >>> text = "max(abs(a)) > 1 and count(*) filter (where b) = 0"
    >>> [call.text for call in aggregates_of(text, tokens_of(text))]
    ['max(abs(a))', 'count(*) filter (where b)']
    """
    number = 0
    while number < len(tokens):
        if not _is_call(tokens, number) or _name(tokens[number]) not in AGGREGATES:
            number += 1
            continue
        last, is_filtered = _reach(tokens, number)
        is_distinct = _type(tokens, number + 2) is TokenType.DISTINCT
        start, end = tokens[number].start, tokens[last].end + 1
        is_whole = not is_distinct and not is_filtered
        is_observable = is_whole and _name(tokens[number]) not in UNOBSERVED
        yield Call(start, end, text[start:end], is_observable)
        number = last + 1


def volatile_of(tokens: Sequence[Token]) -> list[str]:
    """Name the functions that give another value each time they are asked.

    >>> from penstock.project.canonical import tokens_of
    >>> volatile_of(tokens_of("a < now() and b < current_date and c < unix_timestamp(d)"))
    ['now', 'current_date']
    """
    found = []
    for number, token in enumerate(tokens):
        name = _name(token)
        if _is_call(tokens, number):
            is_of_now = name == _OF_NOW and _type(tokens, number + 2) is TokenType.R_PAREN
            found += [name] * (name in _CHANGING or is_of_now)
        elif name in _WITHOUT_BRACKETS and token.end - token.start + 1 == len(name):  # no quotes
            around = (_type(tokens, number - 1), _type(tokens, number + 1))
            found += [name] * (TokenType.DOT not in around)
    return found


def _is_call(tokens: Sequence[Token], number: int) -> bool:
    if _type(tokens, number + 1) is not TokenType.L_PAREN:
        return False
    before = _type(tokens, number - 1)
    is_word = tokens[number].text.replace("_", "a").isalnum()
    return is_word and before is not TokenType.DOT and before not in _PATTERNS


def _reach(tokens: Sequence[Token], number: int) -> tuple[int, bool]:
    """Give the last token of a call with its clauses, and whether one of them filters."""
    last = _shut(tokens, number + 1)
    is_filtered = False
    while True:
        words = [_name(token) for token in tokens[last + 1 : last + 3]]
        if words == ["within", "group"]:
            last = _shut(tokens, last + 3)
        elif words == ["filter", "("]:
            last, is_filtered = _shut(tokens, last + 2), True
        elif words in (["ignore", "nulls"], ["respect", "nulls"]):
            last += 2
        else:
            return last, is_filtered


def _shut(tokens: Sequence[Token], opened: int) -> int:
    """Give the token that shuts a bracket; the last one of a text that never does."""
    depth = 0
    for number in range(opened, len(tokens)):
        depth += _SHIFT.get(tokens[number].token_type, 0)
        if depth == 0:
            return number
    return len(tokens) - 1


def _name(token: Token) -> str:
    return token.text.lower()


def _type(tokens: Sequence[Token], number: int) -> TokenType | None:
    return tokens[number].token_type if 0 <= number < len(tokens) else None
