"""Where rows of Delta tables changed or are stored, from their logs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from penstock.core.facts import LogCommit, Touched
from penstock.core.partitions.partition import FIRST, LAST, Span
from penstock.core.steps.step import PartitionRows
from penstock.engine.disk.disks import disk_at
from penstock.engine.log import files, folder, tables
from penstock.engine.log.files import LogColumn, join_spans
from penstock.engine.log.folder import Actions
from penstock.engine.log.tables import Metadata

_OUTSIDE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
"""The path of a file that belongs to another table, of which this one is a clone."""
Places = tuple[Span | None, ...]
"""Where one file's rows are, by column; None for anywhere."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A `Touched` in progress; `unplaced` are removed files that only their add can locate."""

    commit: LogCommit
    places: frozenset[Places] = frozenset()
    unplaced: Mapping[str, Places] = field(default_factory=dict)


def touches(uri: str, versions: Sequence[int], columns: Mapping[str, str]) -> tuple[Touched, ...]:
    """Return the commits among ascending versions that changed rows, and where.

    Columns have their names in the newest of the versions. A commit that replaced the table may
    have changed any row. If the log no longer shows which table was there before, a commit with
    `metaData` does not count as a replacement; callers compare the ids.
    """
    if not versions:
        return ()
    newest = folder.read_actions(uri, versions[-1])
    fields = _fields(uri, versions[-1], newest, columns)
    drafts: list[_Draft] = []
    table_id: str | None = None
    for version in versions:
        actions = newest if version == versions[-1] else folder.read_actions(uri, version)
        if actions.metadata is not None:
            known = tables.metadata_at(uri, version - 1) if version and not table_id else None
            before = known.table_id if known else table_id
            table_id = str(actions.metadata["id"])
            if before is not None and table_id != before:
                drafts.append(_Draft(actions.commit(version)))
                continue
        if actions.adds or actions.removes:
            drafts.append(_draft(uri, version, actions, fields))
    wanted = {path for draft in drafts for path in draft.unplaced}
    placed = _places_of(uri, versions, wanted, fields) if wanted else {}
    return tuple(_finish(draft, fields, placed, columns) for draft in drafts)


def _metadata(uri: str, version: int, actions: Actions) -> Metadata | None:
    """Return the metadata of a table at a version whose commit was read, from it if it has some."""
    if actions.metadata is None:
        return tables.metadata_at(uri, version, changed=False)
    try:
        return Metadata.read(actions.metadata)
    except folder.UNREADABLE as error:
        raise folder.damaged_error(uri, version) from error


def _fields(
    uri: str, version: int, actions: Actions, columns: Mapping[str, str]
) -> tuple[LogColumn, ...]:
    metadata = _metadata(uri, version, actions) if columns else None
    physical = metadata.physical if metadata else {}
    return tuple(
        LogColumn(name, physical[name.lower()], kind)
        for name, kind in columns.items()
        if name.lower() in physical
    )


def _draft(uri: str, version: int, actions: Actions, fields: Sequence[LogColumn]) -> _Draft:
    unplaced: dict[str, Places] = {}
    try:
        here = {add["path"]: files.spans_of(add, fields) for add in actions.adds}
        for remove in actions.removes:
            path = remove["path"]
            places = _fill(files.spans_of(remove, fields), here.get(path))
            if None in places:
                unplaced[unquote(path)] = places
            else:
                here[path] = places
    except folder.UNREADABLE as error:
        raise folder.damaged_error(uri, version) from error
    return _Draft(actions.commit(version), frozenset(here.values()), unplaced)


def _fill(places: Places, added: Places | None) -> Places:
    if added is None:
        return places
    return tuple(other if mine is None else mine for mine, other in zip(places, added, strict=True))


def _places_of(
    uri: str, versions: Sequence[int], wanted: Collection[str], fields: Sequence[LogColumn]
) -> Mapping[str, Places]:
    """Locate files by the adds of their decoded paths, in these commits or earlier files."""
    placed: dict[str, Places] = {}  # by adds that only moved rows about, too: OPTIMIZE makes files
    for version in versions:
        for line in folder.read_file(folder.commit_file(uri, version)).splitlines():
            add = json.loads(line).get("add") if b'"add"' in line else None
            if add and (path := unquote(add["path"])) in wanted:
                placed[path] = files.spans_of(add, fields)
    before = versions[0] - 1
    if len(placed) < len(wanted) and before >= 0 and (table := tables.open_version(uri, before)):
        placed = {**files.live_files(table, fields), **placed}
    return placed


def _finish(
    draft: _Draft, fields: Sequence[LogColumn], added: Mapping[str, Places], names: Iterable[str]
) -> Touched:
    unplaced = (_fill(each, added.get(path)) for path, each in draft.unplaced.items())
    spans: dict[str, tuple[Span, ...] | None] = dict.fromkeys(names)
    found = zip(*draft.places, *unplaced, strict=True)
    for each, places in zip(fields, found, strict=False):  # of another table: nothing found
        known = [span for span in places if span is not None]
        spans[each.name] = join_spans(known) if len(known) == len(places) else None
    return touched_by(draft.commit, spans)


def touched_by(commit: LogCommit, spans: Mapping[str, tuple[Span, ...] | None]) -> Touched:
    """Return what a commit touched, with its own metadata."""
    who = (commit.step, commit.store, commit.user)
    return Touched(commit.version, commit.time, commit.operation, *who, spans)


class DeltaPlaces:
    """The `Places` over Delta tables in folders."""

    def touched(
        self,
        uri: str,
        after: int,
        columns: Mapping[str, str],
        *,
        upto: int | None = None,
        partial: bool = False,
    ) -> tuple[Touched, ...]:
        """See `Places.touched`."""
        if upto is not None and not partial:
            return touches(uri, range(after + 1, upto + 1), columns)
        left = [each for each in folder.versions(uri, after) if upto is None or each <= upto]
        if not partial:
            folder.check_whole(uri, after, left)
        return touches(uri, left, columns)

    def readable(self, uri: str, versions: Iterable[int]) -> frozenset[int]:
        """See `Places.readable`; files outside the table's folder are taken to exist."""
        tree, complete = disk_at(uri).listed(uri), set()
        for version in versions:
            table = tables.open_version(uri, version)
            if table is None:
                continue
            paths = map(str, table.get_add_actions().column("path").to_pylist())
            inside = (unquote(path) for path in paths if not _OUTSIDE.match(path))
            is_whole = all(tree.stat(f"{uri}/{path}") for path in inside)
            if is_whole and not files.has_lost_vectors(table):
                complete.add(version)
        return frozenset(complete)

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        """See `Places.written`."""
        actions = folder.read_actions(uri, version)
        metadata = _metadata(uri, version, actions)
        if metadata is None or column.lower() not in metadata.partition_by:
            return None
        try:
            return _row_counts(
                actions.adds, LogColumn(column, metadata.physical[column.lower()], kind)
            )
        except folder.UNREADABLE as error:
            raise folder.damaged_error(uri, version) from error

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        """See `Places.lying`. A file without statistics may contain any row."""
        table = tables.open_table(uri)
        if table is None:
            return ()
        physical = Metadata.read(tables.metadata_action(table)).physical.get(column.lower(), column)
        places = files.live_files(table, [LogColumn(column, physical, kind)])
        hidden = files.hidden_files(table)
        shown = (span for path, (span,) in places.items() if path not in hidden)
        return join_spans((FIRST, LAST) if span is None else span for span in shown)

    def features(self, uri: str, version: int | None = None) -> frozenset[str]:
        """See `Places.features`."""
        table = tables.open_table(uri) if version is None else tables.open_version(uri, version)
        if table is None:
            raise folder.gap_error(uri, version or 0)
        return frozenset(table.protocol().reader_features or ())

    def missing_files(self, uri: str, version: int) -> int:
        """See `Places.missing_files`."""
        table = tables.open_version(uri, version)
        if table is None:
            raise folder.gap_error(uri, version)
        return files.count_missing(table)


def _row_counts(
    adds: Iterable[Mapping[str, Any]], field: LogColumn
) -> Mapping[int, PartitionRows] | None:
    counted: dict[int, PartitionRows] = {}
    for add in adds:
        span = field.at(add["partitionValues"][field.physical])
        if span is None:
            return None
        if span == files.NOWHERE:
            continue
        before = counted.get(span[0], PartitionRows(span[0], 0, 0))
        rows = _sum(before.rows, folder.live_rows(add))
        size = _sum(before.size_bytes, add.get("size"))
        counted[span[0]] = PartitionRows(span[0], rows, size)
    return counted


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
