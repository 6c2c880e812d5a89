"""The `_delta_log` folder of a table: which versions are there, and how a table is opened."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import TableError
from penstock.engine.log.commit_file import UNREADABLE

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NAME_LENGTH = len("00000000000000000000.json")
_CHECKPOINTED = re.compile(r'"version"\s*:\s*(\d+)')


def is_local(uri: str) -> bool:
    """Whether a table or path is a folder of this machine's file system."""
    return "://" not in uri or uri.startswith("file://")


def log_folder(uri: str) -> str:
    """Give the folder of a local table's log; it need not be there."""
    return f"{uri.removeprefix('file://').rstrip('/')}/_delta_log"


def commit_path(uri: str, version: int) -> Path:
    """Give the file of a version; it need not be there."""
    return Path(_commit_name(log_folder(uri), version))


def versions(uri: str) -> list[int]:
    """Give the versions whose commit files are there, rising; none where no table is."""
    return sorted(int(name[:20]) for name in _commit_names(log_folder(uri)))


def newest(uri: str, hint: int | None = None) -> int | None:
    """Give the newest version, None where no table is.

    A version that is there, the hint or the one of the last checkpoint, is climbed from in as
    many looks as the way above it has binary digits; only without one the folder is listed.
    """
    folder = log_folder(uri)
    if hint is not None and _is_there(folder, hint):
        return _climb(folder, hint)
    floor = checkpointed(uri)
    if floor is not None and _is_there(folder, floor):
        return _climb(folder, floor)
    name = max(_commit_names(folder), default=None)
    return int(name[:20]) if name else None


def checkpointed(uri: str) -> int | None:
    """Give the version of the last checkpoint, None if there is none."""
    try:
        with open(f"{log_folder(uri)}/_last_checkpoint", encoding="utf-8") as file:  # noqa: PTH123  # 1,000 tables
            found = _CHECKPOINTED.search(file.read())
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) if found else None


def check_whole(uri: str, after: int, found: Sequence[int]) -> None:
    """Raise `log-gap` unless rising versions go on from `after` without a hole."""
    for wanted, version in enumerate(found, after + 1):
        if version != wanted:
            raise gap(uri, wanted)


def gap(uri: str, version: int) -> TableError:
    """Give the error of a version that the log no longer holds."""
    return TableError(
        "log-gap",
        f"version {version} of the log of {uri} is gone and would be needed",
        hint="Delta's log retention removed it; penstock cannot tell what it changed",
    )


def open_table(uri: str) -> DeltaTable | None:
    """Open a table as it is now; None where none is, `log-unreadable` if its log is damaged."""
    if is_local(uri) and newest(uri) is None:
        return None
    from deltalake import DeltaTable  # 0.1 s; most commands do without
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        return DeltaTable(uri)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        raise TableError(
            "log-unreadable",
            f"the Delta log of {uri} cannot be read: {str(error).splitlines()[0][:300]}",
            hint="a log file is missing or damaged; restore it from a backup, nothing was written",
        ) from error


def open_version(uri: str, version: int) -> DeltaTable | None:
    """Open a table as it was; None if the log no longer tells."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return DeltaTable(uri, version=version)
    except DeltaError:
        return None


def _commit_names(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names, not a Path for each of 10,000
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        name
        for name in names
        if len(name) == _NAME_LENGTH and name.endswith(".json") and name[:20].isdecimal()
    ]


def _commit_name(folder: str, version: int) -> str:
    return f"{folder}/{version:020d}.json"


def _is_there(folder: str, version: int) -> bool:
    return os.path.exists(_commit_name(folder, version))  # noqa: PTH110  # 1,000 tables: no Path each


def _climb(folder: str, low: int) -> int:
    step = 1
    while _is_there(folder, low + step):
        low += step
        step *= 2
    while step > 1:
        step //= 2
        if _is_there(folder, low + step):
            low += step
    return low


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
    return Metadata.read(metadata_action(table))


def metadata_action(table: DeltaTable) -> Mapping[str, Any]:
    """Give the metadata of an open table as its log would write it."""
    metadata = table.metadata()
    return {
        "id": str(metadata.id),
        "schemaString": table.schema().to_json(),
        "partitionColumns": metadata.partition_columns,
        "configuration": metadata.configuration,
    }


def checksum(uri: str, version: int) -> Mapping[str, Any]:
    """Give what Spark's checksum file says of a local table's version; nothing if none is there.

    A damaged one says nothing either: the log itself is read then.
    """
    try:
        with open(f"{log_folder(uri)}/{version:020d}.crc", "rb") as file:  # noqa: PTH123  # 1,000 tables
            document = json.load(file)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


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
