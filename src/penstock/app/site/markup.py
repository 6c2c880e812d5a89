"""HTML of code and descriptions; the texts of users are text in it, never markup."""

from __future__ import annotations

from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType


def code_lines(text: str, language: str) -> tuple[str, ...]:
    """Return a line of HTML for each line of a text.

    A part with a colour is an element of class c, k, s, m or n: a comment, a keyword, a string, a
    number or a name. Most bytes of a site are here, so nothing else is marked.

    >>> code_lines("select 'a' as b", "sql")
    ("<i class=k>select </i><i class=s>'a' </i><i class=k>as </i>b",)
    """
    lines = [""]
    for colour, found in groupby(_colours(text, language), key=lambda each: each[0]):
        first, *others = "".join(part for _, part in found).split("\n")
        lines[-1] += _marked(first, colour)
        lines += [_marked(each, colour) for each in others]
    return tuple(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)


def _colours(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text, each with its class; space has that of the part before it."""
    last = ""
    for kind, part in _lexer(language).get_tokens(text):
        last = _class_of(kind) if part.strip() else last
        yield last, part


def _marked(text: str, colour: str) -> str:
    html = escape(text, quote=False)
    return f"<i class={colour}>{html}</i>" if colour and text.strip() else html


@cache
def _class_of(kind: TokenType) -> str:
    """Return the class of a kind of token; "" for those without a colour."""
    from pygments.token import Comment, Keyword, Literal, Name, Operator

    plain = (Name.Other, Name.Entity, Name.Property)
    if kind is Name or any(kind in each for each in plain):
        return ""
    marked = {
        "k": (Comment.Preproc, Keyword, Operator.Word),
        "c": (Comment,),
        "s": (Literal.String,),
        "m": (Literal.Number,),
        "n": (Name,),
    }
    return next((name for name, kinds in marked.items() if any(kind in k for k in kinds)), "")


def markdown(text: str) -> str:
    """Return a description as HTML; its own HTML is shown as text, and links lead only to https.

    >>> markdown("**Bold** <b>")
    '<p><strong>Bold</strong> &lt;b&gt;</p>'
    """
    return _markdown().render(text).strip() if text.strip() else ""


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _markdown() -> MarkdownIt:
    """Return Markdown without HTML of its own, and without links that run something."""
    from markdown_it import MarkdownIt

    found = MarkdownIt("commonmark", {"html": False}).enable("table")
    found.validateLink = _is_link  # type: ignore[method-assign]
    return found


def _is_link(url: str) -> bool:
    return url.startswith(("https://", "http://", "#"))


def grouped(number: int) -> str:
    """Return a number as pages write it, with thin spaces.

    >>> grouped(1234567) == "1\u202f234\u202f567"
    True
    """
    return f"{number:,}".replace(",", "\u202f")
