"""What rows must be so that every reader can read them: types, words, JSON, references.

Two ask: `state import` of a document before it changes anything, and a database in which something
could not be read. A row is what a document holds of it: times as text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Integer,
    Table,
)

from penstock.core.check_results import Sample
from penstock.core.check_type import CheckStatus, GroupValue
from penstock.core.checks import CheckScope, Phase
from penstock.core.columns.typed import read_typed
from penstock.core.errors import UsageError
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import read_grid
from penstock.core.partitions.ranges import Ranges
from penstock.core.records import Status
from penstock.core.sessions.manifest import PassEvents, PassKind, RunState
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import read_intent
from penstock.state.columns import UtcTime
from penstock.state.sql.rows import (
    read_events,
    read_ranges,
    read_sample,
    read_spans,
    read_values,
    read_verdict,
)
from penstock.state.transitions.model_state import RecordedChecks

Cell = str | int | float | bool | None | list["Cell"] | dict[str, "Cell"]
Row = Mapping[str, Cell]
Found = Iterator[tuple[str, str]]


_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, UsageError, ValueError)
"""What a reader raises for a cell that is not as it was written."""
_LINE = 60


def unsound(tables: Iterable[tuple[Table, Iterable[Row]]]) -> Iterator[str]:
    """Say, with its place, what keeps each row from being read: `steps[3].status: …`.

    Tables come after those that they refer to. Rows are read once, and not kept.
    """
    keys: dict[Column[Any], set[Cell]] = {}
    for table, rows in tables:
        known = _Keys(table, keys)
        for number, row in enumerate(rows):
            found = list(_of_row(table, row))
            cells = {name: c for name, c in row.items() if not isinstance(c, list | dict)}
            keys_found = list(known.of(cells))
            for place, sentence in found or [*keys_found, *_between(table, row)]:
                yield f"{table.name}[{number}]{place}: {sentence}"


class _Keys:
    """The keys of a table so far, and those of the tables before it that it may name."""

    def __init__(self, table: Table, known: dict[Column[Any], set[Cell]]) -> None:
        self._primary = [column.name for column in table.primary_key]
        self._seen: set[tuple[Cell, ...]] = set()
        self._refers = {
            column.name: (key.column.table.name, known[key.column])
            for column in table.c
            for key in column.foreign_keys
            if key.column in known
        }
        alone = [column.name for column in table.c if column.unique]
        alone += self._primary if len(self._primary) == 1 else []
        self._single = {name: set[Cell]() for name in alone}
        known.update({table.c[name]: values for name, values in self._single.items()})

    def of(self, row: Row) -> Found:
        """Take in the keys of a row, of one with mistakes too: others may name it."""
        key = tuple(row.get(name) for name in self._primary)
        if len(key) > 1:
            if key in self._seen:
                yield "", f"its key {_shown(list(key))} is there twice"
            self._seen.add(key)
        for name, seen in self._single.items():
            if row.get(name) in seen:
                yield f".{name}", f"{_shown(row[name])} is there twice"
            seen.add(row.get(name))
        for name, (other, there) in self._refers.items():
            if row.get(name) is not None and row[name] not in there:
                yield f".{name}", f"{_shown(row[name])} is in no row of {other}"


def _of_row(table: Table, row: Row) -> Found:
    for column in table.c:
        if column.name not in row:
            yield "", f"lacks {column.name!r}"
        else:
            for place, sentence in _of_cell(column, row[column.name]):
                yield f".{column.name}{place}", sentence
    for name in row.keys() - {column.name for column in table.c}:
        yield "", f"has {name!r}, which no store knows"


def _of_cell(column: Column[Any], cell: Cell) -> Found:
    if cell is None:
        if not column.nullable:
            yield "", "is empty"
        return
    look = _json if column.info.get("json") else _KINDS.get(type(column.type), _text)
    found = list(look(cell))
    reader = _READERS.get(f"{column.table.name}.{column.name}")
    yield from found or (reader(cell) if reader is not None else ())


def _between(table: Table, row: Row) -> Found:
    """Look at cells that only mean something together."""
    if table.name == "leases" and row["run"] is not None:
        for name in ("host", "pid", "acquired", "heartbeat", "expires"):
            if row[name] is None:
                yield f".{name}", "is empty, though a run holds the target"
    if table.name == "steps" and isinstance(intent := row["intent"], dict):
        given = intent.get("slice") or [None]
        if not isinstance(given, list) or row["slice"] != given[0]:
            yield ".slice", f"is {_shown(row['slice'])}, which is not the intent's"


# Cells by the type of their column.


def _must(be: Callable[[Cell], object], what: str) -> Callable[[Cell], Found]:
    """Look whether a cell is as it must be; one of which that cannot be told is not."""

    def look(cell: Cell) -> Found:
        try:
            is_right = be(cell)
        except (ValueError, OverflowError):
            is_right = False
        if not is_right:
            yield "", f"is {_shown(cell)}, expected {what}"

    return look


def _text(cell: Cell) -> Found:
    if not isinstance(cell, str):
        yield "", f"is {_shown(cell)}, expected text"
    else:
        yield from _must(lambda text: str(text).encode() or True, "text in Unicode")(cell)


_json = _must(lambda cell: json.dumps(cell, ensure_ascii=False).encode(), "text in Unicode")


def _whole(bits: int) -> Callable[[Cell], Found]:
    most = 2 ** (bits - 1)
    return _must(
        lambda cell: type(cell) is int and -most <= cell < most, f"a whole number of {bits} bits"
    )


def _is_time(cell: Cell) -> bool:
    found = dt.datetime.fromisoformat(str(cell))
    return bool(found.tzinfo and found.astimezone(dt.UTC))


_KINDS: Mapping[type, Callable[[Cell], Found]] = {
    BigInteger: _whole(64),
    Boolean: _must(lambda cell: isinstance(cell, bool), "true or false"),
    Date: _must(lambda cell: dt.date.fromisoformat(str(cell)), "a day, such as 2024-12-31"),
    Integer: _whole(32),
    UtcTime: _must(_is_time, "a time with its zone, such as 2024-12-31T12:00:00+00:00"),
}


# Cells whose text means something.


def _one_of(*known: str) -> Callable[[Cell], Found]:
    return _must(lambda cell: cell in known, f"one of {', '.join(known)}")


def _read_by(
    read: Callable[[Any], object], what: str, wanted: object = object
) -> Callable[[Cell], Found]:
    """Look with the reader that will read the cell; `what` says what it reads."""

    def look(cell: Cell) -> Found:
        try:
            found = list(_unfit(read(cell), wanted))
        except _UNREADABLE as error:
            yield "", f"{_shown(cell)} is no {what}: {_reason(error)}"
        else:
            yield from ((f".{place}".rstrip("."), sentence) for place, sentence in found)

    return look


def _is_words(cell: Cell) -> bool:
    return isinstance(cell, list) and all(isinstance(each, str) for each in cell)


_is_object = _must(lambda cell: isinstance(cell, dict), "an object")
_INTENT: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("step", "run", "model", "uri", "kind", "strategy", "reason"), (str,)),
    **dict.fromkeys(("triggered_by", "run_timestamp", "partitions"), (str,)),
    **dict.fromkeys(("table", "inputs"), (list,)),
    **dict.fromkeys(("window", "watermark"), (dict, list)),  # lists are of earlier versions
    "fingerprints": (dict,),
    "step_seq": (int,),
    "lowers_watermarks": (bool,),
    "base_version": (int, NoneType),
}
_CALLED: Mapping[type, str] = {
    bool: "true or false",
    dict: "an object",
    int: "a whole number",
    list: "a list",
    NoneType: "null",
    str: "text",
}


def _intent(cell: Cell) -> Found:
    if not isinstance(cell, dict):
        yield from _is_object(cell)
        return
    wrong = [
        (f".{name}", f"is {_shown(cell[name])}, expected {' or '.join(_CALLED[k] for k in kinds)}")
        for name, kinds in _INTENT.items()
        if name in cell and type(cell[name]) not in kinds
    ]
    lacking = [f"lacks {name!r}" for name in _INTENT if name not in cell]
    yield from wrong
    yield from (("", sentence) for sentence in lacking)
    if wrong or lacking:
        return
    try:
        intent = read_intent(json.dumps(cell))
        yield from ((f".{place}", sentence) for place, sentence in _unfit(intent, Intent))
    except _UNREADABLE as error:
        yield "", f"is no intent: {_reason(error)}"


def _unfit(value: object, wanted: object) -> Found:
    """Compare a value with its declared type, into its fields."""
    inside = get_args(wanted)
    if isinstance(wanted, UnionType):
        if all(list(_unfit(value, each)) for each in inside):
            yield "", f"is {_shown(value)}"
    elif get_origin(wanted) is tuple:
        if not isinstance(value, tuple):
            yield "", f"is {_shown(value)}, expected a list"
            return
        kinds = repeat(inside[0]) if inside[-1] is ... else iter(inside)
        for number, (each, kind) in enumerate(zip(value, kinds, strict=False)):
            yield from _within(f"[{number}]", each, kind)
    elif isinstance(wanted, type):
        strange = not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
        naive = isinstance(value, dt.datetime) and value.tzinfo is None
        if strange or naive:
            yield "", f"is {_shown(value)}, expected {_CALLED.get(wanted, wanted.__name__)}"
        elif is_dataclass(wanted):
            for name, kind in _HINTS(wanted).items():
                yield from _within(name, getattr(value, name), kind)


def _within(part: str, value: object, wanted: object) -> Found:
    for place, sentence in _unfit(value, wanted):
        yield f"{part}.{place}".rstrip("."), sentence


_HINTS = cache(get_type_hints)


_READERS: Mapping[str, Callable[[Cell], Found]] = {
    "runs.status": _one_of(*Status),
    "models.grid": _read_by(read_grid, "grid"),
    "steps.kind": _one_of(*StepKind),
    "steps.grid": _read_by(read_grid, "grid"),
    "steps.intent": _intent,
    "steps.status": _one_of(*Status),
    "steps.checked": _read_by(read_verdict, "record of checks", RecordedChecks),
    "steps.pending": _read_by(read_ranges, "list of ranges", Ranges),
    "steps.metrics": _is_object,
    "step_inputs.kind": _one_of("delta", "files", "view", "none"),
    "fingerprints.version": _read_by(int, "number"),
    "fingerprints.revision": _read_by(lambda cell: int(cell or 0), "number"),
    "partition_state.status": _one_of(*Status),
    "execution_history.status": _one_of(*Status),
    "check_results.phase": _one_of(*Phase),
    "check_results.severity": _one_of(*Severity),
    "check_results.status": _one_of(*CheckStatus),
    "check_results.scope": _one_of(*CheckScope),
    "check_results.values": _read_by(read_values, "list of values", tuple[GroupValue, ...]),
    "check_results.sample": _read_by(read_sample, "sample", Sample),
    "check_results.where": _read_by(lambda cell: Location(*cell), "place", Location),
    "flags.checks": _must(_is_words, "a list of names"),
    "quarantines.failed": _read_by(read_ranges, "list of ranges", Ranges),
    "table_commits.spans": _read_by(
        lambda cell: tuple(read_spans(cell).values()), "list of spans", tuple[Ranges | None, ...]
    ),
    "watermarks.value": _read_by(read_typed, "value with its type"),
    "session_runs.kind": _one_of(*PassKind),
    "session_runs.status": _one_of(*Status),
    "session_runs.state": _must(lambda cell: RunState(int(str(cell))), "a state from 1 to 4"),
    "session_runs.pins": _is_object,
    "session_runs.events": _read_by(read_events, "record of events", PassEvents),
}


def _shown(value: object) -> str:
    """Show a value as JSON has it, at most a line of it."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _LINE else f"{text[:_LINE]}..."


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]!r}"
    text = error.sentence if isinstance(error, UsageError) else str(error)
    return text[:200] or type(error).__name__
