"""What a log says of a table at a version: its id and how it names its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.engine.commit_file import UNREADABLE
from penstock.engine.log_folder import checkpointed, commit_path, log_folder, open_version

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOOKS_BACK = 100  # commits read for a `metaData` before a checkpoint is opened


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's id, and by lower-case name what the log calls its columns.

    With column mapping the log has physical names, which outlive a rename.
    """

    table_id: str
    physical: Mapping[str, str]
    partition_by: frozenset[str]

    @classmethod
    def read(cls, action: Mapping[str, Any]) -> Metadata:
        """Read a `metaData` action."""
        fields = json.loads(action["schemaString"])["fields"]
        mode = (action.get("configuration") or {}).get("delta.columnMapping.mode", "none")
        names = {
            each["name"].lower(): each["name"]
            if mode == "none"
            else (each.get("metadata") or {}).get("delta.columnMapping.physicalName", each["name"])
            for each in fields
        }
        parts = frozenset(name.lower() for name in action.get("partitionColumns") or ())
        return cls(str(action["id"]), names, parts)


def metadata_at(uri: str, version: int) -> Metadata | None:
    """Read the metadata of a local table as of a version; None if the log no longer tells.

    Spark's checksum file has it, else the newest `metaData` below; a checkpoint comes last,
    because opening one costs the most.
    """
    found = _of_checksum(uri, version) or _of_commits(uri, version)
    if found is not None:
        return found
    table = open_version(uri, version)
    return metadata_of(table) if table else None


def metadata_of(table: DeltaTable) -> Metadata:
    """Read the metadata of an open table."""
    told = table.metadata()
    return Metadata.read(
        {
            "id": told.id,
            "schemaString": table.schema().to_json(),
            "partitionColumns": told.partition_columns,
            "configuration": told.configuration,
        }
    )


def checksum(uri: str, version: int) -> Mapping[str, Any]:
    """Give what Spark's checksum file says of a local table's version; nothing if none is there.

    A damaged one says nothing either: the log itself is read then.
    """
    try:
        with open(f"{log_folder(uri)}/{version:020d}.crc", "rb") as file:  # noqa: PTH123  # 1,000 tables
            told = json.load(file)
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _of_checksum(uri: str, version: int) -> Metadata | None:
    try:
        return Metadata.read(checksum(uri, version)["metadata"])
    except UNREADABLE:
        return None


def _of_commits(uri: str, version: int) -> Metadata | None:
    low = -1 if checkpointed(uri) is None else version - _LOOKS_BACK
    try:
        for each in range(version, max(low, -1), -1):
            content = commit_path(uri, each).read_bytes()
            for line in content.splitlines() if b'"metaData"' in content else ():
                action = json.loads(line) if b'"metaData"' in line else {}
                if "metaData" in action:
                    return Metadata.read(action["metaData"])
    except (FileNotFoundError, *UNREADABLE):
        return None
    return None
