"""The rows that a step writes and the table it leaves, as checks get to see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.app.checking.inputs import CheckedRows
from penstock.app.checking.target import AFTER_VIEW, CheckTarget
from penstock.app.preparing.statements import Decided
from penstock.core.engine_ports import StepSession
from penstock.core.inputs import DeltaRead, Relation
from penstock.core.model import Model, Table
from penstock.core.names import quoted
from penstock.core.ranges import Ranges
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit, Feed, Kept, Work
from penstock.core.step import Outcome
from penstock.strategies.build import ROWS_VIEW, Build, feed_of, stored
from penstock.strategies.checks.partitions import key_sql
from penstock.strategies.partition import PartitionTable, inside, inside_spans, publish, replace_fed
from penstock.strategies.would_be import with_rows

_ADDED = "check_added_rows"


class StagedOutput(Protocol):
    """The rows of a step whose stages have run: before its commit, and after it."""

    def rows(self) -> CheckedRows:
        """Give the rows that are known before the commit."""
        ...

    def would_be(self) -> CheckedRows:
        """Make the table as it will be readable as `check_after_target`."""
        ...

    def commit(self, passed: Ranges) -> Commit | None:
        """Give the commit of the partitions that passed; a view over path tables needs none."""
        ...

    def failing(self, failed: Ranges) -> str:
        """Give SQL for the rows of partitions that failed."""
        ...

    def written(self, outcome: Outcome) -> CheckedRows | None:
        """Give the rows that the commit wrote; None where it wrote nothing."""
        ...


class Output(Protocol):
    """What a strategy writes."""

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

    def staged(self, folder: str, decided: Decided) -> StagedOutput:
        """Give what is known once the stages have run; `folder` is the step's own."""
        ...


def key_of(model: Model) -> str:
    """Give SQL for the key of a row's partition."""
    settings = model.partition
    return key_sql(settings.grid, settings.field, settings.type) if settings else ""


def replaced_rows(check_target: CheckTarget, version: int | None) -> CheckedRows | None:
    """Give the rows of a subject's partitions at a version of the target, by partition."""
    model, rows = check_target.model, check_target.at_version(version)
    if rows is None or model.partition is None:
        return rows
    grid = model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in check_target.partitions)
    within = inside_spans(model.partition.field, model.partition.type, spans)
    return CheckedRows(f"{rows.sql} WHERE {within}", rows.columns, key_of(model))


def added_rows(session: StepSession, uri: str, version: int, folder: str) -> CheckedRows:
    """Give the rows of the files that one commit added; `folder` is the step's own."""
    columns = session.added(uri, version, f"{folder}/added", _ADDED)
    return CheckedRows(f"SELECT * FROM {quoted(_ADDED)}", columns)


def whole(check_target: CheckTarget, outcome: Outcome) -> CheckedRows | None:
    """Give every row of the target as the step left it."""
    if check_target.model.is_view:
        return check_target.as_table(f"SELECT * FROM {quoted(QUERY_VIEW)}")
    return check_target.at_version(outcome.stands_at)


_STAYS = "check_rows_that_stay"


@dataclass(frozen=True, slots=True)
class PartitionOutput:
    """The output of a step of partitions, before its commit and after it: it has no stages.

    `base_version` is that of the table before it, if any, and `stays` SQL for the rows that it
    holds before the step's own come, over the view `penstock_target`; "" for none.
    """

    check_target: CheckTarget
    table: PartitionTable
    feed: Feed
    base_version: int | None
    stays: str = ""

    @property
    def is_one_group(self) -> bool:
        """Whether it is one partition."""
        [*pieces] = self.check_target.partitions
        return len(pieces) == 1 and pieces[0][0] == pieces[0][1]

    @property
    def columns(self) -> Schema:
        """The columns that the table has after the step."""
        return self.table.columns

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """Let the rows pass through the feed if anything is observed."""
        if not counts:
            return statement
        return replace_fed(self.table, replace(self.feed, counts=counts))

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """Write what passes through the feed."""
        return self.check_target.session.keep(replace(self.feed, counts=counts), f"{folder}/rows")

    def staged(self, folder: str, decided: Decided) -> PartitionOutput:
        """Give itself."""
        del folder, decided
        return self

    def rows(self) -> CheckedRows:
        """Give the rows of the feed, by partition."""
        key = key_of(self.check_target.model)
        return CheckedRows(f"SELECT * FROM {quoted(ROWS_VIEW)}", self.table.columns, key)

    def would_be(self) -> CheckedRows:
        """Put the rows to those outside of the partitions."""
        check_target = self.check_target
        if not self.stays:
            return check_target.as_table(self.rows().sql)
        uri = check_target.services.project.uri_of(check_target.model.table)
        read = DeltaRead(uri, self.base_version)
        check_target.session.bind([Relation(check_target.this, TARGET_VIEW, read)])
        columns = check_target.session.define(_STAYS, self.stays)
        kept = f"NOT coalesce({inside(self.table)}, false)"
        return check_target.as_table(
            with_rows(_STAYS, columns, ROWS_VIEW, self.table.columns, kept)
        )

    def commit(self, passed: Ranges) -> Commit:
        """Publish the partitions that passed."""
        return publish(self._within(passed))

    def failing(self, failed: Ranges) -> str:
        """Give the rows of the feed that lie in partitions that failed."""
        return f"{self.rows().sql} WHERE {inside(self._within(failed))}"

    def written(self, outcome: Outcome) -> CheckedRows | None:
        """Give the rows of its partitions, even if there was nothing to do."""
        return replaced_rows(self.check_target, outcome.stands_at)

    def _within(self, ranges: Ranges) -> PartitionTable:
        grid = self.check_target.model.grid
        spans = tuple((grid.lower(low), grid.upper(high)) for low, high in ranges)
        return replace(self.table, spans=spans)


@dataclass(frozen=True, slots=True)
class TableOutput:
    """The output of a step of a whole table.

    `work_on` gives its work with another table as target; `base_version` is that of the table that
    it builds on, if any.
    """

    check_target: CheckTarget
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
        session = self.check_target.session
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

    def rows(self) -> CheckedRows:
        """Give the rows of the feed, of the MERGE, or of the query itself."""
        build, work = self.output.build, self.decided.work
        if build.takes_feed:
            return CheckedRows(f"SELECT * FROM {quoted(ROWS_VIEW)}", stored(build))
        if work.rows is not None:
            sql = work.rows(self.decided.seen)
            return CheckedRows(sql, self.output.check_target.session.describe(sql))
        return CheckedRows(f"SELECT * FROM {quoted(QUERY_VIEW)}", build.query)

    def would_be(self) -> CheckedRows:
        """Put the rows to those that stay; a MERGE is tried on a clone."""
        check_target, build = self.output.check_target, self.output.build
        if build.table is None:
            return check_target.as_table(self.rows().sql)
        if not build.takes_feed:
            return self._cloned()
        kept = _kept(check_target.model)
        return check_target.as_table(
            with_rows(TARGET_VIEW, build.table, ROWS_VIEW, stored(build), kept)
        )

    def commit(self, passed: Ranges) -> Commit | None:
        """All of the one group passed; its rows lie in files."""
        del passed
        statement = self.decided.statement
        return replace(statement, feed=None) if statement else None

    def failing(self, failed: Ranges) -> str:
        """All of the one group failed."""
        del failed
        return self.rows().sql

    def written(self, outcome: Outcome) -> CheckedRows | None:
        """Give the files that an INSERT added, what a MERGE was fed, else the whole table."""
        check_target, build = self.output.check_target, self.output.build
        if check_target.model.is_view:
            return self.rows()
        if outcome.version is None:
            return None
        if build.table is not None and self.decided.work.rows is not None:
            return self.rows()
        if build.inserts:
            uri = check_target.services.project.uri_of(check_target.model.table)
            return added_rows(check_target.session, uri, outcome.version, self.folder)
        return whole(check_target, outcome)

    def _cloned(self) -> CheckedRows:
        """Run the same MERGE on a shallow clone."""
        check_target = self.output.check_target
        uri = check_target.services.project.uri_of(check_target.model.table)
        clone = f"{self.folder}/clone"
        target = check_target.session.clone(uri, self.output.base_version or 0, clone)
        statement = self.output.work_on(target).decide(self.decided.seen)
        if statement is not None:
            check_target.session.trial(statement)
        columns = check_target.session.bind(
            [Relation(check_target.this, AFTER_VIEW, DeltaRead(clone))]
        )
        return CheckedRows(f"SELECT * FROM {quoted(AFTER_VIEW)}", columns[AFTER_VIEW])


def _kept(model: Model) -> str:
    """Give the condition of a row that partitions of the rows to come do not replace."""
    if not isinstance(model.strategy, Table):
        return ""
    same = " AND ".join(
        f"r.{quoted(name)} <=> {quoted(TARGET_VIEW)}.{quoted(name)}"
        for name in model.layout.partition_by
    )
    return f"NOT EXISTS (SELECT 1 FROM {quoted(ROWS_VIEW)} r WHERE {same})"
