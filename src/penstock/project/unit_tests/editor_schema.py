"""The JSON Schema of files with unit tests, for editors; loading itself checks more."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.checks import OnFailure
from penstock.project.unit_tests.expectations import CHECK_STATUSES, OF_EXPECT, STATUSES
from penstock.project.unit_tests.given import OF_GIVEN, OF_LISTED, OF_STATE
from penstock.project.unit_tests.reader import OF_RUN, OF_TEST
from penstock.project.unit_tests.tables import FORMS
from penstock.project.values import Plain

_TEXT: Plain = {"type": "string"}
_TEXTS: Plain = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_SCALAR: Plain = {"type": ["string", "number", "integer", "boolean"]}
_COUNT: Plain = {"type": "integer", "minimum": 0}
_FLAG: Plain = {"type": "boolean"}
_FREE: Plain = {"type": "object"}
_ROWS: Plain = {"type": ["array", "string"], "items": _FREE}
_TYPES: Plain = {"type": "object", "additionalProperties": _TEXT}
_FORMS: dict[str, Plain] = {
    "rows": _ROWS,
    "csv": _TEXT,
    "sql": _TEXT,
    "file": _TEXT,
    "columns": _TYPES,
    "format": {"enum": ["dict", "csv", "sql"]},
    "fixture": _TEXT,
}
_TABLE: Plain = {"$ref": "#/$defs/table"}
_MARK: Plain = {"anyOf": [_SCALAR, {"type": "object", "additionalProperties": _SCALAR}]}
_EXPECTED: dict[str, Plain] = {
    **_FORMS,
    "columns_exact": _FLAG,
    "unchanged": _FLAG,
    "row_count": _COUNT,
    "commits": _COUNT,
    "metrics": {"type": "object", "additionalProperties": _COUNT},
    "watermark": _MARK,
    "quarantine": _TABLE,
    "checks": {
        "type": "object",
        "additionalProperties": {"enum": [*CHECK_STATUSES]},
    },
    "status": {"enum": [*STATUSES]},
    "tolerance": {"type": ["number", "string"]},
}
_TEST: dict[str, Plain] = {
    "full_refresh": _FLAG,
    "on_failure": {"enum": [str(each) for each in OnFailure]},
    "version": {"type": "integer", "minimum": 1},
    "tags": _TEXTS,
    "key": _TEXTS,
    "vars": _FREE,
    "overrides": _FREE,
    "config": _FREE,
    "given": {"$ref": "#/$defs/given"},
    "expect": {"anyOf": [{"$ref": "#/$defs/expect"}, {"type": "array", "items": _FREE}]},
    "expect_error": {"anyOf": [_TEXT, {"$ref": "#/$defs/error"}]},
    "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
}


def unit_tests_schema() -> dict[str, Plain]:
    """Give the schema as a tree."""
    inputs: Plain = {"type": "object", "additionalProperties": _TABLE}
    state = _mapping(OF_STATE, {"watermark": _MARK, "history": {"type": "array"}})
    listed = _mapping(OF_LISTED, _FORMS, ("input",))
    shape = _mapping(OF_GIVEN, {"inputs": inputs, "target": _TABLE, "state": state})
    rows: Plain = {"type": "array", "items": _FREE}
    definitions: dict[str, Plain] = {
        "table": {"anyOf": [rows, _mapping((*FORMS, "columns"), _FORMS)]},
        "given": {"anyOf": [shape, {"type": "array", "items": listed}]},
        "expect": _mapping((*OF_EXPECT, "format", "fixture"), _EXPECTED),
        "error": _mapping(("code", "contains"), {}, ("code",)),
        "run": _mapping(OF_RUN, _TEST),
        "test": _mapping(OF_TEST, _TEST, ("name", "model")),
    }
    tests: Plain = {"type": "array", "items": {"$ref": "#/$defs/test"}}
    top = _mapping(("unit_tests", "version"), {"unit_tests": tests, "version": _COUNT})
    return {"title": "unit tests", "$defs": definitions, **top}


def _mapping(
    keys: Iterable[str], values: dict[str, Plain], needed: Iterable[str] = ()
) -> dict[str, Plain]:
    known = {key: values.get(key, _SCALAR) for key in keys}
    found: dict[str, Plain] = {"type": "object", "additionalProperties": False}
    return found | {"properties": known, "required": [*needed]}
