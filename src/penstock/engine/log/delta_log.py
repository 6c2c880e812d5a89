"""Read facts and a few rows of tables, and list files, without Spark."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.columns.schema import schema_from_json
from penstock.core.entities.slices import BronzeFolder, ListedSlice
from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, TableFacts
from penstock.core.model import Source
from penstock.core.names import quoted
from penstock.core.ports.sessions import FewRows
from penstock.core.steps.inputs import FilesPin
from penstock.engine.disk.disks import disk_at, walk
from penstock.engine.log import folder
from penstock.engine.log.bronze import FileState, file_problem, is_hidden, slices_in, unmatched_in
from penstock.engine.log.ends import FileEnds
from penstock.engine.log.files import count_hidden
from penstock.engine.log.tables import (
    described,
    last_transaction,
    metadata_action,
    open_table,
    open_version,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

_WITH_STATISTICS = ("parquet", "orc")
"""Formats in which a change of rows also changes the end of the file."""


class DeltaLog:
    """The `Log` over Delta tables in folders.

    `remembered` is a file that caches digests of files' ends.
    """

    def __init__(self, remembered: Path | None = None) -> None:
        """Use no cache of files unless there is a path for it."""
        self._ends = FileEnds(remembered)

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        """See `Log.head`. It costs a few lookups in a folder and one small file."""
        version = folder.newest_version(uri, hint)
        if version is None:
            return None
        return Head(version, folder.read_entry(uri, version, head_only=True).commit.step)

    def facts(
        self,
        uri: str,
        *,
        counts: bool = False,
        hint: int | None = None,
        version: int | None = None,
    ) -> TableFacts | None:
        """See `Log.facts`; rows are None if statistics or deletion vectors do not count them."""
        found = None if counts or version is not None else described(uri, hint)
        if found is not None:
            with suppress(*folder.UNREADABLE):  # a damaged checksum; the log itself may be whole
                return _facts(*found)
        table = open_table(uri) if version is None else open_version(uri, version)
        if table is None:
            return None
        facts = _facts(table.version(), metadata_action(table))
        if not counts:
            return facts
        actions, hidden = table.get_add_actions(flatten=True), count_hidden(table)
        held, size = (actions.column(n).to_pylist() for n in ("num_records", "size_bytes"))
        rows = None if hidden is None or None in held else sum(held) - hidden
        return replace(facts, rows=rows, size_bytes=sum(count or 0 for count in size))

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        """See `Log.commits`."""
        left = folder.versions(uri, after)
        if not partial:
            folder.check_whole(uri, after, left)
        return tuple(folder.read_entry(uri, version).commit for version in left)

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        """See `Log.partitions`."""
        table = open_table(uri)
        if table is None:
            return []
        names = table.metadata().partition_columns  # deltalake gives them in any order
        found: list[dict[str, str | None]]
        found = [{name: each[name] for name in names} for each in table.partitions()]
        return sorted(found, key=lambda each: [(v is not None, v or "") for v in each.values()])

    def transaction(self, uri: str, application: str) -> int:
        """See `Log.transaction`. It outlives the commit files that contained it."""
        return last_transaction(uri, application)

    def is_cluttered(self, uri: str) -> bool:
        """See `Log.is_cluttered`."""
        if open_table(uri) is not None:
            return False
        try:
            return any(True for _ in walk(disk_at(uri).listed(uri), uri, lambda _: False))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        """See `Log.added`."""
        files: list[AddedFile] = []
        try:
            for version in range(after + 1, upto + 1):
                entry = folder.read_entry(uri, version)
                if entry.rewrites:
                    return None
                files.extend(entry.added)
        except TableError:
            return None
        return tuple(files)

    def spans(self, uri: str, version: int, column: str) -> tuple[AddedFile, ...] | None:
        """See `Log.spans`."""
        table = open_version(uri, version)
        if table is None:
            return None
        found = table.get_add_actions(flatten=True)
        low, high, rows = f"min.{column}", f"max.{column}", "num_records"
        if not {low, high, rows} <= set(found.schema.names):
            return None
        lists = (found.column(name).to_pylist() for name in ("path", low, high, rows))
        files = [
            AddedFile(path, _bound(column, least), _bound(column, greatest), rows=count or 0)
            for path, least, greatest, count in zip(*lists, strict=True)
        ]
        return tuple(files) if None not in found.column(rows).to_pylist() else None

    def listing(self, source: Source) -> Listing:
        """See `Log.listing`; raises `source-missing` for a path that does not exist."""
        found = sorted(_source_files(source), key=lambda each: each[0])
        root, digest = source.path.rstrip("/"), hashlib.sha256()
        paths = tuple(f"{root}/{name}" if name else root for name, _ in found)
        whole = source.format.lower() not in _WITH_STATISTICS
        for (name, stat), path in zip(found, paths, strict=True):
            content = self._ends.of(path, stat, whole=whole)
            digest.update(f"{name}\0{stat.size}\0{content}\n".encode())
        self._ends.save()
        newest = max((stat.modified for _, stat in found), default=None)
        changed = None if newest is None else dt.datetime.fromtimestamp(newest / 1e9, dt.UTC)
        return Listing(FilesPin(digest.hexdigest(), len(found)), paths, changed)

    def slices(self, folder: BronzeFolder) -> tuple[ListedSlice, ...]:
        """See `Log.slices`."""
        found = slices_in(folder, self._ends.of)
        self._ends.save()
        return found

    def unmatched(self, folder: BronzeFolder) -> tuple[str, ...]:
        """See `Log.unmatched`."""
        return unmatched_in(folder)

    def file_problem(self, path: str) -> str:
        """See `Log.file_problem`."""
        return file_problem(path)


def _facts(version: int, metadata: Mapping[str, Any]) -> TableFacts:
    """Return the facts that a `metaData` action gives."""
    properties = dict(metadata.get("configuration") or {})
    partition_by = tuple(metadata.get("partitionColumns") or ())
    clustered = properties.pop("penstock.clusterBy", "")
    if partition_by:  # then the property tells of a layout before
        clustered = ""
    return TableFacts(
        table_id=str(metadata["id"]),
        version=version,
        schema=schema_from_json(metadata["schemaString"]),
        partition_by=partition_by,
        cluster_by=tuple(clustered.split(",")) if clustered else (),
        properties=properties,
        comment=metadata.get("description") or "",
    )


def _bound(column: str, value: object) -> dict[str, str]:
    return {} if value is None else {column: str(value)}


def _source_files(source: Source) -> Iterator[FileState]:
    tree = disk_at(source.path).listed(source.path)
    stat = tree.stat(source.path)
    if stat is None:
        raise TableError(
            "source-missing",
            f"source {source.table} has no files: {source.path} does not exist",
            where=source.where,
            hint="correct `path`, or deliver the files",
        )
    return walk(tree, source.path, is_hidden) if stat.is_folder else iter([("", stat)])


_VIEW = "kept"


class DeltaRows:
    """The `KeptRows` over Delta tables, with the query engine of `deltalake`."""

    def newest(self, uri: str, columns: Sequence[str], by: str, limit: int) -> FewRows:
        """See `KeptRows.newest`."""
        table = open_table(uri)
        if table is None:
            return FewRows((), 0)
        named = ", ".join(map(_name, columns))
        order = f"ORDER BY {_name(by)} DESC, {_name(columns[0])}"
        rows = _query(uri, table, f"SELECT {named} FROM {_VIEW} {order} LIMIT {limit}")
        total = _query(uri, table, f"SELECT count(*) FROM {_VIEW}")
        return FewRows(rows, int(total[0][0]))

    def present(self, uri: str, column: str, values: Sequence[str]) -> frozenset[str]:
        """See `KeptRows.present`."""
        table = open_table(uri)
        if table is None or not values:
            return frozenset()
        listed = ", ".join("'" + each.replace("'", "''") + "'" for each in values)
        name = _name(column)
        rows = _query(uri, table, f"SELECT {name} FROM {_VIEW} WHERE {name} IN ({listed})")
        return frozenset(str(row[0]) for row in rows)


def _name(column: str) -> str:
    return '"' + quoted(column)[1:-1].replace('"', '""') + '"'


def _query(uri: str, table: DeltaTable, query: str) -> tuple[tuple[Any, ...], ...]:
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    try:
        found = QueryBuilder().register(_VIEW, table).execute(query).read_all()
    except DeltaError as error:
        raise TableError("target-unreadable", f"{uri} cannot be read: {error}") from error
    columns = [found.column(number).to_pylist() for number in range(found.num_columns)]
    return tuple(tuple(map(_utc, row)) for row in zip(*columns, strict=True))


def _utc(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
