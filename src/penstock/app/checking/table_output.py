"""What a model writes that is one partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.ground import Rows
from penstock.app.checking.output import added_rows, whole
from penstock.app.checking.subject import AFTER_VIEW, Subject
from penstock.app.stages import Decided
from penstock.core.model import Model, Table
from penstock.core.names import quoted
from penstock.core.ranges import Ranges
from penstock.core.relation import DeltaRead, Relation
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit, Feed, Kept, Work
from penstock.core.step import Outcome
from penstock.strategies.build import ROWS_VIEW, Build, feed_of, stored
from penstock.strategies.would_be import with_rows


@dataclass(frozen=True, slots=True)
class TableOutput:
    """The output of a step of a whole table.

    `work_on` gives its work with another table as target; `base_version` is that of the table that
    it builds on, if any.
    """

    subject: Subject
    build: Build
    work: Work
    work_on: Callable[[str], Work]
    base_version: int | None = None

    @property
    def is_one_group(self) -> bool:
        """Rows that a MERGE is fed are counted when they are staged."""
        return self.build.takes_feed

    @property
    def columns(self) -> Schema:
        """The columns of the query, with the types of the table."""
        return stored(self.build)

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """Only an INSERT can be observed."""
        if not self.build.takes_feed:
            return statement
        feed = feed_of(self.build)
        return replace(statement, feed=replace(feed, counts=counts if self.build.inserts else {}))

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """Write what passes through a feed, and what a MERGE is fed unless it is cut off."""
        session = self.subject.session
        if self.build.takes_feed:
            return session.keep(replace(feed_of(self.build), counts=counts), f"{folder}/rows")
        if self.work.fed_by:
            view = self.work.fed_by
            session.keep(Feed(view, f"SELECT * FROM {quoted(view)}"), f"{folder}/rows")
        return None

    def staged(self, folder: str, decided: Decided) -> StagedTable:
        """Give it with what its stages have seen."""
        return StagedTable(self, folder, decided)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """The output of a step of a whole table whose stages have run: one group."""

    output: TableOutput
    folder: str
    decided: Decided

    def rows(self) -> Rows:
        """Give the rows of the feed, of the MERGE, or of the query itself."""
        build, work = self.output.build, self.decided.work
        if build.takes_feed:
            return Rows(f"SELECT * FROM {quoted(ROWS_VIEW)}", stored(build))
        if work.rows is not None:
            sql = work.rows(self.decided.seen)
            return Rows(sql, self.output.subject.session.describe(sql))
        return Rows(f"SELECT * FROM {quoted(QUERY_VIEW)}", build.query)

    def would_be(self) -> Rows:
        """Put the rows to those that stay; a MERGE is tried on a clone."""
        subject, build = self.output.subject, self.output.build
        if build.table is None:
            return subject.as_table(self.rows().sql)
        if not build.takes_feed:
            return self._cloned()
        kept = _kept(subject.model)
        return subject.as_table(with_rows(TARGET_VIEW, build.table, ROWS_VIEW, stored(build), kept))

    def commit(self, passed: Ranges) -> Commit | None:
        """All of the one group passed; its rows lie in files."""
        del passed
        statement = self.decided.statement
        return replace(statement, feed=None) if statement else None

    def failing(self, failed: Ranges) -> str:
        """All of the one group failed."""
        del failed
        return self.rows().sql

    def written(self, outcome: Outcome) -> Rows | None:
        """Give the files that an INSERT added, what a MERGE was fed, else the whole table."""
        subject, build = self.output.subject, self.output.build
        if subject.model.is_view:
            return self.rows()
        if outcome.version is None:
            return None
        if build.table is not None and self.decided.work.rows is not None:
            return self.rows()
        if build.inserts:
            uri = subject.shop.project.uri_of(subject.model.table)
            return added_rows(subject.session, uri, outcome.version, self.folder)
        return whole(subject, outcome)

    def _cloned(self) -> Rows:
        """Run the same MERGE on a shallow clone."""
        subject = self.output.subject
        uri = subject.shop.project.uri_of(subject.model.table)
        clone = f"{self.folder}/clone"
        target = subject.session.clone(uri, self.output.base_version or 0, clone)
        statement = self.output.work_on(target).decide(self.decided.seen)
        if statement is not None:
            subject.session.trial(statement)
        columns = subject.session.bind([Relation(subject.this, AFTER_VIEW, DeltaRead(clone))])
        return Rows(f"SELECT * FROM {quoted(AFTER_VIEW)}", columns[AFTER_VIEW])


def _kept(model: Model) -> str:
    """Give the condition of a row that partitions of the rows to come do not replace."""
    if not isinstance(model.strategy, Table):
        return ""
    same = " AND ".join(
        f"r.{quoted(name)} <=> {quoted(TARGET_VIEW)}.{quoted(name)}"
        for name in model.layout.partition_by
    )
    return f"NOT EXISTS (SELECT 1 FROM {quoted(ROWS_VIEW)} r WHERE {same})"
