"""Logs of tables as a test writes them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, TableFacts
from penstock.core.model import Source


@dataclass
class FakeLog:
    """A `Log` over commits by URI; the id of a table is that of its last commit that has one."""

    tables: Mapping[str, tuple[LogCommit, ...]] = field(default_factory=dict)
    described: Mapping[str, TableFacts] = field(default_factory=dict)
    listings: Mapping[str, Listing] = field(default_factory=dict)

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        commits = self.tables.get(uri, ())
        return Head(commits[-1].version, commits[-1].step) if commits else None

    def facts(
        self,
        uri: str,
        *,
        counts: bool = False,
        hint: int | None = None,
        version: int | None = None,
    ) -> TableFacts | None:
        return self.described.get(uri)

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        return tuple(c for c in self.tables.get(uri, ()) if c.version > after)

    def transaction(self, uri: str, application: str) -> int:
        return 0

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        return None

    def spans(self, uri: str, version: int, column: str) -> tuple[AddedFile, ...] | None:
        return None

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        return []

    def listing(self, source: Source) -> Listing:
        if str(source.table) not in self.listings:
            raise TableError("source-missing", f"{source.path} does not exist", where=source.where)
        return self.listings[str(source.table)]
