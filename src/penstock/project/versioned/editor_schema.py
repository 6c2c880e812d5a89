"""The JSON Schema of versioned models, for editors; loading itself checks more."""

from __future__ import annotations

from penstock.project.check_keys import checks_schema
from penstock.project.trees.sheet import Keys
from penstock.project.values import Plain
from penstock.project.versioned.destination import DESTINATION, LAYOUTS, PARTITION
from penstock.project.versioned.fields import FIELD
from penstock.project.versioned.shape import MODEL, STRATEGIES
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
