"""The rows that a step writes and the table it leaves, as checks get to see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.app.checking.ground import Rows
from penstock.app.checking.subject import AFTER_VIEW, Subject
from penstock.core.model import Append, Model, Table
from penstock.core.names import quoted
from penstock.core.ranges import Ranges
from penstock.core.relation import DeltaRead, Relation
from penstock.core.schema import Schema
from penstock.core.statement import (
    QUERY_VIEW,
    TARGET_VIEW,
    Commit,
    Feed,
    Kept,
    Row,
    Work,
)
from penstock.core.step import Intent, Outcome
from penstock.strategies.build import ROWS_VIEW, Build, feed_of, stored
from penstock.strategies.checks.groups import key_sql
from penstock.strategies.partition import (
    PartitionTable,
    inside,
    inside_spans,
    publish,
    replace_fed,
)
from penstock.strategies.would_be import with_rows

_ROWS = f"SELECT * FROM {quoted(ROWS_VIEW)}"


class Output(Protocol):
    """What a strategy writes, before its commit and after."""

    @property
    def is_one_group(self) -> bool:
        """Whether all its rows are one group, so that they can be observed as they pass."""
        ...

    @property
    def columns(self) -> Schema:
        """The columns under which its rows are stored, where they pass through a feed."""
        ...

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """Give the statement with its rows observed as they pass, where that is possible."""
        ...

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """Write the rows to files, once; None where they are known without."""
        ...

    def held(self, seen: Row) -> Rows:
        """Give the rows that are known before the commit."""
        ...

    def would_be(self, folder: str, seen: Row) -> Rows:
        """Make the table as it will be readable as `check_after_target`."""
        ...

    def published(self, statement: Commit, passed: Ranges) -> Commit:
        """Give the commit of the partitions that passed."""
        ...

    def failing(self, failed: Ranges, seen: Row) -> str:
        """Give SQL for the held rows of partitions that failed."""
        ...

    def written(self, intent: Intent, outcome: Outcome, folder: str, seen: Row) -> Rows | None:
        """Give the rows that the commit wrote; None where it wrote nothing."""
        ...


@dataclass(frozen=True, slots=True)
class TableOutput:
    """The output of a model that is one partition.

    `work_on` gives the step's work with another table as its target; `exists` is whether the step
    builds on a table.
    """

    subject: Subject
    build: Build
    work: Work
    work_on: Callable[[str], Work]
    base_version: int | None = None

    @property
    def is_one_group(self) -> bool:
        """See `Output.is_one_group`; rows that a MERGE is fed are counted when they are staged."""
        return self._passes_by_feed

    @property
    def columns(self) -> Schema:
        """See `Output.columns`."""
        return stored(self._stored)

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """See `Output.passing`: only an INSERT can be observed."""
        if not self._passes_by_feed:
            return statement
        feed = feed_of(self._stored)
        return replace(statement, feed=replace(feed, counts=counts) if self._adds else feed)

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """See `Output.keep`."""
        session = self.subject.session
        if self._passes_by_feed:
            return session.keep(replace(feed_of(self._stored), counts=counts), f"{folder}/rows")
        if self.work.fed_by:
            view = self.work.fed_by
            session.keep(Feed(view, f"SELECT * FROM {quoted(view)}"), f"{folder}/rows")
        return None

    def held(self, seen: Row) -> Rows:
        """See `Output.held`."""
        if self._passes_by_feed:
            return Rows(_ROWS, stored(self._stored))
        if self.work.rows is not None:
            sql = self.work.rows(seen)
            return Rows(sql, self.subject.session.describe(sql))
        return Rows(f"SELECT * FROM {quoted(QUERY_VIEW)}", self.build.query)

    def would_be(self, folder: str, seen: Row) -> Rows:
        """See `Output.would_be`."""
        subject, table = self.subject, self._stored.table
        if table is None or subject.model.is_view:
            return subject.as_table(self.held(seen).sql)
        if not self._passes_by_feed:
            return self._cloned(folder, seen)
        kept = _kept(subject.model)
        return subject.as_table(
            with_rows(TARGET_VIEW, table, ROWS_VIEW, stored(self._stored), kept)
        )

    def published(self, statement: Commit, passed: Ranges) -> Commit:
        """See `Output.published`: a table is one group, all of it passed."""
        del passed
        return replace(statement, feed=None)

    def failing(self, failed: Ranges, seen: Row) -> str:
        """See `Output.failing`."""
        del failed
        return self.held(seen).sql

    def written(self, intent: Intent, outcome: Outcome, folder: str, seen: Row) -> Rows | None:
        """See `Output.written`."""
        subject = self.subject
        if subject.model.is_view:
            return Rows(f"SELECT * FROM {quoted(QUERY_VIEW)}", self.build.query)
        if outcome.version is None:
            return None
        if self.build.table is not None and self.work.rows is not None:
            return self.held(seen)
        if self._adds:
            view = "check_added_rows"
            columns = subject.session.added(intent.uri, outcome.version, f"{folder}/added", view)
            return Rows(f"SELECT * FROM {quoted(view)}", columns)
        return whole(subject, intent, outcome)

    @property
    def _passes_by_feed(self) -> bool:
        return isinstance(self.subject.model.strategy, Append | Table)

    @property
    def _stored(self) -> Build:
        """The build whose table has the types that rows are stored with: none if it is replaced."""
        strategy = self.subject.model.strategy
        replaced = isinstance(strategy, Table) and not strategy.overwrite_partitions
        return replace(self.build, table=None) if replaced else self.build

    @property
    def _adds(self) -> bool:
        """Whether its commit is an INSERT: it adds files and rewrites none."""
        return self._passes_by_feed and self._stored.table is not None

    def _cloned(self, folder: str, seen: Row) -> Rows:
        """Run the same MERGE on a shallow clone."""
        subject = self.subject
        uri = subject.shop.project.uri_of(subject.model.table)
        clone = f"{folder}/clone"
        target = subject.session.clone(uri, self.base_version or 0, clone)
        statement = self.work_on(target).decide(seen)
        if statement is not None:
            subject.session.trial(statement)
        columns = subject.session.bind([Relation(subject.this, AFTER_VIEW, DeltaRead(clone))])
        return Rows(f"SELECT * FROM {quoted(AFTER_VIEW)}", columns[AFTER_VIEW])


@dataclass(frozen=True, slots=True)
class PartitionOutput:
    """The output of a step of partitions; `base_version` is that of the table before it, if any."""

    subject: Subject
    table: PartitionTable
    feed: Feed
    base_version: int | None

    @property
    def is_one_group(self) -> bool:
        """See `Output.is_one_group`."""
        [*pieces] = self.subject.partitions
        return len(pieces) == 1 and pieces[0][0] == pieces[0][1]

    @property
    def columns(self) -> Schema:
        """See `Output.columns`."""
        return self.table.columns

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """See `Output.passing`."""
        if not counts:
            return statement
        return replace_fed(self.table, replace(self.feed, counts=counts))

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """See `Output.keep`."""
        return self.subject.session.keep(replace(self.feed, counts=counts), f"{folder}/rows")

    def held(self, seen: Row) -> Rows:
        """See `Output.held`."""
        del seen
        return Rows(_ROWS, self.table.columns, self._key)

    def would_be(self, folder: str, seen: Row) -> Rows:
        """See `Output.would_be`."""
        del folder
        subject = self.subject
        if self.base_version is None:
            return replace(subject.as_table(self.held(seen).sql), key="")
        uri = subject.shop.project.uri_of(subject.model.table)
        read = DeltaRead(uri, self.base_version)
        columns = subject.session.bind([Relation(subject.this, TARGET_VIEW, read)])[TARGET_VIEW]
        kept = f"NOT coalesce({inside(self.table)}, false)"
        return subject.as_table(
            with_rows(TARGET_VIEW, columns, ROWS_VIEW, self.table.columns, kept)
        )

    def published(self, statement: Commit, passed: Ranges) -> Commit:
        """See `Output.published`."""
        del statement
        return publish(self._within(passed))

    def failing(self, failed: Ranges, seen: Row) -> str:
        """See `Output.failing`."""
        return f"{self.held(seen).sql} WHERE {inside(self._within(failed))}"

    def written(self, intent: Intent, outcome: Outcome, folder: str, seen: Row) -> Rows | None:
        """See `Output.written`: the rows of its partitions, even if there was nothing to do."""
        del folder, seen, intent
        settled = outcome.stands_at
        return replaced_rows(self.subject, settled)

    @property
    def _key(self) -> str:
        return key_of(self.subject.model)

    def _within(self, ranges: Ranges) -> PartitionTable:
        grid = self.subject.model.grid
        spans = tuple((grid.lower(low), grid.upper(high)) for low, high in ranges)
        return replace(self.table, spans=spans)


def key_of(model: Model) -> str:
    """Give SQL for the key of a row's partition."""
    settings = model.partition
    return key_sql(settings.grid, settings.field, settings.type) if settings else ""


def replaced_rows(subject: Subject, version: int | None) -> Rows | None:
    """Give the rows of a subject's partitions at a version of the target, by partition."""
    model, rows = subject.model, subject.at_version(version)
    if rows is None or model.partition is None:
        return rows
    grid = model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in subject.partitions)
    within = inside_spans(model.partition.field, model.partition.type, spans)
    return replace(rows, sql=f"{rows.sql} WHERE {within}", key=key_of(model))


def whole(subject: Subject, intent: Intent, outcome: Outcome) -> Rows | None:
    """Give every row of the target as the step left it."""
    settled = outcome.stands_at
    if not intent.uri:
        return subject.as_table(f"SELECT * FROM {quoted(QUERY_VIEW)}")
    return subject.at_version(settled)


def _kept(model: Model) -> str:
    """Give the condition of a row that partitions of the rows to come do not replace."""
    if not isinstance(model.strategy, Table):
        return ""
    same = " AND ".join(
        f"r.{quoted(name)} <=> {quoted(TARGET_VIEW)}.{quoted(name)}"
        for name in model.layout.partition_by
    )
    return f"NOT EXISTS (SELECT 1 FROM {quoted(ROWS_VIEW)} r WHERE {same})"
