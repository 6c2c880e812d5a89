"""Tables, lists and paragraphs, as wide as the terminal that shows them.

Where there is no terminal nothing is cut, left out or broken into lines.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextvars import ContextVar

from penstock.core.masking import SECRETS

WIDTH: ContextVar[int | None] = ContextVar("WIDTH", default=None)
"""Characters of a line of the terminal; None without a terminal."""
RULE = "─" * 39
"""What stands above and below code that is shown."""
GAP = 2
_LEAST = 20  # characters that a text which is cut keeps: a time to the second fits
_PREFIX = 13  # characters of an id: its time to the millisecond
_NOTHING = {"", "-"}
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    first: Sequence[str] = (),
) -> str:
    """Return rows under a header in capitals; columns named in `right` are aligned to the right.

    A narrow terminal shows columns in `first` before all others, and columns on the left before
    those on the right. Control characters of a cell are escaped, so that a row stays a line.

    >>> print(table(["name", "rows"], [["users", "3"], ["orders", "12"]], right=["rows"]))
    NAME    ROWS
    users      3
    orders    12
    """
    to_right = [name in right for name in header]
    places = [header.index(name) for name in first if name in header]
    return aligned([[name.upper() for name in header], *rows], to_right, places)


def aligned(
    rows: Iterable[Sequence[str]],
    to_right: Sequence[bool],
    first: Sequence[int] = (),
    margin: int = 0,
) -> str:
    """Return aligned rows, the first one the header; `to_right` has one entry per column.

    `first` has the places of the columns that matter most; the terminal has `margin` characters
    less. Secrets are hidden before cells are filled up: a column's width would tell how long they
    are.
    """
    cells = [[one_line(SECRETS.hide(cell)) for cell in row] for row in rows]
    width = WIDTH.get()
    if width is not None:
        cells, width = _short_ids(cells), width - margin
    columns = list(zip(*cells, strict=True))
    needs = widths = [max(map(text_width, column)) for column in columns]
    if width is not None:
        least = [n if right else min(n, _LEAST) for n, right in zip(needs, to_right, strict=True)]
        says = [not _NOTHING.issuperset(column[1:]) for column in columns]
        order = [*first, *(place for place in range(len(needs)) if place not in first)]
        order.sort(key=lambda place: not says[place])
        widths = fitted(needs, least, order, width, len(first))
    shown = [place for place, size in enumerate(widths) if size]
    lines = []
    for row in cells:
        padded = (_cell(row[place], widths[place], right=to_right[place]) for place in shown)
        lines.append((" " * GAP).join(padded).rstrip())
    left = [cells[0][place] for place, size in enumerate(widths) if not size]
    return "\n".join([*lines, *_left_out(left, width or 0)])


def fitted(
    needs: Sequence[int], least: Sequence[int], order: Sequence[int], width: int, whole: int = 0
) -> list[int]:
    """Return the width of each column, the most important of `order` first; 0 leaves it out.

    The first `whole` columns are cut only if they do not fit; the others also to make room.

    >>> fitted([10, 40, 8], [10, 20, 8], [0, 2, 1], width=50)
    [10, 28, 8]
    >>> fitted([10, 40, 8], [10, 20, 8], [0, 1, 2], width=30)
    [10, 0, 8]
    """
    widths, room = [0] * len(needs), width + GAP
    for turn, place in enumerate(order):
        wanted = needs[place] if turn < whole and needs[place] + GAP <= room else least[place]
        wanted = wanted if turn else min(needs[place], width)
        if wanted and wanted + GAP <= room:
            widths[place], room = wanted, room - wanted - GAP
    for place in order:
        if widths[place] and room > 0:
            more = min(needs[place] - widths[place], room)
            widths[place], room = widths[place] + more, room - more
    return widths


def _left_out(names: Sequence[str], width: int) -> list[str]:
    """Return the names of the hidden columns, or their number if the names do not fit."""
    if not names:
        return []
    line = f"… {len(names):,} more column{'s' * (len(names) > 1)}"
    named = f"{line}: {', '.join(names)}"
    return [named if text_width(named) <= width else line]


def _cell(text: str, width: int, *, right: bool) -> str:
    size = text_width(text)
    if size > width:  # the end of a path says most
        is_path = "/" in text and " " not in text
        text = f"…{_cut(text[::-1], width - 1)[::-1]}" if is_path else f"{_cut(text, width - 1)}…"
        size = text_width(text)
    blanks = " " * (width - size)
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def _cut(text: str, width: int) -> str:
    while text_width(text) > width:
        text = text[:-1]
    return text


def text_width(text: str) -> int:
    """Return the number of terminal cells that a text takes.

    >>> text_width("abc"), text_width("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def _short_ids(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows with each id cut to a unique prefix, which commands accept too."""
    ids = {found for row in rows for cell in row for found in _ID.findall(cell)}
    size = _PREFIX
    while len({each[:size] for each in ids}) < len(ids):
        size += 1
    return [[_ID.sub(lambda it: it[0][:size], cell) for cell in row] for row in rows]


def wrapped(text: str) -> str:
    """Return a text whose lines fit the terminal, broken between words.

    Commands, and code between two rules, stay as they are: people copy them.

    >>> token = WIDTH.set(24)
    >>> print(wrapped("1. users  source changed: events v3 -> v4"))
    1. users
        source changed:
        events v3 -> v4
    >>> WIDTH.reset(token)
    """
    width = WIDTH.get()
    if width is None:
        return text
    lines, is_code = [], False
    for line in text.split("\n"):
        is_code ^= line == RULE
        is_short = text_width(line) <= width
        lines += [line] if is_short or is_code else _broken(line, width)
    return "\n".join(lines)


def _broken(line: str, width: int) -> list[str]:
    """Return a line broken between its cells, and longer cells between words."""
    line, next_, command = line.partition(" Next: ")
    found = [line]
    if "penstock " not in line and text_width(line) > width:
        blanks = " " * (len(line) - len(line.lstrip()))
        found = []
        for cell in re.split(r" {2,}", line.strip()):
            joined = f"{found[-1]}{' ' * GAP}{cell}" if found else f"{blanks}{cell}"
            if text_width(joined) <= width:
                found[-1:] = [joined]
                continue
            indent = f"{blanks}    " if found else blanks
            words = textwrap.TextWrapper(width, indent, f"{blanks}    ", break_long_words=False)
            words.break_on_hyphens = False
            found += words.wrap(cell)
    return [*found, *[f"Next: {command}"] * bool(next_)]


def section(title: str, lines: Iterable[str]) -> str:
    """Return indented lines under a title; "" if there are none."""
    shown = [f"  {line}".rstrip() for line in lines]
    return "\n".join([f"{title}:", *shown]) if shown else ""


def table_section(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()
) -> str:
    """Return a table under a title; "" without rows."""
    if not rows:
        return ""
    to_right = [name in right for name in header]
    body = aligned([[name.upper() for name in header], *rows], to_right, margin=GAP)
    return section(title, body.splitlines())


def first_of(items: Sequence[str], limit: int | None, what: str) -> list[str]:
    """Return the first items, and a line that counts the others; None has no limit.

    >>> first_of(["a", "b", "c"], 1, "model")
    ['a', 'and 2 more models']
    """
    if limit is None or len(items) <= limit:
        return list(items)
    rest = len(items) - limit
    return [*items[:limit], f"and {rest:,} more {what}{'' if rest == 1 else 's'}"]


def one_line(text: str) -> str:
    r"""Return a text without line ends and control characters.

    >>> one_line("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
