"""Places of the tables of a lake, as a test tells them: which files each commit added and removed.

What is not told can be anywhere, so a test tells only the commits that it is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fakes.lake import FakeLake
from penstock.core.errors import TableError
from penstock.core.facts import LogCommit, Touched
from penstock.core.partitions.partition import FIRST, LAST, Span, position
from penstock.core.steps.step import PartitionRows

DAY = 86_400_000_000


@dataclass(frozen=True)
class FakeFile:
    """A data file: its columns' least and greatest values; None where all are NULL.

    A column that is not named has no statistics. `hidden` rows are behind a deletion vector.
    """

    path: str
    bounds: Mapping[str, tuple[str, str] | None] = field(default_factory=dict)
    rows: int = 1
    size: int = 100
    hidden: int = 0


@dataclass(frozen=True)
class _Change:
    added: tuple[FakeFile, ...]
    removed: tuple[str, ...]


@dataclass
class FakePlaces:
    """The `Places` over a lake; `partition_by` gives a table's partition column by its folder."""

    lake: FakeLake
    partition_by: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    spoken: defaultdict[str, dict[int, frozenset[str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _changes: defaultdict[str, dict[int, _Change]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def tell(self, uri: str, version: int, *added: FakeFile, removed: Sequence[str] = ()) -> None:
        """Tell what a commit of the lake did; a path that is removed may be added again."""
        self._changes[uri][version] = _Change(added, tuple(removed))

    def readable(self, uri: str, versions: Iterable[int]) -> frozenset[int]:
        return frozenset(versions) - self.lake.tables[uri].gone - self.lake.tables[uri].vacuumed

    def touched(
        self,
        uri: str,
        after: int,
        columns: Mapping[str, str],
        *,
        upto: int | None = None,
        partial: bool = False,
    ) -> tuple[Touched, ...]:
        commits = self.lake.log.commits(uri, after, partial=partial)
        return tuple(
            Touched(c.version, c.time, c.operation, c.step, c.store, c.user, spans)
            for c in commits
            if (upto is None or c.version <= upto)
            and (spans := self._spans(uri, c, columns)) is not None
        )

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        change = self._changes[uri].get(self._commit(uri, version).version)
        if change is None or self.partition_by.get(uri, "").lower() != column.lower():
            return None
        found: dict[int, PartitionRows] = {}
        for file in change.added:
            span = self._span(uri, file, column, kind)
            if span is not None and span[0] < span[1]:
                before = found.get(span[0], PartitionRows(span[0], 0, 0))
                rows = (before.rows or 0) + file.rows - file.hidden
                size = (before.size_bytes or 0) + file.size
                found[span[0]] = PartitionRows(span[0], rows, size)
        return found

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        table = self.lake.tables.get(uri)
        if table is None:
            return ()
        files = self._live(uri, len(table.commits) - 1)
        if files is None:
            return ((FIRST, LAST),)
        shown = (file for file in files if file.hidden < file.rows)
        spans = (self._span(uri, file, column, kind) for file in shown)
        return apart((FIRST, LAST) if span is None else span for span in spans)

    def learn(self, uri: str, version: int, *features: str) -> None:
        """Let readers have to know these features too, from a version on."""
        self.spoken[uri][version] = frozenset(features)

    def features(self, uri: str, version: int | None = None) -> frozenset[str]:
        last = len(self.lake.tables[uri].commits) - 1 if version is None else version
        self._commit(uri, last)
        known = (each for since, each in self.spoken[uri].items() if since <= last)
        return frozenset().union(*known)

    def missing_files(self, uri: str, version: int) -> int:
        self._commit(uri, version)
        files = self._live(uri, version) or ()
        return sum(file.path in self.lost for file in files)

    def _commit(self, uri: str, version: int) -> LogCommit:
        table = self.lake.tables.get(uri)
        if table is None or version >= len(table.commits):
            raise TableError("log-gap", f"version {version} of the log is gone")
        return table.entry(version)

    def _spans(
        self, uri: str, commit: LogCommit, columns: Mapping[str, str]
    ) -> Mapping[str, tuple[Span, ...] | None] | None:
        """Give None for a commit that changed no rows."""
        change = self._changes[uri].get(commit.version)
        if commit.table_id and commit.version > 0:
            return dict.fromkeys(columns)
        if not commit.changes_data or (change and not change.added and not change.removed):
            return None
        if change is None:
            return dict.fromkeys(columns)
        known = self._known(uri)
        files = [*change.added, *(known.get(path, FakeFile(path)) for path in change.removed)]
        given: dict[str, tuple[Span, ...] | None] = {}
        for name, kind in columns.items():
            found = [self._span(uri, file, name, kind) for file in files]
            given[name] = None if None in found else apart(span for span in found if span)
        return given

    def _known(self, uri: str) -> Mapping[str, FakeFile]:
        changes = self._changes[uri].values()
        return {file.path: file for change in changes for file in change.added}

    def _live(self, uri: str, version: int) -> tuple[FakeFile, ...] | None:
        """Give the files of a version; None if a commit is not told."""
        live: dict[str, FakeFile] | None = {}
        for commit in self.lake.tables[uri].commits[: version + 1]:
            if commit.table_id:
                live = {}
            change = self._changes[uri].get(commit.version)
            if change is None:
                live = None if commit.changes_data else live
            elif live is not None:
                live = {path: f for path, f in live.items() if path not in change.removed}
                live |= {file.path: file for file in change.added}
        return None if live is None else tuple(live.values())

    def _span(self, uri: str, file: FakeFile, column: str, kind: str) -> Span | None:
        named = {name.lower(): bounds for name, bounds in file.bounds.items()}
        if column.lower() not in named:
            return None
        bounds = named[column.lower()]
        if bounds is None or not file.rows:
            return (0, 0)
        low, high = (position(text, kind) for text in bounds)
        if low is None or high is None:
            return None
        exact = self.partition_by.get(uri, "").lower() == column.lower()
        cut = 1 if exact or not kind.startswith("timestamp") else 1000
        return low, high + (DAY if kind == "date" else cut)


def apart(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Give spans rising and merged, empty ones left out."""
    found: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)
