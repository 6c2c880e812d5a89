"""JSON Schemas of the YAML files, for editors; loading itself checks more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from penstock.core.checks import OnFailure
from penstock.project.files.nodes import Keys
from penstock.project.files.values import Plain
from penstock.project.settings.check_keys import checks_schema
from penstock.project.settings.partitions import LAYOUTS
from penstock.project.settings.shapes import ModelsFileShape, ProjectShape
from penstock.project.unit_tests.given import (
    CHECK_STATUSES,
    OF_EXPECT,
    OF_GIVEN,
    OF_LISTED,
    OF_STATE,
    STATUSES,
)
from penstock.project.unit_tests.load import OF_RUN, OF_TEST
from penstock.project.unit_tests.tables import FORMS
from penstock.project.versioned.gather import DESTINATION, MODEL, PARTITION, STRATEGIES
from penstock.project.versioned.schema import FIELD
from penstock.project.versioned.versions import REVISION, VERSION

_TEXT: Plain = {"type": "string"}
_TEXTS: Plain = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_COUNT: Plain = {"type": "integer", "minimum": 1}
_FLAG: Plain = {"type": "boolean"}
_DATE: Plain = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
_FREE: Plain = {"type": ["object", "array", "string"]}
_VALUES: dict[str, Plain] = {
    "version": _COUNT,
    "revision": _COUNT,
    "batch_size": _COUNT,
    "immutable": _FLAG,
    "nullable": _FLAG,
    "effective_from": _DATE,
    "backfill_since": _DATE,
    "tags": _TEXTS,
    "cluster": _TEXTS,
    "meta": {"type": "object"},
    "invariants": {"anyOf": [checks_schema(), _FREE]},
    "columns": {"type": "array", "items": {"type": "object"}},
    "depends_on": {"type": "array"},
    "strategy": {"enum": list(STRATEGIES)},
    "layout": {"enum": list(LAYOUTS)},
    "start": {"type": ["string", "integer"]},
    "end": {"type": "integer"},
    "interval": _COUNT,
}
_SCALAR: Plain = {"type": ["string", "number", "integer", "boolean"]}
_FROM_ZERO: Plain = {"type": "integer", "minimum": 0}
_OBJECT: Plain = {"type": "object"}
_ROWS: Plain = {"type": ["array", "string"], "items": _OBJECT}
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
_WATERMARK: Plain = {"anyOf": [_SCALAR, {"type": "object", "additionalProperties": _SCALAR}]}
_EXPECTED: dict[str, Plain] = {
    **_FORMS,
    "columns_exact": _FLAG,
    "unchanged": _FLAG,
    "row_count": _FROM_ZERO,
    "commits": _FROM_ZERO,
    "metrics": {"type": "object", "additionalProperties": _FROM_ZERO},
    "watermark": _WATERMARK,
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
    "vars": _OBJECT,
    "overrides": _OBJECT,
    "config": _OBJECT,
    "given": {"$ref": "#/$defs/given"},
    "expect": {"anyOf": [{"$ref": "#/$defs/expect"}, {"type": "array", "items": _OBJECT}]},
    "expect_error": {"anyOf": [_TEXT, {"$ref": "#/$defs/error"}]},
    "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
}


def versioned_schema() -> dict[str, Plain]:
    """Give the schema as a tree; a reference may stand for every mapping and list."""
    definitions: dict[str, Plain] = {
        "field": _mapping(FIELD, fields=_list("field")),
        "partition": _mapping(PARTITION),
        "destination": _mapping(DESTINATION, partition=_one("partition")),
        "revision": _mapping(REVISION),
        "schema": {"anyOf": [_list("field"), {"type": "object"}]},
        "version": _mapping(VERSION, schema=_one("schema"), sql_revisions=_list("revision")),
    }
    top = _mapping(MODEL, destination=_one("destination"), versions=_list("version"))
    return {"title": "versioned model", "$defs": definitions, **top}


def _mapping(keys: Keys, **values: Plain) -> dict[str, Plain]:
    """Describe a mapping; what is needed may stand under its other name, so only few are."""
    known = {key: values.get(key, _VALUES.get(key, _TEXT)) for key in keys.known}
    known |= {alias: known[key] for alias, key in keys.aliases.items()}
    needed = [key for key in keys.needed if key not in keys.aliases.values()]
    found: dict[str, Plain] = {"type": "object", "additionalProperties": False}
    return found | {"properties": known, "required": needed}


def _one(name: str) -> Plain:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"}, _TEXT]}


def _list(name: str) -> Plain:
    return {"anyOf": [{"type": "array", "items": _one(name)}, _TEXT]}


def unit_tests_schema() -> dict[str, Plain]:
    """Give the schema as a tree."""
    inputs: Plain = {"type": "object", "additionalProperties": _TABLE}
    state = _with_keys(OF_STATE, {"watermark": _WATERMARK, "history": {"type": "array"}})
    listed = _with_keys(OF_LISTED, _FORMS, ("input",))
    shape = _with_keys(OF_GIVEN, {"inputs": inputs, "target": _TABLE, "state": state})
    rows: Plain = {"type": "array", "items": _OBJECT}
    definitions: dict[str, Plain] = {
        "table": {"anyOf": [rows, _with_keys((*FORMS, "columns"), _FORMS)]},
        "given": {"anyOf": [shape, {"type": "array", "items": listed}]},
        "expect": _with_keys((*OF_EXPECT, "format", "fixture"), _EXPECTED),
        "error": _with_keys(("code", "contains"), {}, ("code",)),
        "run": _with_keys(OF_RUN, _TEST),
        "test": _with_keys(OF_TEST, _TEST, ("name", "model")),
    }
    tests: Plain = {"type": "array", "items": {"$ref": "#/$defs/test"}}
    top = _with_keys(("unit_tests", "version"), {"unit_tests": tests, "version": _FROM_ZERO})
    return {"title": "unit tests", "$defs": definitions, **top}


def _with_keys(
    keys: Iterable[str], values: dict[str, Plain], needed: Iterable[str] = ()
) -> dict[str, Plain]:
    known = {key: values.get(key, _SCALAR) for key in keys}
    found: dict[str, Plain] = {"type": "object", "additionalProperties": False}
    return found | {"properties": known, "required": [*needed]}


def json_schemas() -> Mapping[str, str]:
    """Give each schema as text by the name it is written under; sorted keys, so it is stable."""
    project = ProjectShape.model_json_schema(by_alias=True)
    folders = {"$ref": "#/$defs/ModelConfigShape"}
    project["$defs"]["DefaultsShape"] = {
        **project["$defs"]["ModelConfigShape"],
        "patternProperties": {"/$": folders},
    }
    project["properties"]["defaults"] = {"$ref": "#/$defs/DefaultsShape"}
    models = ModelsFileShape.model_json_schema(by_alias=True)
    models["properties"]["unit_tests"] = {"type": "array"}  # unit_tests.schema.json has more
    return {
        "models.schema.json": json.dumps(models, indent=2, sort_keys=True) + "\n",
        "penstock.schema.json": json.dumps(project, indent=2, sort_keys=True) + "\n",
        "unit_tests.schema.json": json.dumps(unit_tests_schema(), indent=2, sort_keys=True) + "\n",
        "versioned.schema.json": json.dumps(versioned_schema(), indent=2, sort_keys=True) + "\n",
    }
