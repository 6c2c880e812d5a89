"""JSON Schemas of the YAML files, for editors; loading itself checks more.

What each key says stands at its declaration in a section, or in `keys/`, by sections, and nowhere
else: docs/reference/ has it, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

from penstock.core.sessions.package import MODULES, SNOWPLOW
from penstock.project.entities.sections import DocumentSection, NativeSection
from penstock.project.files.documents import read_document
from penstock.project.files.sections import (
    KeyedSection,
    definitions_in,
    described_keys,
    inner_sections,
    schema_of,
)
from penstock.project.files.values import Plain, mapping_of
from penstock.project.sessions import keys
from penstock.project.settings.check_keys import (
    check_schema,
    checks_schema,
    key_descriptions,
)
from penstock.project.settings.shapes import ModelsFileShape, ProjectShape
from penstock.project.unit_tests.sections import TestFileSection
from penstock.project.versioned.sections import VersionedSection

Tree: TypeAlias = "dict[str, Plain]"
SECTIONS = {
    "entities": DocumentSection,
    "entity": NativeSection,
    "versioned": VersionedSection,
    "unit_tests": TestFileSection,
}
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


def _mapping(keys: Iterable[str], values: Tree, usual: Plain, needed: Iterable[str] = ()) -> Tree:
    """Describe a mapping with these keys and no others."""
    known = {key: values.get(key, usual) for key in keys}
    found: Tree = {"type": "object", "additionalProperties": False}
    return found | {"properties": known, "required": [*needed]}


def _schema_with_definitions(title: str, top: type[KeyedSection]) -> Tree:
    return {"title": title, "$defs": definitions_in(top), **schema_of(top)}


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
    return found | {"check": {**found["check"], **key_descriptions()}}


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
    made: Tree = dict(found)
    if '"#/$defs/checks"' in json.dumps(found):
        made["$defs"] = {**mapping_of(found.get("$defs")), **_CHECKS}
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
        "unit_tests": _schema_with_definitions("unit tests", TestFileSection),
        "versioned": _schema_with_definitions("versioned model", VersionedSection),
    }
    return {
        f"{name}.schema.json": json.dumps(_described(name, schema), indent=2, sort_keys=True) + "\n"
        for name, schema in schemas.items()
    }
