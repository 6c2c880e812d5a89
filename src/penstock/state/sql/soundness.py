"""What makes rows readable for every reader: types, words, JSON, references.

It is used by `state import` before it changes anything, and after a read error of a database. A row
is in document form: times are text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Date, Integer, Table

from penstock.core.codec import MisreadError, read_part, short_json
from penstock.core.columns.typed import TypedValue
from penstock.core.sessions.manifest import RunState
from penstock.core.steps.token import CODEC
from penstock.state.columns import UtcTime, Value

Cell = str | int | float | bool | None | list["Cell"] | dict[str, "Cell"]
Row = Mapping[str, Cell]
Found = Iterator[tuple[str, str]]


def unsound(tables: Iterable[tuple[Table, Iterable[Row]]]) -> Iterator[str]:
    """Yield, with its place, what makes each row unreadable: `steps[3].status: …`.

    Tables come after those that they refer to. Rows are read once, and not kept.
    """
    keys: dict[Column[Any], set[Cell]] = {}
    for table, rows in tables:
        known = _Keys(table, keys)
        for number, row in enumerate(rows):
            found = list(_of_row(table, row))
            cells = {name: c for name, c in row.items() if not isinstance(c, list | dict)}
            keys_found = list(known.of(cells))
            for place, sentence in found or [*keys_found, *_check_together(table, row)]:
                yield f"{table.name}[{number}]{place}: {sentence}"


class _Keys:
    """The keys of a table so far, and those of earlier tables that it may refer to."""

    def __init__(self, table: Table, keys: dict[Column[Any], set[Cell]]) -> None:
        self._primary = [column.name for column in table.primary_key]
        self._seen: set[tuple[Cell, ...]] = set()
        self._refers = {
            column.name: (key.column.table.name, keys[key.column])
            for column in table.c
            for key in column.foreign_keys
            if key.column in keys
        }
        alone = [column.name for column in table.c if column.unique]
        alone += self._primary if len(self._primary) == 1 else []
        self._single = {name: set[Cell]() for name in alone}
        keys.update({table.c[name]: values for name, values in self._single.items()})

    def of(self, row: Row) -> Found:
        """Add the keys of a row, even of an invalid one: others may refer to it."""
        key = tuple(row.get(name) for name in self._primary)
        if len(key) > 1:
            if key in self._seen:
                yield "", f"its key {short_json(list(key))} is there twice"
            self._seen.add(key)
        for name, seen in self._single.items():
            if row.get(name) in seen:
                yield f".{name}", f"{short_json(row[name])} is there twice"
            seen.add(row.get(name))
        for name, (other, there) in self._refers.items():
            if row.get(name) is not None and row[name] not in there:
                yield f".{name}", f"{short_json(row[name])} is in no row of {other}"


def _of_row(table: Table, row: Row) -> Found:
    for column in table.c:
        if column.name not in row:
            yield "", f"lacks {column.name!r}"
        elif row[column.name] is not None:
            try:
                _read(column, row[column.name])
            except MisreadError as misfit:
                yield f".{column.name}{misfit.place}", misfit.sentence
        elif not column.nullable:
            yield f".{column.name}", "is empty"
    for name in row.keys() - {column.name for column in table.c}:
        yield "", f"has {name!r}, which no store knows"


def _read(column: Column[Any], cell: Cell) -> None:
    """Read a cell like all its readers; raise `MisreadError`."""
    kind = column.type
    wanted = kind.kind if isinstance(kind, Value) else _KINDS.get(type(kind), str)
    try:
        json.dumps(cell, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise MisreadError.of(cell, "text in Unicode") from error
    read_part("", CODEC.of(wanted).read, cell)
    if (read := _MEANT.get(f"{column.table.name}.{column.name}")) is not None:
        read_part("", read, cell)
    if isinstance(kind, Integer) and not isinstance(kind, Boolean):
        bits = 64 if isinstance(kind, BigInteger) else 32
        if not -(2 ** (bits - 1)) <= int(str(cell)) < 2 ** (bits - 1):
            raise MisreadError.of(cell, f"a whole number of {bits} bits")


def _check_together(table: Table, row: Row) -> Found:
    """Check cells that depend on each other."""
    if table.name == "leases" and row["run"] is not None:
        for name in ("host", "pid", "acquired", "heartbeat", "expires"):
            if row[name] is None:
                yield f".{name}", "is empty, though a run holds the target"
    if table.name == "steps" and isinstance(intent := row["intent"], dict):
        given = intent.get("slice") or [None]
        if not isinstance(given, list) or row["slice"] != given[0]:
            yield ".slice", f"is {short_json(row['slice'])}, which is not the intent's"


_KINDS: Mapping[type, type] = {
    BigInteger: int,
    Boolean: bool,
    Date: dt.date,
    Integer: int,
    UtcTime: dt.datetime,
}
_MEANT: Mapping[str, Callable[[Any], object]] = {
    "step_inputs.kind": ("delta", "files", "view", "none").index,
    "fingerprints.version": int,
    "fingerprints.revision": lambda cell: int(cell or 0),
    "watermarks.value": CODEC.of(TypedValue).read,
    "session_runs.state": CODEC.of(RunState).read,
}
"""Readers for cells whose column does not determine their format."""
