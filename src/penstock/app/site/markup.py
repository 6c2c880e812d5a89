"""HTML of code and descriptions; the texts of users are text in it, never markup."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer


def code_lines(text: str, language: str) -> tuple[str, ...]:
    """Return a line of HTML for each line of a text; its classes are short names of tokens.

    >>> code_lines("select <b>", "text")
    ('select &lt;b&gt;',)
    """
    from pygments import highlight

    html = highlight(text, _lexer(language), _formatter())
    return tuple(html.removesuffix("\n").split("\n"))


def markdown(text: str) -> str:
    """Return a description as HTML; its own HTML is shown as text, and links lead only to https.

    >>> markdown("**Bold** <b>")
    '<p><strong>Bold</strong> &lt;b&gt;</p>'
    """
    return _markdown().render(text).strip() if text.strip() else ""


@cache
def _formatter() -> HtmlFormatter[str]:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


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
