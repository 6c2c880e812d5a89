"""Where rows of Delta tables changed or lie, from their logs (spec/drift.md §6.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.core.facts import Touched
from penstock.core.partition import FIRST, LAST, Span
from penstock.core.step import PartitionRows
from penstock.engine.commit_file import UNREADABLE, damaged, live_rows
from penstock.engine.delta_log import remote_commits
from penstock.engine.file_spans import NOWHERE, Field, joined
from penstock.engine.live_files import count_missing, hidden_files, live_files
from penstock.engine.log_folder import (
    check_whole,
    commit_path,
    gap,
    is_local,
    open_table,
    open_version,
    versions,
)
from penstock.engine.log_metadata import metadata_at, metadata_of
from penstock.engine.touches import actions_of, touched_by, touches


class DeltaPlaces:
    """The `Places` over Delta tables in folders and, for URIs, through `deltalake`."""

    def touched(
        self, uri: str, after: int, columns: Mapping[str, str], *, partial: bool = False
    ) -> tuple[Touched, ...]:
        """See `Places.touched`. Of a table that is not in a local folder no column tells."""
        if not is_local(uri):
            commits = remote_commits(uri, after, partial=partial)
            anywhere = dict.fromkeys(columns)
            return tuple(touched_by(each, anywhere) for each in commits if each.changes_data)
        left = [version for version in versions(uri) if version > after]
        if not partial:
            check_whole(uri, after, left)
        return touches(uri, left, columns)

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        """See `Places.written`. None for a table that is not in a local folder, too."""
        if not is_local(uri):
            return None
        adds = actions_of(uri, version).adds
        metadata = metadata_at(uri, version)
        if metadata is None or column.lower() not in metadata.partition_by:
            return None
        try:
            return _counted(adds, Field(column, metadata.physical[column.lower()], kind))
        except UNREADABLE as error:
            raise damaged(commit_path(uri, version)) from error

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        """See `Places.lying`. A file of which the log does not tell can hold any row."""
        table = open_table(uri)
        if table is None:
            return ()
        physical = metadata_of(table).physical.get(column.lower(), column)
        places = live_files(table, [Field(column, physical, kind)])
        hidden = hidden_files(table)
        shown = (span for path, (span,) in places.items() if path not in hidden)
        return joined((FIRST, LAST) if span is None else span for span in shown)

    def features(self, uri: str, version: int | None = None) -> frozenset[str]:
        """See `Places.features`."""
        table = open_table(uri) if version is None else open_version(uri, version)
        if table is None:
            raise gap(uri, version or 0)
        return frozenset(table.protocol().reader_features or ())

    def missing_files(self, uri: str, version: int) -> int:
        """See `Places.missing_files`."""
        table = open_version(uri, version)
        if table is None:
            raise gap(uri, version)
        return count_missing(table)


def _counted(adds: Iterable[Mapping[str, Any]], field: Field) -> Mapping[int, PartitionRows] | None:
    counted: dict[int, PartitionRows] = {}
    for add in adds:
        span = field.at(add["partitionValues"][field.physical])
        if span is None:
            return None
        if span == NOWHERE:
            continue
        rows, size = live_rows(add), add.get("size")
        before = counted.get(span[0], PartitionRows(span[0], 0, 0))
        counted[span[0]] = PartitionRows(
            span[0], _plus(before.rows, rows), _plus(before.size_bytes, size)
        )
    return counted


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
