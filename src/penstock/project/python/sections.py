"""The options of each decorator, declared once: kind of value, meaning, an example.

The schemas of their kinds are in the words of Python: docs/reference/python.md shows them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from penstock.project.files.kinds import ValueKind
from penstock.project.files.sections import OBJECT, TEXT_LIST, KeyedSection, key
from penstock.project.files.values import Plain, nearest, parse_duration
from penstock.project.python.declare import FunctionKind
from penstock.project.python.declared_columns import (
    FORMS,
    WrongSchemaError,
    declared_columns,
    is_declared,
)

_SHOWN = 80


def short_repr(value: object) -> str:
    """Return a value as it is written, or its type alone where Python writes an address."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  code of a user
        text = "<"
    if text.startswith("<") or " at 0x" in text:
        return f"{'function' if callable(value) else type(value).__name__}(…)"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _lookback(value: object) -> dt.timedelta | int | Decimal | None:
    """Parse a lookback; None if it is invalid or negative."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = parse_duration(value)
        except ValueError:
            return None
    zero = dt.timedelta(0) if isinstance(value, dt.timedelta) else 0
    if not isinstance(value, dt.timedelta | int | Decimal) or value < zero:  # type: ignore[operator]
        return None
    return value


def _kind(expected: str, schema: Plain, fits: Callable[[Any], bool]) -> ValueKind[Any]:
    return ValueKind(expected, lambda value: value if fits(value) else None, schema, None)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not is_declared(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _words(*words: str) -> ValueKind[Any]:
    """Return the kind of one of several words; the hint is the one that is near."""
    *first, last = map(repr, words)
    return ValueKind(
        f"{', '.join(first)} or {last}",
        lambda value: value if _is_text(value) and value in words else None,
        {"enum": [*map(repr, words)]},
        None,
        hint=lambda value: nearest(short_repr(value), words),
    )


def _dictionary(of: str, fits: Callable[[Any], bool]) -> ValueKind[Any]:
    def is_so(value: object) -> bool:
        return isinstance(value, dict) and all(
            _is_text(name) and fits(item) for name, item in value.items()
        )

    return _kind(f"a dictionary of {of}", OBJECT, is_so)


_TEXT = _kind("a string", {"type": "string"}, _is_text)
_TEXTS = _kind("a list of strings", {"type": "array", "items": {"type": "string"}}, _is_texts)
_ONE_OR_TEXTS = _kind(
    "a string or a list of strings", TEXT_LIST, lambda value: _is_text(value) or _is_texts(value)
)
_PAIRS = _dictionary("strings", _is_text)
_SWITCH = _kind("a boolean", {"type": "True or False"}, lambda value: isinstance(value, bool))
_PERSIST = replace(
    _words("auto"),
    expected="'auto', True or False",
    parse=lambda value: (
        value if isinstance(value, bool) or (_is_text(value) and value == "auto") else None
    ),
    schema={"anyOf": [{"enum": ["'auto'"]}, _SWITCH.schema]},
)
_VERSION = _kind(
    "a string or an integer",
    {"type": ["string", "integer"]},
    lambda value: isinstance(value, str | int) and not isinstance(value, bool),
)


def _declares(value: object) -> bool:
    return is_declared(value) and not _mistake(value)


def _mistake(value: object) -> str:
    """Return why a value declares no columns; "" if it does."""
    try:
        declared_columns(value)
    except WrongSchemaError as error:
        return str(error)
    return ""


_DECLARED: ValueKind[Any] = ValueKind(
    FORMS,
    lambda value: value if _declares(value) else None,
    {"type": ["string", "StructType", "class"]},
    None,
    hint=lambda value: (
        _mistake(value) if is_declared(value) else "such as 'id BIGINT, name STRING'"
    ),
)
_SCHEMA = replace(
    _DECLARED,
    expected=f"the name of a schema, or {FORMS}",
    parse=lambda value: value if _declares(value) or _is_name(value) else None,
)
_COLUMNS = replace(
    _DECLARED,
    expected=f"a dictionary of strings, or {FORMS}",
    parse=lambda value: value if _PAIRS.parse(value) is not None or _declares(value) else None,
    schema={"type": ["object", "string", "StructType", "class"]},
    hint=_DECLARED.hint,
)
_LOOKBACK: ValueKind[Any] = ValueKind(
    "a duration, 0 or more",
    _lookback,
    {"type": ["timedelta", "string", "integer", "Decimal"]},
    None,
    hint=lambda _: "such as '1 day', or 0",
)
_CHECKS = _kind("checks", {"type": ["object", "array"]}, lambda _: True)


class DecoratorSection(KeyedSection):
    """The options of all decorators; their values are those of Python, which are not opened."""

    name = key(_TEXT, "events", "the name of the function")
    """Its name in parameters and in `ref()`."""
    description = key(_TEXT, "All events.", "the docstring")
    """A description for readers."""
    tags = key(_TEXTS, ["daily"])
    """Tags for `--select tag:…`."""
    version = key(_VERSION, "2")
    """A version of the code, raised by hand: another one counts as a change."""
    depends_on = key(_TEXTS, ["conf/*.yml", "env:RATE"])
    """Files, `env:NAME` and `pkg:name` whose changes count as changes of the code."""

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        """Report that a value is invalid."""
        value = self.members[key].value
        sentence = f"{key} is {short_repr(value)}; it must be {expected}"
        self.report(key, "bad-value", sentence, hint or self.declared[key].kind.hint(value))


class PythonSourceSection(DecoratorSection):
    """The options of `source`."""

    schema = key(_DECLARED, "id BIGINT NOT NULL, name STRING", "those of the frame")
    """The columns that the frame must have."""
    persist = key(_PERSIST, example=False, unset="`'auto'`: if several do")
    """Whether the frame is kept while several read it."""
    table = key(_TEXT, "raw.events", "`path`, or nothing")
    """The Delta table that the function gets as `df`."""
    path = key(_TEXT, "landing/events", "`table`, or nothing")
    """The folder, or file, that the function gets as `df`, seen from the project."""
    format = key(_TEXT, "json", "`'delta'`")
    """Format of the files or table."""
    options = key(_PAIRS, {"multiLine": "true"})
    """Options of Spark's reader."""


class PythonModelSection(DecoratorSection):
    """The options of `model`."""

    columns = key(_COLUMNS, {"id": "The number."}, "those of the frame")
    """Column → description; or the columns that the frame must have."""
    schema = key(_DECLARED, "id BIGINT NOT NULL, name STRING", "those of the frame")
    """The columns that the frame must have."""
    persist = key(_PERSIST, example=False, unset="`'auto'`: if several do")
    """Whether the frame is kept while several read it."""


class PythonTableSection(DecoratorSection):
    """The options of `table`."""

    columns = key(_COLUMNS, {"id": "The number."}, "those of the frame")
    """Column → description; or the columns of the table, as in `schema`."""
    schema = key(_SCHEMA, "marts", "the folder under `models/`, else the project's name")
    """The schema of the table; or its columns: DDL, a StructType, a dataclass, a pydantic model."""
    path = key(_TEXT, "/data/totals", "in the warehouse")
    """A folder of its own."""
    partition_by = key(_ONE_OR_TEXTS, "day")
    """Columns that Delta partitions by."""
    cluster_by = key(_TEXTS, ["country"])
    """Columns that Delta clusters by, instead."""
    table_properties = key(_PAIRS, {"delta.appendOnly": "true"})
    """Properties of the Delta table."""
    deletion_vectors = key(_SWITCH, example=False, unset="`True` with `unique_key`")
    """Whether deletes and merges hide rows instead of rewriting their files; not every reader opens
    such tables.
    """
    delta = key(_TEXTS, ["events"])
    """Parameters that get only new rows."""
    checks = key(_CHECKS, [{"type": "row_count", "min": 1}])
    """Checks of the table, see [checks](checks.md)."""
    on_failure = key(
        _words("flag", "block", "rollback"), "block", "`checks.on_failure` of the project"
    )
    """What a failed gate does to the rows of its step."""


class PythonIncrementalSection(PythonTableSection):
    """The options of `incremental_table`."""

    time_column = key(_TEXT, "ts", needed=True)
    """The column of the output along which the table grows."""
    unique_key = key(_ONE_OR_TEXTS, "id")
    """One row per key: the newest stays."""
    partition_mode = key(_words("append", "overwrite"), "overwrite", "`'append'`")
    """`overwrite` replaces whole days; it needs `partition_by`."""
    lookback = key(_LOOKBACK, "1 day")
    """How far below the watermark to read again: a duration, a `timedelta`, or a number."""
    grain = key(_words("hour", "day", "week", "month", "year"), "day")
    """The unit that the function groups by; windows begin at its start."""
    window_on = key(
        _dictionary("strings or None", lambda item: item is None or _is_text(item)),
        {"events": "ts"},
        "`time_column` in each",
    )
    """Parameter → the column with the same times there; `None` reads that input whole."""
    late = key(_words("count", "ignore"), "ignore", "`'count'`")
    """Whether rows that came below the window are counted."""
    null_watermark = key(
        _words("error", "include_first", "drop_counted"), "include_first", "`'error'`"
    )
    """What rows without a time do."""
    string_watermark = key(_SWITCH, example=True, unset="`False`")
    """Lets the time column be a text that sorts as time does."""
    on_duplicate = key(_words("latest", "error"), "error", "`'latest'`")
    """With a key: whether two rows of one key in a window are an error."""
    null_keys = key(_words("error", "match"), "match", "`'error'`")
    """With a key: whether NULL is a valid key."""


SECTIONS: Mapping[FunctionKind, type[DecoratorSection]] = {
    FunctionKind.SOURCE: PythonSourceSection,
    FunctionKind.MODEL: PythonModelSection,
    FunctionKind.TABLE: PythonTableSection,
    FunctionKind.INCREMENTAL: PythonIncrementalSection,
}
