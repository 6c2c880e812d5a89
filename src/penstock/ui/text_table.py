"""Plain tables: columns two blanks apart, nothing cut, nothing wrapped, no colour."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

LISTED = 50  # models, steps or errors of one list, unless --verbose


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> str:
    """Lay rows out under a header in capitals; columns named in `right` are aligned to the right.

    Control characters of a cell are shown escaped, so that a row stays a line.

    >>> print(table(["name", "rows"], [["users", "3"], ["orders", "12"]], right=["rows"]))
    NAME    ROWS
    users      3
    orders    12
    """
    to_right = [name in right for name in header]
    return aligned([[name.upper() for name in header], *rows], to_right)


def aligned(rows: Iterable[Sequence[str]], to_right: Sequence[bool]) -> str:
    """Lay rows out without a header; `to_right` has one entry per column."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(to_right))]
    return "\n".join(_line(row, widths, to_right) for row in cells)


def first_of(items: Sequence[str], limit: int | None, what: str) -> list[str]:
    """Give the first items, and a line that counts the others; None has no limit.

    >>> first_of(["a", "b", "c"], 1, "model")
    ['a', 'and 2 more models']
    """
    if limit is None or len(items) <= limit:
        return list(items)
    rest = len(items) - limit
    return [*items[:limit], f"and {rest:,} more {what}{'' if rest == 1 else 's'}"]


def one_line(text: str) -> str:
    r"""Give a text without line ends and control characters.

    >>> one_line("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def count(number: int, what: str) -> str:
    """Give a number with its word.

    >>> count(1, "step"), count(1200, "row")
    ('1 step', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _line(row: Sequence[str], widths: Sequence[int], to_right: Sequence[bool]) -> str:
    parts = zip(row, widths, to_right, strict=True)
    shown = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts)
    return "  ".join(shown).rstrip()
