"""An exported store as JSON: whose it is, whether it can be read at all, and values as cells."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import repeat
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from penstock.core.errors import StateError, UsageError
from penstock.core.partitions.partition import Span
from penstock.state.lease import Identity

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Cell = str | int | float | bool | None | list["Cell"] | dict[str, "Cell"]
Tables = Mapping[str, list[dict[str, Cell]]]
Spans = Mapping[str, tuple[Span, ...] | None]
WrittenSpans = dict[str, list[list[int]] | None]

UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, UsageError, ValueError)
"""What a reader raises for a cell that is not as it was written."""

MOST = 20
_LONGEST = 400


def write_document(tables: Tables, identity: Identity, schema: str) -> str:
    """Give one JSON document: keys sorted, indented, ending in a line end."""
    document = {
        "penstock_state": schema,
        "project": identity.project,
        "target": identity.target,
        "tables": tables,
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_document(text: str, identity: Identity, schema: str) -> Tables:
    """Give the tables of a document; `state-import-invalid` says what is wrong with it."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise invalid(["it is nested too deeply"]) from error
    except ValueError as error:
        raise invalid([f"it is not JSON: {error}"]) from error
    if not isinstance(document, dict) or "penstock_state" not in document:
        raise invalid(["it has no 'penstock_state': it is no exported state"])
    if document["penstock_state"] != schema:
        raise invalid(
            [f"its schema is {document['penstock_state']!r}, this penstock reads {schema!r}"]
        )
    found = (document.get("project"), document.get("target"))
    if found != (identity.project, identity.target):
        theirs = f"it belongs to target {found[1]!r} of project {found[0]!r}"
        ours = f"this is target {identity.target!r} of project {identity.project!r}"
        raise invalid([f"{theirs}, {ours}"])
    return _tables(document.get("tables"))


def invalid(reasons: Sequence[str]) -> StateError:
    """Word the refusal of a document, with every reason up to `MOST`."""
    shown = [reason[:_LONGEST] for reason in reasons[:MOST]]
    said = shown[0] if len(shown) == 1 else "".join(f"\n  {reason}" for reason in shown)
    more = "\n  and there may be more" if len(reasons) >= MOST else ""
    return StateError(
        "state-import-invalid",
        f"the document cannot be imported: {said}{more}",
        hint="give a document that penstock state export wrote for this target",
    )


def _tables(found: object) -> Tables:
    if not isinstance(found, dict):
        raise invalid(["'tables' is missing"])
    wrong = [
        f"table {name!r} is no list of objects"
        for name, rows in found.items()
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows)
    ]
    if wrong:
        raise invalid(wrong)
    return found


def encode(value: object) -> Cell:
    """Give a value as JSON has it: mappings by keys that are no text as pairs.

    >>> encode({(1, 2): dt.date(2024, 1, 1)})
    [[[1, 2], '2024-01-01']]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return encode_fields(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {str(key): encode(each) for key, each in value.items()}
        return [[encode(key), encode(each)] for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    return value  # type: ignore[return-value]  # text, numbers, words, None


def encode_fields(value: DataclassInstance) -> dict[str, Cell]:
    """Give a dataclass as an object that names its class."""
    cells = {each.name: encode(getattr(value, each.name)) for each in fields(value)}
    return {"is": type(value).__name__, **cells}


def decode(cell: Cell, wanted: Any) -> Any:  # noqa: ANN401  # it is of the type that is asked for
    """Read what `encode` gave of a value of a type; a cell that is none raises an `UNREADABLE`."""
    inside, origin = get_args(wanted), get_origin(wanted)
    if origin in {Union, UnionType}:
        return _decode_one_of(cell, inside)
    if origin is tuple and isinstance(cell, list):
        kinds = repeat(inside[0]) if inside[-1] is ... else iter(inside)
        return tuple(decode(each, kind) for each, kind in zip(cell, kinds, strict=False))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs: Any = cell.items() if isinstance(cell, dict) else cell
        return {decode(key, inside[0]): decode(each, inside[1]) for key, each in pairs}
    if is_dataclass(wanted) and isinstance(wanted, type) and isinstance(cell, dict):
        hints = get_type_hints(wanted)
        return wanted(
            **{each.name: decode(cell[each.name], hints[each.name]) for each in fields(wanted)}
        )
    if isinstance(wanted, type) and issubclass(wanted, dt.date) and isinstance(cell, str):
        return wanted.fromisoformat(cell)
    return wanted(cell) if isinstance(wanted, type) and issubclass(wanted, Enum) else cell


def _decode_one_of(cell: Cell, kinds: tuple[Any, ...]) -> object:
    if cell is None:
        return None
    named = cell.get("is") if isinstance(cell, dict) else None
    fitting = [
        k for k in kinds if k is not NoneType and named in {None, getattr(k, "__name__", "")}
    ]
    return decode(cell, fitting[0])


def write_spans(spans: Spans) -> WrittenSpans:
    """Give lists for tuples.

    >>> write_spans({"day": ((0, 5), (8, 9)), "n": None})
    {'day': [[0, 5], [8, 9]], 'n': None}
    """
    return {
        column: None if found is None else [list(span) for span in found]
        for column, found in sorted(spans.items())
    }


def read_spans(written: Mapping[str, Sequence[Sequence[int]] | None]) -> Spans:
    """Read what `write_spans` gave."""
    return {
        column: None if found is None else tuple((low, high) for low, high in found)
        for column, found in written.items()
    }
