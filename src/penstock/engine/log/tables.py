"""Opening tables, and what is known about a table without its files.

Reading the log of a table in a bucket takes a request for almost every commit. So what is known of
a table there stays known while its newest commit is the same file, and it comes from Spark's
checksum file if that is enough.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.core.errors import TableError
from penstock.core.masking import mask
from penstock.core.ports.engine import FileStat
from penstock.core.storage import is_s3
from penstock.engine.disk.buckets import BUCKETS, CachedTable, table_options_at
from penstock.engine.disk.disks import disk_at, is_local
from penstock.engine.log.folder import (
    UNREADABLE,
    checkpointed,
    commit_file,
    commit_name,
    is_contained,
    log_folder,
    newest_version,
    read_file,
    unreadable_log,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOOKS_BACK = 100
"""How many commits are read for a `metaData` before a checkpoint is opened."""
_MOST_CACHED = 64
_OF_FILES = (b'{"add"', b'{"remove"', b'{"cdc"')


def open_table(uri: str) -> DeltaTable | None:
    """Open the current table, None without one; raise `log-unreadable` for a damaged log."""
    if not is_s3(uri):
        return None if newest_version(uri) is None else open_version(uri)
    cached = _cached(uri)
    if cached is not None and cached.table is not None:
        return cached.table
    table = open_version(uri)
    if cached is not None and table is not None and cached.version == table.version():
        cached.table = table  # another version was committed meanwhile, and its file is unknown
    return table


def described(uri: str, hint: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
    """Return the version of a table and its `metaData`, without opening it.

    None if the whole log is needed for that. In a bucket, a `hint`, a version that was seen before,
    saves the request for `_last_checkpoint`.
    """
    if not is_s3(uri):
        newest, kept = newest_version(uri, hint), checkpointed(uri) or 0
        if newest is None or newest < kept:  # a checkpoint outlived its commit
            return None
        found = own_checksum(uri, newest).get("metadata")
        return (newest, found) if found else None
    cached = _checked(uri, hint)
    return (cached.version, cached.metadata) if cached and cached.metadata else None


def last_transaction(uri: str, application: str) -> int:
    """Return the last transaction that an application committed, 0 if there is none."""
    cached = _checked(uri) if is_s3(uri) else None
    if cached is not None and cached.transactions is not None:
        return cached.transactions.get(application, 0)
    table = open_table(uri)
    return (table.transaction_version(application) or 0) if table else 0


def _cached(uri: str, hint: int | None = None) -> CachedTable | None:
    """Return what is known of the newest version; it takes one listing."""
    known = BUCKETS.tables.get(uri)
    first = known.version if known else hint
    if first is None:
        first = checkpointed(uri) or 0
    newest = disk_at(uri).newest(log_folder(uri), commit_name, first)
    if newest is None:
        BUCKETS.tables.pop(uri, None)
        return None
    commit = newest.files[commit_name(newest.number)]
    if known is None or not commit.etag or (known.version, known.commit) != (newest.number, commit):
        BUCKETS.tables.pop(uri, None)  # so that it is the last of them
        known = BUCKETS.tables[uri] = CachedTable(newest.number, commit)
        for old in [*BUCKETS.tables][:-_MOST_CACHED]:
            BUCKETS.tables.pop(old, None)
    known.has_checksum = _belongs(newest.files.get(_checksum_name(newest.number)), commit)
    return known


def _checked(uri: str, hint: int | None = None) -> CachedTable | None:
    """Return what is known of the newest version, with what Spark's checksum file says of it.

    Without that file, it is asked whether the commit itself says what the table is.
    """
    cached = _cached(uri, hint)
    if cached is None or cached.is_checked:
        return cached
    cached.is_checked = True
    document = checksum(uri, cached.version)
    try:
        if not document:
            document = {"metadata": _metadata_before_files(uri, cached.version)}
        Metadata.read(document["metadata"])  # a damaged one raises
        cached.metadata, known = document["metadata"], document.get("setTransactions")
        if isinstance(known, list):
            cached.transactions = {str(each["appId"]): int(each["version"]) for each in known}
    except (FileNotFoundError, *UNREADABLE):
        cached.metadata = cached.transactions = None
    return cached


def open_version(uri: str, version: int | None = None) -> DeltaTable | None:
    """Open a table at a version, by default the newest; None if the log no longer contains it.

    Raises `log-unreadable` for a damaged log, and the store's own error if that fails.
    """
    from deltalake import DeltaTable  # 0.1 s; most commands do without
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        return DeltaTable(uri, version=version, storage_options=table_options_at(uri))
    except TableNotFoundError:
        return None
    except OSError as error:
        if is_s3(uri):  # a request of our own fails with a sentence that names the cause
            disk_at(uri).stat(commit_file(uri, version or 0))
            raise TableError(
                "store-unreachable",
                f"the store failed while the Delta log of {uri} was read",
                hint="repeat the command; if the store is slow, give it a longer timeout",
            ) from None
        raise unreadable_log(uri, type(error).__name__) from None
    except DeltaError as error:
        if version is not None and not is_contained(uri, version):
            return None
        raise unreadable_log(uri, mask(str(error)).splitlines()[0][:300]) from error


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's id, and the log's names of columns by lower-case name; they survive a rename."""

    table_id: str
    physical: Mapping[str, str]
    partition_by: frozenset[str]

    @classmethod
    def read(cls, action: Mapping[str, Any]) -> Metadata:
        """Parse a `metaData` action."""
        mode = (action.get("configuration") or {}).get("delta.columnMapping.mode", "none")
        names = {}
        for each in json.loads(action["schemaString"])["fields"]:
            said = {} if mode == "none" else each.get("metadata") or {}
            physical = said.get("delta.columnMapping.physicalName", each["name"])
            names[each["name"].lower()] = physical
        parts = action.get("partitionColumns") or []
        if not isinstance(parts, list):  # a text would be a column for each letter
            raise TypeError(parts)
        return cls(str(action["id"]), names, frozenset(name.lower() for name in parts))


def metadata_at(uri: str, version: int, *, changed: bool = True) -> Metadata | None:
    """Read the metadata of a table at a version; None if the log no longer contains it.

    It is in Spark's checksum file, otherwise in the newest earlier `metaData`; a checkpoint is the
    slowest source. Unless the version `changed` it, it is also that of the version before.
    """
    same = (version,) if changed else (version, version - 1)
    cached = BUCKETS.tables.get(uri)
    if cached is not None and cached.metadata and cached.version in same:
        return Metadata.read(cached.metadata)
    try:
        return Metadata.read(checksum(uri, version)["metadata"])
    except UNREADABLE:
        if (found := _metadata_from_commits(uri, version)) is not None:
            return found
    table = open_version(uri, version)
    return Metadata.read(metadata_action(table)) if table else None


def metadata_action(table: DeltaTable) -> Mapping[str, Any]:
    """Return the metadata of an open table in the format of its log."""
    metadata = table.metadata()
    return {
        "id": str(metadata.id),
        "schemaString": table.schema().to_json(),
        "partitionColumns": metadata.partition_columns,
        "description": metadata.description,
        "configuration": metadata.configuration,
    }


def checksum(uri: str, version: int) -> Mapping[str, Any]:
    """Return the content of Spark's checksum file for a version; empty if missing or damaged.

    Also empty if it is older than its commit: another writer wrote that version, after the one of
    the file was removed. Times are those of the store or the disk, often of whole seconds, and a
    copied table has other ones. In a bucket only the newest version that was listed is compared.
    """
    disk, place = disk_at(uri), f"{log_folder(uri)}/{_checksum_name(version)}"
    cached = BUCKETS.tables.get(uri)
    is_believed = cached is None or cached.version != version or cached.has_checksum
    try:
        if is_local(uri):
            is_believed = _belongs(disk.stat(place), disk.stat(commit_file(uri, version)))
        document = json.loads(read_file(place)) if is_believed else {}
    except (OSError, *UNREADABLE):
        return {}
    return document if isinstance(document, dict) else {}


def own_checksum(uri: str, version: int) -> Mapping[str, Any]:
    """Return Spark's checksum file if it names the transaction of the commit; else it is empty.

    The times of files alone do not tell in a table that was copied.
    """
    document = checksum(uri, version)
    try:
        with disk_at(uri).open(commit_file(uri, version)) as file:
            said = json.loads(file.readline())["commitInfo"]["txnId"]
    except (OSError, *UNREADABLE):
        return {}
    return document if document.get("txnId") == said else {}


def _checksum_name(version: int) -> str:
    return f"{version:020d}.crc"


def _belongs(summary: FileStat | None, commit: FileStat | None) -> bool:
    return summary is not None and commit is not None and summary.modified >= commit.modified


def _metadata_before_files(uri: str, version: int) -> Mapping[str, Any] | None:
    """Return the `metaData` of a commit, None unless it comes before the commit's files."""
    with disk_at(uri).open(commit_file(uri, version)) as file:
        for line in file:
            if line.startswith(_OF_FILES):
                break
            if "metaData" in (action := json.loads(line)):
                found: Mapping[str, Any] = action["metaData"]
                return found
    return None


def _metadata_from_commits(uri: str, version: int) -> Metadata | None:
    low = -1 if checkpointed(uri) is None else max(version - _LOOKS_BACK, -1)
    try:
        for each in range(version, low, -1):
            content = read_file(commit_file(uri, each))
            for line in content.splitlines() if b'"metaData"' in content else ():
                action = json.loads(line) if b'"metaData"' in line else {}
                if "metaData" in action:
                    return Metadata.read(action["metaData"])
    except (FileNotFoundError, *UNREADABLE):
        return None
    return None
