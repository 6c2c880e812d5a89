"""The manifest of dbt: the names that a profile would give, and a second opinion on tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.errors import UsageError
from penstock.project.dbt.notes import FileLog, FileNotes
from penstock.project.files.values import Plain, mapping_of, text_of

_VERSION = re.compile(r"/manifest/v(\d+)\.json")
READ = range(11, 14)
_BUILT = ("model", "seed", "snapshot")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the import takes from a manifest: tables as schema.name by node, and the usual names."""

    path: str
    tables: Mapping[str, str]
    schema: str
    adapter: str


def read_manifest(path: str, data: bytes) -> Manifest:
    """Read a manifest of version 11 to 13; raise `bad-manifest` for anything else."""
    hint = "run dbt parse with dbt 1.7 or newer, or leave --manifest out"
    try:
        tree = mapping_of(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise UsageError("bad-manifest", f"{path} is not JSON", hint=hint) from error
    metadata = mapping_of(tree.get("metadata"))
    found = _VERSION.search(text_of(metadata.get("dbt_schema_version")))
    if found is None:
        raise UsageError("bad-manifest", f"{path} is not a manifest of dbt", hint=hint)
    if int(found[1]) not in READ:
        sentence = f"{path} is a manifest of version {found[1]}, and v11 to v13 are read"
        raise UsageError("bad-manifest", sentence, hint=hint)
    nodes = [mapping_of(each) for each in mapping_of(tree.get("nodes")).values()]
    built = [each for each in nodes if each.get("resource_type") in _BUILT]
    project = metadata.get("project_name")
    own = [each for each in built if project in (None, each.get("package_name"))]
    plain = (each for each in own if not mapping_of(each.get("config")).get("schema"))
    schemas = Counter(text_of(each.get("schema")) for each in plain)
    schema = schemas.most_common(1)[0][0] if schemas else ""
    tables = {text_of(each.get("name")): _table(each) for each in built}
    return Manifest(path, tables, schema, text_of(metadata.get("adapter_type")))


def _table(node: Mapping[str, Plain]) -> str:
    return f"{text_of(node.get('schema'))}.{text_of(node.get('alias') or node.get('name'))}"


def compare(manifest: Manifest, tables: Mapping[str, str]) -> FileNotes:
    """Report the nodes whose tables are others in the manifest, and those that are not here."""
    log = FileLog()
    for name, table in sorted(manifest.tables.items()):
        found = tables.get(name)
        if found is None:
            log.hand(name, "the manifest has this node, and no file of the project does")
        elif found.lower() != table.lower():
            why = f"the manifest says {table}, the import {found}: was it made for this target?"
            log.hand(name, why)
        else:
            log.take(name)
    return FileNotes(manifest.path, "manifest", (), log.sorted())
