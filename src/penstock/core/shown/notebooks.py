"""Reports as HTML tables for notebooks: all text is escaped and secrets are hidden."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import ClassVar

from penstock.core.masking import mask

MOST = 200
"""The greatest number of rows: a notebook stores its output."""
_WORDS = {
    "#e0474c": "failed error modified deleted tampered unreadable foreign_table unrecorded blocked",
    "#b07000": "warning skipped aborted never_executed never_run missing version_upgraded "
    "sql_changed schema_changed source_changed upstream_changed",
    "#2a8f45": "success passed current ok",
}
"""Colours of states; text in them can be read on a white page and on a dark one."""
_COLOURS = {word: colour for colour, words in _WORDS.items() for word in words.split()}


class ShownInNotebooks:
    """A report that a notebook shows as a table of its attributes.

    `_rows` names the attribute with the rows, which may be a mapping; "" is the report itself.
    `_columns` names their attributes; `head=path.to.it` sets another header. `_lines` names
    attributes with sentences, which follow below the table. A value that is a state, or has a
    `state`, is coloured.
    """

    __slots__ = ()
    _rows: ClassVar[str] = ""
    _columns: ClassVar[str] = ""
    _lines: ClassVar[str] = ""

    def _table(self) -> Iterable[Sequence[object]]:
        """Return the cells of each row."""
        paths = [pair.rpartition("=")[2] for pair in self._columns.split()]
        records = getattr(self, self._rows) if self._rows else (self,)
        records = records.values() if isinstance(records, Mapping) else records
        return ([_value_at(record, path) for path in paths] for record in records)

    def _svg(self) -> str:
        """Return what stands above the table, as HTML."""
        return ""

    def _repr_html_(self) -> str:
        """Return the HTML for Jupyter, Databricks and similar notebooks."""
        heads = [pair.partition("=")[0] for pair in self._columns.split()]
        rows = list(self._table())
        sentences = [each for name in self._lines.split() for each in _many(_value_at(self, name))]
        if len(rows) > MOST:
            sentences.insert(0, f"… {len(rows) - MOST:,} more")
        head = "".join(f"<th>{escape(each)}</th>" for each in heads)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST])
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        below = "".join(f"<p>{_text(each)}</p>" for each in sentences if each)
        name = escape(type(self).__name__)
        above = f"<strong>{name}</strong>{self._svg()}"
        return f"<div>{above}{table if rows else '<p>nothing</p>'}{below}</div>"


def html_of(ask: Callable[[], ShownInNotebooks]) -> str:
    """Return the HTML of an answer; errors become part of it."""
    try:
        return ask()._repr_html_()
    except Exception as error:
        if isinstance(error, ShownInNotebooks):  # as errors of users are
            return error._repr_html_()
        raise


def graph_svg(nodes: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> str:
    """Return a small SVG of a graph: what each node reads, and its states.

    Nodes stand to the right of all that they read. Of one node, or of many, there is none.
    """
    read = [name for reads, _ in nodes.values() for name in reads if name not in nodes]
    graph = {**dict.fromkeys(read, ((), ())), **nodes}
    if not 1 < len(graph) <= _DRAWN:
        return ""
    levels: dict[str, int] = {}
    for name, (reads, _) in graph.items():
        levels[name] = max((levels.get(each, -1) + 1 for each in reads), default=0)
    taken: Counter[int] = Counter()
    places = {}
    for name, level in levels.items():
        places[name] = (level * _WIDE, taken[level] * _HIGH)
        taken[level] += 1
    edges = (
        _edge(places[each], place)
        for name, place in places.items()
        for each in graph[name][0]
        if each in places
    )
    boxes = (_box(name, place, graph[name][1]) for name, place in places.items())
    size = f'width="{(max(taken) + 1) * _WIDE}" height="{max(taken.values()) * _HIGH}"'
    start = f'<svg {size} fill="none" stroke="currentColor" font-size="12" role="img">'
    return f"{start}{''.join(edges)}{''.join(boxes)}</svg>"


_DRAWN, _LETTERS = 60, 20
_WIDE, _HIGH, _BOX_WIDE, _BOX_HIGH = 190, 34, 150, 24


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = start[0] + _BOX_WIDE, start[1] + _HIGH // 2
    to, down = end[0], end[1] + _HIGH // 2
    return f'<path opacity="0.5" d="M{x} {y}C{x + 20} {y} {to - 20} {down} {to} {down}"/>'


def _box(name: str, place: tuple[int, int], states: Sequence[str]) -> str:
    """Return a node; its frame has the colour of its first state, one without a state is dashed."""
    x, y = place[0] + 1, place[1] + (_HIGH - _BOX_HIGH) // 2
    colour = next((_COLOURS[each] for each in states if each in _COLOURS), "currentColor")
    dash = "" if states else ' stroke-dasharray="4"'
    title = f"<title>{_text(': '.join(filter(None, (name, ', '.join(states)))))}</title>"
    shown = _text(name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…")
    size = f'width="{_BOX_WIDE - 2}" height="{_BOX_HIGH}" rx="4"'
    box = f'<rect x="{x}" y="{y}" {size} stroke="{colour}"{dash}/>'
    text = f'<text x="{x + 8}" y="{y + 16}" fill="currentColor" stroke="none">{shown}</text>'
    return f"<g>{title}{box}{text}</g>"


def _value_at(record: object, path: str) -> object:
    for name in path.split("."):
        record = None if record is None else getattr(record, name)
    return record


def _many(value: object) -> Sequence[object]:
    is_many = isinstance(value, Sequence) and not isinstance(value, str)
    return value if is_many else (value,)  # type: ignore[return-value]  # mypy forgets what it is


def _cell(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"<td>{', '.join(map(_coloured, value))}</td>"
    return f"<td>{_coloured(value)}</td>"


def _coloured(value: object) -> str:
    text = _text(value)
    colour = _COLOURS.get(str(getattr(value, "state", text)).lower())
    text = f"<pre>{text}</pre>" if "\n" in text else text
    return f'<span style="color: {colour}">{text}</span>' if colour else text


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case dt.datetime():
            return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"
        case bool() | str():
            return escape(mask(str(value)))
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case Mapping():
            return ", ".join(f"{_text(key)}: {_text(each)}" for key, each in value.items())
        case Sequence():
            return ", ".join(map(_text, value))
    return escape(mask(str(value)))
