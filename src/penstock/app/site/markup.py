"""HTML of code and descriptions; the texts of users are text in it, never markup."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

if TYPE_CHECKING:
    from pygments.lexer import Lexer


def code_lines(text: str, language: str) -> tuple[str, ...]:
    """Return a line of HTML for each line of a text; its classes are short names of tokens.

    >>> code_lines("select <b>", "text")
    ('select &lt;b&gt;',)
    """
    html = highlight(text, _lexer(language), _FORMATTER)
    return tuple(html.removesuffix("\n").split("\n"))


def markdown(text: str) -> str:
    """Return a description as HTML; its own HTML is shown as text, and links lead only to https.

    >>> markdown("**Bold** <b>")
    '<p><strong>Bold</strong> &lt;b&gt;</p>'
    """
    return _MARKDOWN.render(text).strip() if text.strip() else ""


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


class _Markdown(MarkdownIt):
    """Markdown without HTML of its own, and without links that run something."""

    def validateLink(self, url: str) -> bool:  # noqa: N802  its name there
        return url.startswith(("https://", "http://", "#"))


_FORMATTER = HtmlFormatter(nowrap=True)
_MARKDOWN = _Markdown("commonmark", {"html": False}).enable("table")


def grouped(number: int) -> str:
    """Return a number as pages write it, with thin spaces.

    >>> grouped(1234567) == "1\u202f234\u202f567"
    True
    """
    return f"{number:,}".replace(",", "\u202f")
