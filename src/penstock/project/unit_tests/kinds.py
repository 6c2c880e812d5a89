"""What may stand under the keys of unit tests, whose scalars are read as they were written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from penstock.core.columns.types import ColumnType
from penstock.project.files import values
from penstock.project.files.kinds import TEXT, ValueKind, whole
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.sections import PartKind
from penstock.project.files.values import Plain
from penstock.project.unit_tests.casting import CellError, scalar
from penstock.project.unit_tests.definition import CellKind, GivenWatermark, Written

T = TypeVar("T")
_WORDS: Plain = ["string", "number", "integer", "boolean"]
_SCALAR: Plain = {"type": _WORDS}


def _is(value: object, kind: CellKind) -> bool:
    return isinstance(value, Written) and value.kind is kind


def _switch(value: object) -> bool | None:
    is_switch = _is(value, CellKind.BOOLEAN)
    return str(value).lower() in ("true", "yes", "on") if is_switch else None


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if _is(value, CellKind.INTEGER) and text[0] != "-" else None


def _time(value: object) -> dt.datetime | None:
    with suppress(CellError):
        found = scalar(str(value), "timestamp")
        if isinstance(found, dt.datetime):
            return found.replace(tzinfo=dt.UTC)
    return None


def _share(value: object) -> float | None:
    with suppress(ValueError):
        found = float(str(value))
        return found if 0 <= found < 1 and not _is(value, CellKind.BOOLEAN) else None
    return None


LINE: ValueKind[str] = replace(TEXT, schema=_SCALAR)
NAME: ValueKind[str] = replace(LINE, parse=lambda value: TEXT.parse(value) or None)
SWITCH = ValueKind("true or false", _switch, {"type": "boolean"}, None)
COUNT = ValueKind("an integer >= 0", _count, whole(0).schema, None)
TIME = ValueKind(
    "a time, for example 2024-06-02T00:00:00Z",
    _time,
    {"type": _WORDS, "$comment": "time"},
    None,
)
SHARE = ValueKind(
    "a number from 0 to below 1, for example 1e-9",
    _share,
    {"type": ["number", "string"]},
    0.0,
)


def part(take: Callable[[Section, str], T], empty: T, schema: Plain) -> PartKind[T]:
    """Return the kind of mappings that `take` reads."""
    return PartKind("a mapping", lambda value: value, schema, empty, take=take)


def named_nodes(section: Section, name: str, of: str) -> Mapping[str, YamlNode]:
    """Return the members of a mapping whose keys are free; anything else is a finding."""
    node = section.find(name)
    if node is not None and not isinstance(node.value, Mapping):
        section.bad(name, f"a mapping of names to {of}")
    return node.members if node else {}


def pairs(of: str, kind: ValueKind[T]) -> PartKind[dict[str, T]]:
    """Return the kind of mappings of free names to values."""

    def take(section: Section, name: str) -> dict[str, T]:
        members = named_nodes(section, name, of)
        free = Section(section.node, "", section.findings, members)
        return {each: free.read(each, kind) for each in members}

    schema: Plain = {"type": "object", "additionalProperties": kind.schema}
    return part(take, {}, schema)


def _types(section: Section, name: str) -> dict[str, ColumnType]:
    found = {}
    for column, inner in named_nodes(section, name, "types").items():
        free = Section(section.node, "", section.findings, {column: inner})
        try:
            found[column] = values.read_type(free.read(column, LINE))
            continue
        except values.UnsupportedTypeError as error:
            hint, sentence = error.hint, f"column {column!r}: Delta has no type {error.word!r}"
        except values.UnknownTypeError as error:
            hint, sentence = "", f"column {column!r}: {error.word!r} names no type"
        free.report(column, "bad-value", sentence, hint)
    return found


def _watermarks(section: Section, name: str) -> tuple[GivenWatermark, ...]:
    node = section.find(name)
    if node is None:
        return ()
    if not isinstance(node.value, Mapping):
        return (GivenWatermark("", section.read(name, LINE), node.where),)
    free = Section(node, "", section.findings, node.members)
    return tuple(
        GivenWatermark(each, free.read(each, LINE), inner.where)
        for each, inner in node.members.items()
    )


_OF_TYPES: Plain = {"type": "object", "additionalProperties": TEXT.schema}
TYPES: PartKind[dict[str, ColumnType]] = part(_types, {}, _OF_TYPES)
_OF_WATERMARK: Plain = {"type": "object", "additionalProperties": _SCALAR}
WATERMARKS: PartKind[tuple[GivenWatermark, ...]] = part(
    _watermarks, (), {"anyOf": [_SCALAR, _OF_WATERMARK]}
)
