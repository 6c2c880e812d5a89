"""What a history table asks of its query's columns, before data is read (docs/history.md)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import has_map, parse_type, scalars
from penstock.core.findings import Finding
from penstock.core.history import (
    ENGINE_PREFIX,
    ColumnsDiffer,
    HashDiffers,
    HistorySettings,
    NewerThan,
)
from penstock.core.model import Model

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz", "string")
_COMPARABLE = (*_NUMBERS, *_TIMES, "boolean", "float", "double", "binary", "varchar", "char")
_SHOWN = 5


def check_history(model: Model, query: Schema) -> tuple[Finding, ...]:
    """Name everything that keeps a query from having a history; () for other models.

    Codes: `column-not-selected`, `reserved-column`, `uncomparable-column`, `key-type`,
    `updated-at-type`.
    """
    history = model.history
    if history is None:
        return ()
    found = (
        *_not_selected(history, query),
        *_reserved(history, query),
        *_uncomparable(history, query),
        *_bad_keys(history, query),
        *_bad_time(history, query),
    )
    return tuple(Finding(model.where, *each) for each in found)


_Found = Iterator[tuple[str, str, str]]


def _not_selected(history: HistorySettings, query: Schema) -> _Found:
    for setting, name in _named(history):
        if query.find(name) is None:
            yield "column-not-selected", f"{setting} {name!r} is not selected", _near(name, query)


def _named(history: HistorySettings) -> Iterator[tuple[str, str]]:
    yield from (("unique_key", name) for name in history.keys)
    match history.change:
        case NewerThan(column):
            yield "updated_at", column
        case ColumnsDiffer(columns) | HashDiffers(_, columns):
            yield from (("check_cols", name) for name in columns or ())


def _near(name: str, query: Schema) -> str:
    folded = {known.lower(): known for known in query.names}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    rest = len(query.names) - _SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    return f"the query gives {', '.join(query.names[:_SHOWN])}{more}"


def _reserved(history: HistorySettings, query: Schema) -> _Found:
    system = {name.lower() for name in history.columns.names}
    for name in query.names:
        sentence = f"column {name!r} is reserved"
        if name.lower() in system:
            yield "reserved-column", sentence, "rename it, or set system_columns.prefix"
        elif name.lower().startswith(ENGINE_PREFIX):
            yield "reserved-column", sentence, "rename it"


def _uncomparable(history: HistorySettings, query: Schema) -> _Found:
    for column in compared(history, query):
        kinds = scalars(parse_type(column.type))
        name, shown = column.name, column.type.upper()
        if any(_stem(kind) not in (*_COMPARABLE, "void") for kind in kinds):  # void-column tells
            sentence = f"column {name!r} is {shown}, which cannot be compared"
            hint = f"compare to_json({name})" if "variant" in kinds else "cast it in the SELECT"
            yield "uncomparable-column", sentence, hint
        elif isinstance(history.change, HashDiffers) and any(" collate " in k for k in kinds):
            sentence = f"column {name!r} is {shown}, which has no row hash"
            yield "uncomparable-column", sentence, "compare columns without row_hash"


def compared(history: HistorySettings, query: Schema) -> tuple[Column, ...]:
    """Give the columns of the query whose values decide whether a row changed."""
    names: tuple[str, ...] | None
    match history.change:
        case NewerThan(_, compare_rows):
            names = None if compare_rows else ()
        case ColumnsDiffer(columns):
            names = columns
        case HashDiffers(_, columns):
            names = columns or ()
    if names is not None:
        return tuple(c for name in names if (c := query.find(name)) is not None)
    apart = {name.lower() for name in history.keys}
    if isinstance(history.change, NewerThan):
        apart.add(history.change.column.lower())
    return tuple(column for column in query.columns if column.name.lower() not in apart)


def _bad_keys(history: HistorySettings, query: Schema) -> _Found:
    for name in history.keys:
        column = query.find(name)
        if column is None:
            continue
        kind = parse_type(column.type)
        if has_map(kind) or any(_stem(each) not in _COMPARABLE for each in scalars(kind)):
            sentence = f"key column {column.name!r} is {column.type.upper()}"
            yield "key-type", sentence, "a key can be compared: no MAP and no VARIANT in it"


def _bad_time(history: HistorySettings, query: Schema) -> _Found:
    if not isinstance(history.change, NewerThan):
        return
    column = query.find(history.change.column)
    allowed = _TIMES if history.event_time else (*_TIMES, *_NUMBERS)
    if column is None or _stem(column.type) in allowed:
        return
    sentence = f"updated_at {column.name!r} is {column.type.upper()}"
    numbers = "" if history.event_time else ", an integer or DECIMAL"
    hint = f"it may be DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING{numbers}"
    yield "updated-at-type", sentence, hint


def _stem(kind: str) -> str:
    """Give a scalar type's name without length, scale or collation."""
    return kind.partition("(")[0].partition(" collate ")[0]
