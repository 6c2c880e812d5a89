"""Aggregates over the rows that pass a check's `where`."""

from __future__ import annotations

import re
from dataclasses import dataclass

COUNT_ALL = "count(*)"

FIGURES = (
    "avg|bool_and|bool_or|count|count_if|every|max|mean|min|some|std|stddev|stddev_pop|"
    "stddev_samp|sum|var_pop|var_samp|variance|any"
)
"""Aggregates that give one figure of one argument.

NULL counts as no row for them: putting NULL in the place of a row leaves it out.
"""
_SIMPLE = re.compile(rf"({FIGURES})\s*\(\s*(?!distinct\b)([^,]*)\)", re.IGNORECASE | re.DOTALL)
_FILTER = re.compile(r"\bfilter\s*\(\s*where\b", re.IGNORECASE)
UNREAD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/"""
"""A text, a quoted name or a comment (with DOTALL): what stands in it is no SQL."""
_UNREAD = re.compile(UNREAD, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Restriction:
    """The rows that count: those of which `where` is true, or with "" all of them."""

    where: str = ""

    @property
    def rows(self) -> str:
        """Count them."""
        return self.count("") if self.where else COUNT_ALL

    def count(self, condition: str) -> str:
        """Count those of which a condition is true as well."""
        both = " AND ".join(bracketed(each) for each in (self.where, condition) if each)
        return f"count(CASE WHEN {both} THEN 1 END)"

    def only(self, value: str) -> str:
        """Give a value of the rows that count, and NULL of all others."""
        return f"CASE WHEN {bracketed(self.where)} THEN {value} END" if self.where else value

    def call(self, aggregate: str) -> str:
        """Give a user's aggregate call over the rows that count.

        >>> Restriction("a > 1").call("SUM(b)")
        'SUM(CASE WHEN (a > 1) THEN b END)'
        >>> Restriction("a > 1").call("first(b)")
        'first(b) FILTER (WHERE (a > 1))'
        """
        if not self.where:
            return aggregate
        simple = _SIMPLE.fullmatch(aggregate)
        if simple and not _FILTER.search(aggregate):
            name, value = simple[1], without_comments(simple[2]).strip()
            return f"{name}({self.only('1' if value == '*' else value)})"
        filters = list(_FILTER.finditer(aggregate))
        if filters and aggregate.endswith(")"):
            last = filters[-1]
            both = f"{bracketed(self.where)} AND {bracketed(aggregate[last.end() : -1])}"
            return f"{aggregate[: last.start()]}FILTER (WHERE {both})"
        return f"{aggregate} FILTER (WHERE {bracketed(self.where)})"

    def condition(self, text: str, aggregates: tuple[str, ...]) -> str:
        """Give a condition of a group with every aggregate over the rows that count."""
        return replaced(text, {each: self.call(each) for each in aggregates})


def replaced(text: str, calls: dict[str, str]) -> str:
    """Put other calls in the place of those in a text, but not in its quotes and comments.

    >>> replaced("sum(a) > 1 and 'sum(a)' <> b", {"sum(a)": "sum(c)"})
    "sum(c) > 1 and 'sum(a)' <> b"
    """
    if not calls:
        return text
    longest_first = sorted(calls, key=len, reverse=True)
    wanted = "|".join(re.escape(each) for each in longest_first)
    pattern = re.compile(rf"({UNREAD})|(?<![\w`.])(?:{wanted})", re.DOTALL)
    return pattern.sub(lambda found: found[1] or calls[found[0]], text)


def without_comments(text: str) -> str:
    """Leave out comments, which may hide what comes after them on their line.

    >>> without_comments("n -- all of 'em")
    'n  '
    """
    return _UNREAD.sub(lambda found: " " if found[0].startswith(("--", "/*")) else found[0], text)


def bracketed(condition: str) -> str:
    """Put a condition into brackets; a comment in it ends with its line.

    >>> bracketed("a > 1")
    '(a > 1)'
    """
    return f"({condition}\n)" if "--" in condition else f"({condition})"
