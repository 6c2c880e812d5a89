"""Checks as JSON: what decides the result of one, and all of one for the cache."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from penstock.core.checks import (
    TYPES,
    Check,
    CheckScope,
    Condition,
    Empty,
    Phase,
    Relationships,
    Rule,
)
from penstock.core.findings import Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query

_RULES = {word: rule for rule, word in TYPES.items()}
_MICRO = dt.timedelta(microseconds=1)


def definition_of(check: Check) -> str:
    """Give the digest of everything that decides a check's result.

    Its name, severity and words, and where it stands, are not in it.
    """
    rule = check.rule
    parts = {
        "type": check.type,
        "phase": check.phase,
        "rule": [_write(getattr(rule, name)) for name in _deciding(rule)],
        "where": _write(check.condition),
        "input": _write(check.input),
        "query": _write(check.query),
        "scope": check.scope,
        "empty": check.empty,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Any: JSON of our own cache; whatever does not fit is thrown away as a whole.
def write_check(check: Check) -> list[Any]:
    """Give a JSON form that `read_check_json` reads back equal."""
    rule = [_write(getattr(check.rule, each.name)) for each in fields(check.rule)]
    where = check.where
    return [
        check.name,
        check.phase,
        [check.type, *rule],
        [where.path, where.line, where.column],
        check.definition,
        check.severity,
        check.description,
        list(check.tags),
        dict(check.meta),
        _write(check.condition),
        _write(check.input),
        _write(check.query),
        check.scope,
        check.empty,
        check.sample,
        [_write(each) for each in check.reads],
    ]


def read_check_json(entry: Sequence[Any]) -> Check:
    """Read what `write_check` gave; raises `ValueError`, `TypeError` or `KeyError` on damage."""
    name, phase, rule, where, definition, severity, description, *rest = entry
    tags, meta, condition, input_name, query, scope, empty, sample, reads = rest
    kind, *values = rule
    return Check(
        name=name,
        phase=Phase(phase),
        rule=_RULES[kind](*map(_read, values)),
        where=Location(*where),
        definition=definition,
        severity=Severity(severity),
        description=description,
        tags=tuple(tags),
        meta=dict(meta),
        condition=_read(condition),
        input=_read(input_name),
        query=_read(query),
        scope=CheckScope(scope),
        empty=Empty(empty) if empty else None,
        sample=sample,
        reads=tuple(map(_read, reads)),
    )


def _deciding(rule: Rule) -> list[str]:
    shown = {"shown", "source"} if not isinstance(rule, Relationships) else {"shown"}
    return [each.name for each in fields(rule) if each.name not in shown]


def _write(value: object) -> Any:  # noqa: ANN401  JSON
    match value:
        case Decimal():
            return {"d": str(value)}
        case dt.timedelta():
            return {"t": value // _MICRO}
        case InputName():
            return {"i": [value.kind, value.name]}
        case Condition():
            return {"c": [value.text, list(value.aggregates), value.observable]}
        case Query():
            return {"q": _write_query(value)}
        case tuple():
            return [_write(each) for each in value]
    return value


def _read(value: Any) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, list):
        return tuple(map(_read, value))
    if not isinstance(value, Mapping):
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "d":
            return Decimal(inner)
        case "t":
            return dt.timedelta(microseconds=inner)
        case "i":
            return InputName(InputKind(inner[0]), inner[1])
        case "c":
            return Condition(inner[0], tuple(inner[1]), inner[2])
        case "q":
            return _read_query(*inner)
    raise ValueError(kind)


def _write_query(query: Query) -> list[Any]:
    inputs = [_write(each) for each in query.inputs]
    flags = [[_write(name), column] for name, column in query.deleted_flags]
    return [query.text, query.incremental, query.canonical, inputs, query.parsed, flags]


def _read_query(
    text: str,
    incremental: str,
    canonical: str,
    inputs: Sequence[Any],
    *rest: Any,  # noqa: ANN401  JSON
) -> Query:
    parsed, flags = rest
    pairs = tuple((_read(name), column) for name, column in flags)
    names = tuple(map(_read, inputs))
    return Query(text, incremental, canonical, names, parsed=parsed, deleted_flags=pairs)
