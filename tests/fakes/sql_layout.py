"""SQL written otherwise: the same words with other space, comments, letter case and quotes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from random import Random
from string import ascii_letters

from sqlglot.dialects.spark import Spark

_LONG = """acc amount catalog_name created_at day_of events id label mean moved none one part raw
run_date scalar schema_name side total unique_users user_id value week_start word yes"""
NAMES = frozenset(ascii_letters) | frozenset(_LONG.split())
_FORMATS = frozenset({"delta", "parquet"})
_WORD = re.compile("[A-Za-z_][A-Za-z_0-9]*")


class Kind(Enum):
    """What may be done to a piece: a name may be quoted, a word may change its case."""

    NAME = "name"
    WORD = "word"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, or several that belong together; `spaced` is whether space follows it."""

    kind: Kind
    text: str
    spaced: bool


def pieces(text: str) -> list[Piece]:
    """Cut SQL into pieces; nothing but space and comments stands between them."""
    spans: list[tuple[int, int]] = []
    for token in Spark().tokenize(text):
        glued = spans and token.start <= spans[-1][1] and _glued(text[slice(*spans[-1])])
        if glued:
            spans[-1] = (spans[-1][0], max(spans[-1][1], token.end + 1))
        elif not spans or token.start >= spans[-1][1]:
            spans.append((token.start, token.end + 1))
    words = [text[start:end] for start, end in spans]
    ends = [start for start, _ in spans[1:]] + [len(text)]
    spaced = [end < after for (_, end), after in zip(spans, ends, strict=True)]
    return [
        Piece(_kind(words, i), word, space)
        for i, (word, space) in enumerate(zip(words, spaced, strict=True))
    ]


def written(found: list[Piece], space: Callable[[], str], shape: Callable[[Piece], str]) -> str:
    """Write pieces with `space` where space stood, each as `shape` gives it."""
    return "".join(shape(piece) + (space() if piece.spaced else "") for piece in found)


def relaid(text: str, random: Random) -> str:
    """Write SQL with random space, comments, line ends, letter case and quotes."""
    spaces = [" ", "\n", "\r\n", "\t  ", " -- it's `one` note\n", " /* a; \n'b */ ", "/**/ "]

    def shape(piece: Piece) -> str:
        if piece.kind is Kind.NAME:
            return f"`{piece.text}`" if random.random() < 0.5 else piece.text
        if piece.kind is Kind.WORD:
            return random.choice([str.upper, str.lower, str.title])(piece.text)
        return piece.text

    return written(pieces(text), lambda: random.choice(spaces), shape)


def _glued(before: str) -> bool:
    return before == "@" or before[0].isdigit()


def _kind(words: list[str], index: int) -> Kind:
    word = words[index]
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    if not _WORD.fullmatch(word) or word in _FORMATS:
        return Kind.FIXED
    if after == "(" and word not in NAMES:
        return Kind.WORD
    return Kind.NAME if word in NAMES or before == "." else Kind.WORD
