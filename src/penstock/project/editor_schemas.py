"""JSON Schemas of the YAML files, for editors; loading itself checks more.

What each key says stands in `keys/`, by sections, and nowhere else: docs/reference/ has it, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

from penstock.core.checks import OnFailure
from penstock.core.sessions.package import MODULES, SNOWPLOW
from penstock.project.entities.sections import DocumentSection, NativeSection
from penstock.project.files.documents import read_document
from penstock.project.files.nodes import Keys
from penstock.project.files.sections import described_keys, inner_sections, schema_of
from penstock.project.files.values import Plain, mapping_of
from penstock.project.sessions import keys
from penstock.project.settings.check_keys import (
    PhasesSection,
    check_schema,
    checks_schema,
    key_descriptions,
)
from penstock.project.settings.shapes import ModelsFileShape, ProjectShape
from penstock.project.settings.strategy import LAYOUTS
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

Tree: TypeAlias = "dict[str, Plain]"
SECTIONS = {"entities": DocumentSection, "entity": NativeSection}
"""The files whose keys are declared in sections."""
DESCRIPTIONS = Path(__file__).with_name("keys")
_SECTIONS = {
    "ChecksShape": "checks_settings",
    "EntitiesShape": "entities_settings",
    **dict.fromkeys(("model_config", "defaults", "snapshot_config"), "header"),
    "entities.entities.settings.retention": "retention",
}
"""The sections that say the same as another one."""
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
_CHECKS: Mapping[str, Plain] = {
    "check": check_schema(),
    "checks": checks_schema({"$ref": "#/$defs/check"}),
}
_LIKE = {
    "nested_snapshot": "header",
    "snapshot_entry": "documented_model",
    "seed": "documented_model",
    "source_table": "documented_model",
    "run": "test",
    "given_input": "table",
    "expect": "given_input",
    "entity.entity": "entities.entities",
    "python.model": "python.source",
    "python.table": "python.model",
    "python.incremental_table": "python.table",
}
"""The sections whose keys another one describes unless they do."""
_TEXT: Plain = {"type": "string"}
_TEXTS: Plain = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_FLAG: Plain = {"type": "boolean"}
_COUNT: Plain = {"type": "integer", "minimum": 1}
_FROM_ZERO: Plain = {"type": "integer", "minimum": 0}
_DATE: Plain = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
_SCALAR: Plain = {"type": ["string", "number", "integer", "boolean"]}
_OBJECT: Plain = {"type": "object"}
_OBJECTS: Plain = {"type": "array", "items": _OBJECT}
_VERSIONED: Tree = {
    **dict.fromkeys(("version", "revision", "batch_size", "interval"), _COUNT),
    **dict.fromkeys(("immutable", "nullable", "deletion_vectors"), _FLAG),
    **dict.fromkeys(("effective_from", "backfill_since"), _DATE),
    **dict.fromkeys(("tags", "cluster"), _TEXTS),
    "meta": _OBJECT,
    "invariants": {"anyOf": [checks_schema(), {"type": ["object", "array", "string"]}]},
    "columns": _OBJECTS,
    "depends_on": {"type": "array"},
    "strategy": {"enum": list(STRATEGIES)},
    "layout": {"enum": list(LAYOUTS)},
    "start": {"type": ["string", "integer"]},
    "end": {"type": "integer"},
}
_TABLE: Plain = {"$ref": "#/$defs/table"}
_FORMS: Tree = {
    "rows": {"type": ["array", "string"], "items": _OBJECT},
    **dict.fromkeys(("csv", "sql", "file", "fixture"), _TEXT),
    "columns": {"type": "object", "additionalProperties": _TEXT},
    "format": {"enum": ["dict", "csv", "sql"]},
}
_WATERMARK: Plain = {"anyOf": [_SCALAR, {"type": "object", "additionalProperties": _SCALAR}]}
_EXPECTED: Tree = {
    **_FORMS,
    **dict.fromkeys(("columns_exact", "unchanged"), _FLAG),
    **dict.fromkeys(("row_count", "commits"), _FROM_ZERO),
    "metrics": {"type": "object", "additionalProperties": _FROM_ZERO},
    "watermark": _WATERMARK,
    "quarantine": _TABLE,
    "checks": {"type": "object", "additionalProperties": {"enum": [*CHECK_STATUSES]}},
    "status": {"enum": [*STATUSES]},
    "tolerance": {"type": ["number", "string"]},
}
_TEST: Tree = {
    "full_refresh": _FLAG,
    "on_failure": {"enum": [str(each) for each in OnFailure]},
    "version": _COUNT,
    **dict.fromkeys(("tags", "key"), _TEXTS),
    **dict.fromkeys(("vars", "overrides", "config"), _OBJECT),
    "given": {"$ref": "#/$defs/given"},
    "expect": {"anyOf": [{"$ref": "#/$defs/expect"}, _OBJECTS]},
    "expect_error": {"anyOf": [_TEXT, {"$ref": "#/$defs/error"}]},
    "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
}


def _mapping(keys: Iterable[str], values: Tree, usual: Plain, needed: Iterable[str] = ()) -> Tree:
    """Describe a mapping with these keys and no others."""
    known = {key: values.get(key, usual) for key in keys}
    found: Tree = {"type": "object", "additionalProperties": False}
    return found | {"properties": known, "required": [*needed]}


def _one(name: str) -> Plain:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"}, _TEXT]}


def _list(name: str) -> Plain:
    return {"anyOf": [{"type": "array", "items": _one(name)}, _TEXT]}


def _section(keys: Keys, **values: Plain) -> Tree:
    """Describe a mapping; what is needed may stand under its other name, so only few are."""
    known = {**_VERSIONED, **values}
    known |= {other: known.get(key, _TEXT) for other, key in keys.aliases.items()}
    needed = [key for key in keys.needed if key not in keys.aliases.values()]
    return _mapping((*keys.known, *keys.aliases), known, _TEXT, needed)


def _versioned_schema() -> Tree:
    """Return the schema as a tree; a reference may stand for every mapping and list."""
    definitions: Tree = {
        "field": _section(FIELD, fields=_list("field")),
        "partition": _section(PARTITION),
        "destination": _section(DESTINATION, partition=_one("partition")),
        "revision": _section(REVISION),
        "schema": {"anyOf": [_list("field"), _OBJECT]},
        "version": _section(VERSION, schema=_one("schema"), sql_revisions=_list("revision")),
    }
    top = _section(MODEL, destination=_one("destination"), versions=_list("version"))
    return {"title": "versioned model", "$defs": definitions, **top}


def _unit_tests_schema() -> Tree:
    state: Tree = {"watermark": _WATERMARK, "history": {"type": "array"}}
    tables: Plain = {"type": "object", "additionalProperties": _TABLE}
    given: Tree = {
        **dict.fromkeys(("inputs", "slices"), tables),
        "target": _TABLE,
        "state": _mapping(OF_STATE, state, _SCALAR),
    }
    listed = _mapping(OF_LISTED, _FORMS, _SCALAR, ("input",))
    tests: Plain = {"type": "array", "items": {"$ref": "#/$defs/test"}}
    definitions: Tree = {
        "table": {"anyOf": [_OBJECTS, _mapping((*FORMS, "columns"), _FORMS, _SCALAR)]},
        "given": {
            "anyOf": [
                _mapping(OF_GIVEN, given, _SCALAR),
                {"type": "array", "items": {"$ref": "#/$defs/given_input"}},
            ]
        },
        "given_input": listed,
        "expect": _mapping((*OF_EXPECT, "format", "fixture"), _EXPECTED, _SCALAR),
        "error": _mapping(("code", "contains"), {}, _SCALAR, ("code",)),
        "run": _mapping(OF_RUN, _TEST, _SCALAR),
        "test": _mapping(OF_TEST, _TEST, _SCALAR, ("name", "model")),
    }
    top = _mapping(("unit_tests", "version"), {"unit_tests": tests, "version": _FROM_ZERO}, _SCALAR)
    return {"title": "unit tests", "$defs": definitions, **top}


def _session_schema() -> Tree:
    """Return the schema of a session package."""
    carried: Plain = {"anyOf": [_TEXT, {"type": "object", "additionalProperties": _TEXT}]}
    lists: Tree = {
        **dict.fromkeys(("page_views", "first", "last"), _array(carried)),
        "agg": {"type": "object", "additionalProperties": _TEXT},
    }
    inner = {
        **lists,
        "sessions": _mapping(keys.OF_SESSIONS.known, lists, _TEXT),
        "users": _mapping(keys.OF_USERS.known, lists, _TEXT),
    }
    known: Tree = {
        **dict.fromkeys((*keys.COLUMN_LISTS, *keys.TEXT_LISTS, *keys.EXPRESSION_LISTS), _TEXTS),
        **{key: {"type": "integer", "minimum": least} for key, least in keys.LEAST.items()},
        **dict.fromkeys(keys.FLAGS, _FLAG),
        **{key: {"enum": [str(word) for word in words]} for key, words in keys.WORDS.items()},
        "strategy": {"enum": ["sessions"]},
        "session_lookback_days": {"type": ["integer", "null"], "minimum": 1},
        "app_ids": {"type": ["array", "string", "null"], "items": {"type": ["string", "null"]}},
        "modules": {"type": "array", "items": {"enum": [str(each) for each in MODULES]}},
        "passthrough": _mapping(keys.PASSTHROUGH.known, inner, _TEXT),
        "compat": {"enum": [SNOWPLOW, None]},
        **dict.fromkeys(("filters", "tags"), _TEXTS),
        **dict.fromkeys(("vars", "checks", "meta"), _OBJECT),
    }
    known |= {key: {"type": ["string", "null"]} for key in keys.NULLABLE if key not in known}
    return {"title": "sessions", **_mapping(keys.FILE.known, known, _TEXT, keys.REQUIRED)}


def _array(items: Plain) -> Plain:
    return {"type": "array", "items": items}


def described(section: str, key: str) -> Mapping[str, Plain]:
    """Return what is said of a key: `says`, `unset` where the schema knows no default, `example`.

    A section is a part of a schema, by the name of its definition or the keys that lead to it.
    Raises `KeyError` for one that nobody described.
    """
    found = next((keys for keys in _said_of(section) if key in keys), {})
    return mapping_of(found[key])


def in_order(section: str, keys: Iterable[str]) -> list[str]:
    """Return keys as they are described, those that another section describes last."""
    order = [key for said in _said_of(section) for key in said]
    return sorted(keys, key=order.index)


def _said_of(section: str) -> Iterator[Mapping[str, Plain]]:
    following: str | None = section_name(section)
    while following is not None:
        yield descriptions().get(following, {})
        following = _LIKE.get(following)


def section_name(section: str) -> str:
    """Return the section that says what this one says.

    >>> section_name("SnapshotConfigShape"), section_name("entity.entity.columns")
    ('header', 'entities.entities.columns')
    """
    if section in _SECTIONS:
        return _SECTIONS[section]
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", section.removesuffix("Shape")).lower()
    shared = re.sub(r"^entity\.entity\.(?!bronze)", "entities.entities.", snake)
    shared = shared.replace("connections.settings", "entities.settings")
    return _SECTIONS.get(shared, shared)


@cache
def descriptions() -> Mapping[str, Mapping[str, Plain]]:
    """Return all that is said of keys, by sections."""
    found: dict[str, Mapping[str, Plain]] = {}
    for path in sorted(DESCRIPTIONS.glob("*.yml")):
        document = read_document(path.name, path.read_text(encoding="utf-8"))
        found |= {section: mapping_of(keys) for section, keys in mapping_of(document.tree).items()}
    for name, top in SECTIONS.items():
        for inner, section in inner_sections(top, name):
            found[section_name(inner)] = described_keys(section)
    return found | {"checks": described_keys(PhasesSection), "check": key_descriptions()}


def sections(name: str, schema: Mapping[str, Plain]) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    """Yield every mapping of a schema that says its keys, with the name of its section."""
    for definition, tree in mapping_of(schema.get("$defs")).items():
        yield from _mappings(definition, tree)
    yield from _mappings(name, {key: tree for key, tree in schema.items() if key != "$defs"})


def _mappings(section: str, tree: Plain) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    if isinstance(tree, list):
        for each in tree:
            yield from _mappings(section, each)
    for word, inner in mapping_of(tree).items():
        if word == "properties":
            yield section, mapping_of(tree)
            for key, value in mapping_of(inner).items():
                yield from _mappings(f"{section}.{key}", value)
        elif word in ("items", "anyOf", "additionalProperties"):
            yield from _mappings(section, inner)


def _described(name: str, schema: Tree) -> Tree:
    """Return a schema in which each key says what it means, and checks stand once."""
    found = mapping_of(_with_checks(json.loads(json.dumps(schema))))
    definitions = {**mapping_of(found.get("$defs")), **_CHECKS} if found != schema else {}
    made: Tree = {**found, **({"$defs": definitions} if definitions else {})}
    for section, tree in sections(name, made):
        properties = cast("Tree", tree["properties"])
        for key, value in properties.items():
            try:
                said = described(section, key)
            except KeyError:  # editors may do without; a test asks for every key
                continue
            unset = f" Left out: {said['unset']}." if "unset" in said else ""
            text = _LINK.sub(r"\1", f"{said['says']}{unset}")
            more: Tree = {"description": text, "examples": [said["example"]]}
            properties[key] = {**mapping_of(value), **more}
    return made


def _with_checks(tree: Plain) -> Plain:
    if isinstance(tree, list):
        return [_with_checks(each) for each in tree]
    if not isinstance(tree, Mapping):
        return tree
    if tree.get("anyOf") == checks_schema()["anyOf"]:
        rest = {key: value for key, value in tree.items() if key != "anyOf"}
        return {**rest, "$ref": "#/$defs/checks"}
    return {key: _with_checks(value) for key, value in tree.items()}


def json_schemas() -> Mapping[str, str]:
    """Return each schema as text by the name it is written under; sorted keys, so it is stable."""
    project = ProjectShape.model_json_schema(by_alias=True)
    project["$defs"]["DefaultsShape"] = {
        **project["$defs"]["ModelConfigShape"],
        "patternProperties": {"/$": {"$ref": "#/$defs/ModelConfigShape"}},
    }
    project["properties"]["defaults"] = {"$ref": "#/$defs/DefaultsShape"}
    models = ModelsFileShape.model_json_schema(by_alias=True)
    models["properties"]["unit_tests"] = {"type": "array"}  # unit_tests.schema.json has more
    schemas = {
        "entities": {"title": "entities", **schema_of(DocumentSection)},
        "entity": {"title": "entity", **schema_of(NativeSection)},
        "models": models,
        "penstock": project,
        "sessions": _session_schema(),
        "unit_tests": _unit_tests_schema(),
        "versioned": _versioned_schema(),
    }
    return {
        f"{name}.schema.json": json.dumps(_described(name, schema), indent=2, sort_keys=True) + "\n"
        for name, schema in schemas.items()
    }
