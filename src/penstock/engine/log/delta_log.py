"""Facts of tables without Spark: the commit files themselves, and `deltalake` for the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, TableFacts
from penstock.core.model import Source
from penstock.engine.log.commit_file import DATA_OPERATIONS, LogEntry, read_entry
from penstock.engine.log.files import count_hidden
from penstock.engine.log.folder import (
    check_whole,
    commit_path,
    gap,
    is_local,
    newest,
    open_table,
    versions,
)
from penstock.engine.log.listing import holds_files, list_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

CLUSTER_PROPERTY = "penstock.clusterBy"


class DeltaLog:
    """The `Log` over Delta tables in folders and, for URIs, through `deltalake`."""

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        """See `Log.head`. A local table costs a few looks at its folder and one small file."""
        if not is_local(uri):
            table = open_table(uri)
            last = _remote_entry(table.history(1)[0]) if table else None
            return Head(table.version(), last.step) if table and last else None
        version = newest(uri, hint)
        if version is None:
            return None
        return Head(version, read_entry(commit_path(uri, version), head_only=True).step)

    def facts(self, uri: str, *, counts: bool = False) -> TableFacts | None:
        """See `Log.facts`; rows are without those that deletion vectors hide.

        They are None where the vectors cannot be read.
        """
        table = open_table(uri)
        if table is None:
            return None
        metadata = table.metadata()
        properties = dict(metadata.configuration)
        clustered = properties.pop(CLUSTER_PROPERTY, "")
        if metadata.partition_columns:  # then the property tells of a layout before
            clustered = ""
        rows, size = _counts(table) if counts else (None, None)
        return TableFacts(
            table_id=str(metadata.id),
            version=table.version(),
            schema=schema_from_json(table.schema().to_json()),
            partition_by=tuple(metadata.partition_columns),
            cluster_by=tuple(clustered.split(",")) if clustered else (),
            properties=properties,
            comment=metadata.description or "",
            rows=rows,
            size_bytes=size,
        )

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        """See `Log.commits`."""
        if not is_local(uri):
            return remote_commits(uri, after, partial=partial)
        left = [version for version in versions(uri) if version > after]
        if not partial:
            check_whole(uri, after, left)
        return tuple(_entry(uri, version).commit for version in left)

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        """See `Log.partitions`."""
        table = open_table(uri)
        return [{**each} for each in table.partitions()] if table else []

    def transaction(self, uri: str, application: str) -> int:
        """See `Log.transaction`. It outlives the commit files that told of it."""
        table = open_table(uri)
        return (table.transaction_version(application) or 0) if table else 0

    def is_cluttered(self, uri: str) -> bool:
        """See `Log.is_cluttered`."""
        return open_table(uri) is None and holds_files(uri)

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        """See `Log.added`. A table that is not in a local folder gives None."""
        if not is_local(uri):
            return None
        files: list[AddedFile] = []
        try:
            for version in range(after + 1, upto + 1):
                entry = _entry(uri, version)
                if entry.rewrites:
                    return None
                files.extend(entry.added)
        except TableError:
            return None
        return tuple(files)

    def listing(self, source: Source) -> Listing:
        """See `Log.listing`."""
        return list_files(source)


def _entry(uri: str, version: int) -> LogEntry:
    try:
        return read_entry(commit_path(uri, version))
    except FileNotFoundError:
        raise gap(uri, version) from None


def remote_commits(uri: str, after: int, *, partial: bool) -> tuple[LogCommit, ...]:
    """Give the commits of a table that is no local folder, as `Log.commits` does."""
    table = open_table(uri)
    commits = [_remote_entry(each).commit for each in table.history()] if table else []
    found = tuple(commit for commit in reversed(commits) if commit.version > after)
    if not partial:
        check_whole(uri, after, [commit.version for commit in found])
    return found


def _counts(table: DeltaTable) -> tuple[int | None, int]:
    actions = table.get_add_actions(flatten=True)
    rows = sum(count or 0 for count in actions.column("num_records").to_pylist())
    size = sum(count or 0 for count in actions.column("size_bytes").to_pylist())
    hidden = count_hidden(table)
    return None if hidden is None else rows - hidden, size


def _remote_entry(info: dict[str, object]) -> LogEntry:
    """Give an entry as deltalake tells it; the operation's name stands for `dataChange`."""
    line = json.dumps({"commitInfo": info})
    version = int(str(info["version"]))
    return LogEntry.from_lines(
        version, [line], data_by_name=str(info.get("operation")) in DATA_OPERATIONS
    )


_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def schema_from_json(text: str) -> Schema:
    """Read a Delta schema, giving types in Spark's short spelling.

    >>> schema_from_json('{"type":"struct","fields":[{"name":"a","type":"long","nullable":true}]}')
    Schema(columns=(Column(name='a', type='bigint', nullable=True, comment=''),))
    """
    return Schema(
        tuple(
            Column(
                field["name"],
                _type(field["type"]),
                field["nullable"],
                str((field.get("metadata") or {}).get("comment", "")),
            )
            for field in json.loads(text)["fields"]
        )
    )


def _type(given: str | dict[str, object]) -> str:
    if isinstance(given, str):
        return _NAMES.get(given, given)
    match given:
        case {"type": "struct", "fields": list(fields)}:
            inner = ",".join(f"{f['name']}:{_type(f['type'])}" for f in fields)
            return f"struct<{inner}>"
        case {"type": "array", "elementType": element}:
            return f"array<{_type(element)}>"  # type: ignore[arg-type]
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_type(key)},{_type(value)}>"  # type: ignore[arg-type]
        case _:
            return str(given)
