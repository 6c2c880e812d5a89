"""CSV as RFC 4180 has it, with one thing more: whether a cell stands in quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.core.findings import Location
from penstock.core.unit_tests import Cell, CellKind
from penstock.project.unit_tests.nodes import plain_kind


class CsvError(ValueError):
    """A text that is no CSV; `line` counts from 1."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.line = line


def read_csv(text: str, where: Location) -> tuple[tuple[str, ...], tuple[dict[str, Cell], ...]]:
    r"""Give the header and the rows; an empty cell is NULL, `""` the empty text.

    `where` is the place of the first line. Raises `CsvError`.

    >>> names, rows = read_csv('id,name\n1,\n2,""', Location("t.yml", 7))
    >>> names, [str(row["name"].kind) for row in rows], rows[1]["id"].where.line
    (('id', 'name'), ['null', 'text'], 9)
    """
    lines = list(_lines(text))
    if not lines:
        raise CsvError("it has no header", 1)
    header = tuple(content for content, _ in lines[0][1])
    if len({name.lower() for name in header}) < len(header) or not all(header):
        raise CsvError("a name is missing in its header, or stands there twice", lines[0][0])
    rows = []
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise CsvError(f"{len(cells)} cells under {len(header)} names", number)
        place = Location(where.path, where.line + number - 1)
        made = (_cell(content, place, quoted=quoted) for content, quoted in cells)
        rows.append(dict(zip(header, made, strict=True)))
    return header, tuple(rows)


def _cell(content: str, where: Location, *, quoted: bool) -> Cell:
    if quoted:
        return Cell(content, CellKind.TEXT, where)
    if not content:
        return Cell("", CellKind.NULL, where)
    if content.lower() in ("true", "false"):
        return Cell(content, CellKind.BOOLEAN, where)
    return Cell(content, plain_kind(content), where)


_Cells = Sequence[tuple[str, bool]]


def _lines(text: str) -> Iterator[tuple[int, _Cells]]:
    """Give the records that are not empty, with the line on which each begins."""
    at, line = 0, 1
    while at < len(text):
        first, cells = line, []
        more = True
        while more:
            content, quoted, at, line = _next(text, at, line)
            cells.append((content, quoted))
            more = text[at : at + 1] == ","
            at += 1
        line += 1
        if cells != [("", False)]:
            yield first, cells


def _next(text: str, at: int, line: int) -> tuple[str, bool, int, int]:
    """Read the cell that begins at a place; give it, whether it is quoted, its end, its line."""
    start = at
    while text[at : at + 1] == " ":
        at += 1
    if text[at : at + 1] != '"':
        end = min(
            (i for i in (text.find(",", start), text.find("\n", start)) if i >= 0), default=-1
        )
        end = len(text) if end < 0 else end
        return text[start:end].strip(), False, end, line
    parts, first = [], line
    while True:
        close = text.find('"', at + 1)
        if close < 0:
            raise CsvError("a quote is not closed", first)
        parts.append(text[at + 1 : close])
        line += text.count("\n", at, close)
        at = close + 1
        if text[at : at + 1] != '"':
            break
        parts.append('"')
    while text[at : at + 1] == " ":
        at += 1
    if text[at : at + 1] not in ("", ",", "\n"):
        raise CsvError("text follows a closing quote", line)
    return "".join(parts), True, at, line
