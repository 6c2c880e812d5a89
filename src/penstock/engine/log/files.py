"""The files of a table at one version, as listed by `deltalake`: where their rows may be."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from penstock.core.errors import TableError
from penstock.core.partitions.partition import Span, position
from penstock.core.steps.window import Window
from penstock.engine.disk.disks import disk_at
from penstock.engine.log.folder import UNREADABLE
from penstock.engine.log.tables import Metadata, checksum, open_table, open_version, own_checksum

if TYPE_CHECKING:
    from arro3.core import RecordBatch, Table
    from deltalake import DeltaTable

NOWHERE: Span = (0, 0)
"""The empty span: for an empty file, or one with only NULLs in the column."""

_DAY = 86_400_000_000
_ENDS = ("minValues", "maxValues")
CUT = 1_000
"""The tolerance for timestamps: statistics are truncated to milliseconds."""


@dataclass(frozen=True, slots=True)
class LogColumn:
    """A column by its requested name and its name in the log, with its Spark type."""

    name: str
    physical: str
    kind: str

    def at(self, text: str | None) -> Span | None:
        """Return the span of a partition value, which is exact; None if it cannot be parsed."""
        return _span_at(text, self.kind) if text else NOWHERE

    def of_statistics(self, statistics: Mapping[str, Any]) -> Span | None:
        """Return the span of a file's statistics; None if they are missing."""
        found = [(statistics.get(key) or {}).get(self.physical) for key in _ENDS]
        low, high = (None if end is None else position(str(end), self.kind) for end in found)
        nulls = (statistics.get("nullCount") or {}).get(self.physical)
        return self.span_between(statistics.get("numRecords"), nulls, low, high)

    def span_between(
        self, rows: int | None, nulls: int | None, low: int | None, high: int | None
    ) -> Span | None:
        """Return the span of a file between two positions, from its counts of rows and NULLs."""
        if rows == 0 or (rows is not None and nulls == rows):
            return NOWHERE
        if low is None or high is None:
            return None
        return span_of(low, high, kind=self.kind, cut=CUT)


@lru_cache(maxsize=65_536)
def _span_at(text: str, kind: str) -> Span | None:
    """Return the span of a partition value, cached because many files share it."""
    return span_of(position(text, kind), kind=kind)


def span_of(low: int | None, high: int | None = None, *, kind: str, cut: int = 1) -> Span | None:
    """Return the span from one value to another, or of one value; a DATE is its whole day.

    >>> (
    ...     span_of(0, kind="date"),
    ...     span_of(5, 7, kind="int"),
    ...     span_of(5, 7, kind="timestamp", cut=1000),
    ... )
    ((0, 86400000000), (5, 8), (5, 1007))
    """
    high = low if high is None else high
    if low is None or high is None:
        return None
    width = _DAY if kind == "date" else cut if kind.startswith("timestamp") else 1
    return low, high + width


def spans_of(action: Mapping[str, Any], fields: Sequence[LogColumn]) -> tuple[Span | None, ...]:
    """Return where the rows of an `add` or `remove` may be, by column; None for anywhere."""
    parts = action.get("partitionValues") or {}
    if all(each.physical in parts for each in fields):
        return tuple(each.at(parts[each.physical]) for each in fields)
    statistics = json.loads(action.get("stats") or "{}")
    return tuple(
        each.at(parts[each.physical]) if each.physical in parts else each.of_statistics(statistics)
        for each in fields
    )


def join_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort spans, merge neighbours, and remove empty ones.

    >>> join_spans([(5, 7), (1, 3), (3, 4), (0, 0), (6, 9)])
    ((1, 4), (5, 9))
    """
    apart: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if apart and low <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], high))
        else:
            apart.append((low, high))
    return tuple(apart)


_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # as a table's values: UTC, or of no zone


def live_files(
    table: DeltaTable, fields: Sequence[LogColumn]
) -> Mapping[str, tuple[Span | None, ...]]:
    """Return where the rows of each file may be, by its decoded path and then by column."""
    actions = table.get_add_actions(flatten=True)
    paths = [unquote(path) for path in actions.column("path").to_pylist()]
    spans = [_spans(actions, each, len(paths)) for each in fields]
    return dict(zip(paths, zip(*spans, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The bytes of files by their encoded path, and the id that Spark gave to the commit."""

    transaction: str
    sizes: Mapping[str, int]


_FEW_ROWS = 1 << 18
"""A deletion vector is read row by row; of files with more rows that takes too long."""


def files_in_checksum(
    uri: str, version: int, window: Window | None, below: int
) -> ListedFiles | None:
    """Return the files of a version that may have rows of a window, from Spark's checksum file.

    None unless they have fewer than `below` bytes, and the file has a list (of at most fifty) and
    belongs to this commit. The log must have the same files, because Spark makes each list from the
    one before, which may be wrong.
    """
    summary = own_checksum(uri, version)
    try:
        every = needed = summary["allFiles"]
        column = _column_of(summary["metadata"], window.column) if window else None
        if window and column:
            needed = [add for add in every if may_hold(add, column, window)]
        sizes = {add["path"]: add["size"] for add in needed}
        hiding = [add for add in every if add.get("deletionVector")]
        rows = sum(json.loads(add["stats"])["numRecords"] for add in hiding)
        if sum(sizes.values()) >= below or rows > _FEW_ROWS:
            return None
        hidden = {unquote(add["path"]): add["deletionVector"]["cardinality"] for add in hiding}
        listed = {path: hidden.get(path, 0) for path in (unquote(add["path"]) for add in every)}
        same = listed == _rows_hidden(uri, version)
        return ListedFiles(summary["txnId"], sizes) if same else None
    except (OSError, TableError, *UNREADABLE):
        return None


def _rows_hidden(uri: str, version: int) -> Mapping[str, int] | None:
    """Return how many rows of each live file are hidden, None if the log does not tell."""
    table = open_version(uri, version)
    if table is None or (hidden := _hidden_by_path(table, believed=False)) is None:
        return None
    paths = map(unquote, table.get_add_actions().column("path").to_pylist())
    return {path: hidden.get(path, 0) for path in paths}


_OF_TIMES = ("date", "timestamp", "timestamp_ntz")


def _column_of(metadata: Mapping[str, Any], name: str) -> LogColumn | None:
    """Return a column of times, None if it has another type."""
    fields = json.loads(metadata["schemaString"])["fields"]
    kind = {each["name"].lower(): each["type"] for each in fields}[name.lower()]
    physical = Metadata.read(metadata).physical[name.lower()]
    return LogColumn(name, physical, kind) if kind in _OF_TIMES else None


def may_hold(add: Mapping[str, Any], column: LogColumn, window: Window) -> bool:
    """Return whether a file may have rows of a window.

    >>> from penstock.core.columns.typed import TypedValue
    >>> from penstock.core.steps.window import Bound
    >>> at, june = LogColumn("at", "at", "date"), Bound(TypedValue("DATE", "2024-06-01"), True)
    >>> may = {"partitionValues": {"at": "2024-05-31"}}
    >>> may_hold(may, at, Window("at", june)), may_hold(may, at, Window("at", None, june))
    (False, True)
    """
    (span,) = spans_of(add, (column,))
    counts = json.loads(add.get("stats") or "{}").get("nullCount") or {}
    if span is None or (window.nulls and counts.get(column.physical) != 0):
        return True
    low, high = (
        position(bound.value.text, bound.value.type.lower()) if bound else None
        for bound in (window.lower, window.upper)
    )
    if low is not None and window.lower and not window.lower.inclusive:
        low += 1
    greatest = span[1] - (_DAY if column.kind == "date" else 1)
    return (
        span != NOWHERE and (low is None or low <= greatest) and (high is None or span[0] <= high)
    )


def bytes_in(uri: str, partitions: float) -> float:
    """Return the most bytes that a number of a table's partitions may have.

    A table that is not partitioned is one partition. Infinite if the log cannot be read.
    """
    from deltalake.exceptions import DeltaError

    try:
        actions = table.get_add_actions(flatten=True) if (table := open_table(uri)) else None
    except (DeltaError, TableError):
        return math.inf
    if actions is None:
        return math.inf
    names = [name for name in actions.schema.names if name.startswith("partition.")]
    size, *values = (actions.column(name).to_pylist() for name in ("size_bytes", *names))
    held = Counter[tuple[Any, ...]]()
    for count, *place in zip(size, *values, strict=True):
        held[tuple(place)] += count
    return min(held.total(), partitions * max(held.values(), default=0))


def hidden_files(table: DeltaTable) -> frozenset[str]:
    """Return decoded paths of files whose rows are all hidden by a readable deletion vector."""
    hidden = _hidden_by_path(table)
    if not hidden:
        return frozenset()
    actions = table.get_add_actions(flatten=True)
    paths = (unquote(path) for path in actions.column("path").to_pylist())
    rows = dict(zip(paths, actions.column("num_records").to_pylist(), strict=True))
    return frozenset(
        path for path, gone in hidden.items() if (held := rows.get(path)) and gone >= held
    )


def count_hidden(table: DeltaTable) -> int | None:
    """Return the number of rows that deletion vectors hide; None if they cannot be read."""
    # `deltalake` reads none of a table whose columns were widened; Spark's checksum knows the sum.
    if (deleted := _checksum_count(table, "numDeletedRecordsOpt")) is not None:
        return deleted
    hidden = _hidden_by_path(table)
    return None if hidden is None else sum(hidden.values())


def count_missing(table: DeltaTable) -> int:
    """Return the number of missing data files; a missing deletion vector counts as one."""
    root = unquote(table.table_uri).rstrip("/")
    tree = disk_at(root).listed(root)
    names = [unquote(path) for path in table.get_add_actions().column("path").to_pylist()]
    others = [name for name in names if name.startswith("/") or "://" in name]
    inside = (f"{root}/{name}" for name in names if name not in others)
    missing = sum(tree.stat(file) is None for file in inside)
    missing += sum(not disk_at(file).exists(file) for file in others)
    return missing or int(has_lost_vectors(table))


def _hidden_by_path(table: DeltaTable, *, believed: bool = True) -> dict[str, int] | None:
    from deltalake.exceptions import DeltaError

    root = unquote(table.table_uri).rstrip("/") + "/"
    hidden = {}
    try:
        for batch in _vectors(table, believed=believed):
            paths = batch.column("filepath").to_pylist()
            kept = batch.column("selection_vector").to_pylist()
            for path, vector in zip(paths, kept, strict=True):
                hidden[unquote(path).removeprefix(root)] = vector.count(False)
    except DeltaError:
        return None
    return hidden


def has_lost_vectors(table: DeltaTable) -> bool:
    """Return whether the file of a deletion vector is missing."""
    from deltalake.exceptions import DeltaError

    try:
        return any(False for _ in _vectors(table))
    except DeltaError as error:
        return "File not found" in str(error)  # else it is of a kind that deltalake does not read


def _vectors(table: DeltaTable, *, believed: bool = True) -> Iterable[RecordBatch]:
    """Return the deletion vectors; none if Spark's checksum says so and is `believed`."""
    has_none = believed and _checksum_count(table, "numDeletionVectorsOpt") == 0
    if has_none or "deletionVectors" not in (table.protocol().reader_features or ()):
        return ()
    return table.deletion_vectors()


def _checksum_count(table: DeltaTable, key: str) -> int | None:
    """Return a number of Spark's checksum file, None if it is missing or damaged."""
    number = checksum(unquote(table.table_uri).rstrip("/"), table.version()).get(key)
    return number if type(number) is int and number >= 0 else None


def _spans(actions: Table, field: LogColumn, length: int) -> list[Span | None]:
    names = set(actions.column_names)

    def values(name: str) -> list[Any]:
        return list(actions.column(name).to_pylist()) if name in names else [None] * length

    part = f"partition.{field.name}".lower()  # of mapped columns, too, not the physical name
    if found := next((name for name in names if name.lower() == part), ""):
        kind = field.kind
        return [NOWHERE if v is None else span_of(_position(v), kind=kind) for v in values(found)]
    asked = ("num_records", *(f"{of}.{field.physical}" for of in ("null_count", "min", "max")))
    return [
        field.span_between(count, none, _position(low), _position(high))
        for count, none, low, high in zip(*map(values, asked), strict=True)
    ]


def _position(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case dt.datetime():
            return (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
        case dt.date():
            return (value - _EPOCH.date()).days * _DAY
        case _:
            return None
