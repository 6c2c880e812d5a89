"""Reports as HTML tables for notebooks: all text is escaped and secrets are hidden."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import ClassVar

from penstock.core.errors import PenstockError
from penstock.core.masking import mask

MOST = 200
"""The greatest number of rows: a notebook stores its output."""
_COLOURS = {
    **dict.fromkeys(("failed", "FAILED", "error", "modified", "deleted"), "#b3261e"),
    **dict.fromkeys(("warning", "skipped", "never_executed"), "#8a6100"),
    **dict.fromkeys(("success", "SUCCESS", "passed", "current"), "#1b6e3c"),
}


class ShownInNotebooks:
    """A report that a notebook shows as a table of its attributes.

    `_rows` names the attribute with the rows, "" is the report itself. `_columns` names their
    attributes; `head=path.to.it` sets another header. `_lines` are attributes with sentences, which
    follow below the table.
    """

    __slots__ = ()
    _rows: ClassVar[str] = ""
    _columns: ClassVar[str] = ""
    _lines: ClassVar[str] = ""

    def _table(self) -> Iterable[Sequence[object]]:
        """Return the cells of each row."""
        paths = [pair.rpartition("=")[2] for pair in self._columns.split()]
        records = getattr(self, self._rows) if self._rows else (self,)
        return ([_value_at(record, path) for path in paths] for record in records)

    def _repr_html_(self) -> str:
        """Return the HTML for Jupyter, Databricks and similar notebooks."""
        heads = [pair.partition("=")[0] for pair in self._columns.split()]
        rows = list(self._table())
        sentences = [each for name in self._lines.split() for each in _many(_value_at(self, name))]
        if len(rows) > MOST:
            sentences.insert(0, f"… and {len(rows) - MOST:,} more")
        head = "".join(f"<th>{escape(each)}</th>" for each in heads)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST])
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        below = "".join(f"<p>{_text(each)}</p>" for each in sentences if each)
        name = escape(type(self).__name__)
        return f"<div><strong>{name}</strong>{table if rows else '<p>nothing</p>'}{below}</div>"


def html_of(ask: Callable[[], ShownInNotebooks]) -> str:
    """Return the HTML of an answer; errors become part of it."""
    try:
        return ask()._repr_html_()
    except PenstockError as error:
        return f"<div><p>{_text(f'{error.code}: {error.sentence}')}</p></div>"


def _value_at(record: object, path: str) -> object:
    for name in path.split("."):
        record = None if record is None else getattr(record, name)
    return record


def _many(value: object) -> Sequence[object]:
    is_many = isinstance(value, Sequence) and not isinstance(value, str)
    return value if is_many else (value,)  # type: ignore[return-value]  # mypy forgets what it is


def _cell(value: object) -> str:
    text = _text(value)
    colour = _COLOURS.get(text)
    style = f' style="color: {colour}"' if colour else ""
    return f"<td{style}>{f'<pre>{text}</pre>' if chr(10) in text else text}</td>"


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
