"""JSON Schemas of the YAML files, for editors; loading itself checks more.

Each key is described where its section declares it; docs/reference/ is generated from it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias, cast

from penstock.project.entities.sections import DocumentSection, NativeSection
from penstock.project.files.sections import (
    KeyedSection,
    definitions_in,
    described_keys,
    inner_sections,
    refer,
    schema_of,
)
from penstock.project.files.values import Plain, mapping_of
from penstock.project.python.sections import SECTIONS as DECORATORS
from penstock.project.sessions.sections import PackageSection
from penstock.project.settings.check_keys import (
    CHECKS,
    PhasesSection,
    check_schema,
    checks_schema,
    key_descriptions,
)
from penstock.project.settings.entry_keys import ModelsFileSection
from penstock.project.settings.model_keys import ModelConfigSection
from penstock.project.settings.project_keys import ProjectSection
from penstock.project.unit_tests.sections import TestFileSection
from penstock.project.versioned.sections import VersionedSection

Tree: TypeAlias = "dict[str, Plain]"
FILES: Mapping[str, type[KeyedSection]] = {
    "entities": DocumentSection,
    "entity": NativeSection,
    "models": ModelsFileSection,
    "penstock": ProjectSection,
    "sessions": PackageSection,
    "unit_tests": TestFileSection,
    "versioned": VersionedSection,
}
SECTIONS = {**FILES, **{f"python.{kind}": each for kind, each in DECORATORS.items()}}
"""The files, and the decorators, whose keys are declared in sections."""
_SECTIONS = {
    **dict.fromkeys(("model_config", "defaults", "snapshot_config"), "header"),
    "entities.entities.settings.retention": "retention",
}
"""The sections that are equal to another one."""
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def described(section: str, key: str) -> Mapping[str, Plain]:
    """Return the description of a key: `says`, `unset` without a schema default, `example`.

    A section is a part of a schema, by the name of its definition or the keys that lead to it.
    Raises `KeyError` for one without a description.
    """
    return mapping_of(descriptions()[section_name(section)][key])


def in_order(section: str, keys: Iterable[str]) -> list[str]:
    """Return keys in the order of their descriptions."""
    return sorted(keys, key=[*descriptions()[section_name(section)]].index)


def section_name(section: str) -> str:
    """Return the section with the same content.

    >>> section_name("snapshot_config"), section_name("entity.entity.columns")
    ('header', 'entities.entities.columns')
    """
    shared = re.sub(r"^entity\.entity\.(?!bronze)", "entities.entities.", section)
    shared = shared.replace("connections.settings", "entities.settings")
    return _SECTIONS.get(shared, shared)


@cache
def descriptions() -> Mapping[str, Mapping[str, Plain]]:
    """Return all descriptions of keys, by section."""
    found: dict[str, Mapping[str, Plain]] = {}
    for name, top in SECTIONS.items():
        for inner, section in inner_sections(top, name):
            found.setdefault(section_name(inner), described_keys(section))
    return found | {"checks": described_keys(PhasesSection), "check": key_descriptions()}


def sections(name: str, schema: Mapping[str, Plain]) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    """Yield every mapping with keys in a schema, with the name of its section."""
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
    """Return a schema in which each key has its description, and checks occur once."""
    made: Tree = json.loads(json.dumps(schema))
    if json.dumps(CHECKS["$ref"]) in json.dumps(schema):
        checks: Tree = {"check": check_schema(), "checks": checks_schema()}
        made["$defs"] = {**mapping_of(made.get("$defs")), **checks}
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


def _section_schema(name: str, section: type[KeyedSection]) -> Tree:
    """Return the schema of a file whose keys are declared in sections."""
    definitions = definitions_in(section)
    if "defaults" in definitions:  # keys that end with / are folders
        definitions["model_config"] = schema_of(ModelConfigSection)
        folders: Mapping[str, Plain] = {"patternProperties": {"/$": refer(ModelConfigSection)}}
        definitions["defaults"] = {**folders, **mapping_of(definitions["defaults"])}
    below: Tree = {"$defs": definitions} if definitions else {}
    return {"title": name, **below, **schema_of(section)}


def _schema_text(name: str, section: type[KeyedSection]) -> str:
    schema = _described(name, _section_schema(name, section))
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def json_schemas() -> Mapping[str, str]:
    """Return each schema as text by the name it is written under; sorted keys, so it is stable."""
    return {f"{name}.schema.json": _schema_text(name, section) for name, section in FILES.items()}
