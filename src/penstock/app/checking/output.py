"""The rows that a step writes and the table it leaves, as checks get to see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.inputs import CheckedRows
from penstock.app.checking.target import AFTER_VIEW, CheckTarget
from penstock.app.preparing.statements import DecidedStatement
from penstock.core.columns.schema import Schema
from penstock.core.model import Model
from penstock.core.names import quoted
from penstock.core.partitions.ranges import Ranges, count
from penstock.core.ports.engine import StepSession
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit, Feed, StagedRows, Work
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Outcome
from penstock.strategies.build import ROWS_VIEW, with_rows
from penstock.strategies.checks.partitions import key_sql
from penstock.strategies.partition import PartitionTable, inside, inside_spans, publish, replace_fed

_ADDED = "check_added_rows"
_STAYS = "check_rows_that_stay"


def replaced_rows(target: CheckTarget, version: int | None) -> CheckedRows | None:
    """Give the rows of a step's partitions at a version of the target, by partition."""
    model, rows = target.model, target.at_version(version)
    if rows is None or model.partition is None:
        return rows
    grid = model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in target.partitions)
    within = inside_spans(quoted(model.partition.field), model.partition.type, spans)
    return CheckedRows(f"{rows.sql} WHERE {within}", rows.columns, _key_of(model))


def added_rows(session: StepSession, uri: str, version: int, folder: str) -> CheckedRows:
    """Give the rows of the files that one commit added; `folder` is the step's own."""
    columns = session.beside.added(uri, version, f"{folder}/added", _ADDED)
    return CheckedRows.of_view(_ADDED, columns)


def whole(target: CheckTarget, outcome: Outcome) -> CheckedRows | None:
    """Give every row of the target as the step left it."""
    if target.model.is_view:
        return target.as_table(f"SELECT * FROM {quoted(QUERY_VIEW)}")
    return target.at_version(outcome.stands_at)


def _key_of(model: Model) -> str:
    """Give SQL for the key of a row's partition, "" for the one partition `*`."""
    settings = model.partition
    return key_sql(settings.grid, settings.field, settings.type) if settings else ""


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a step writes, as it is known once its stages have run, and after its commit.

    A whole table is the one partition `*`: nothing is cut out of it. `feed` are the rows where
    they pass through its view, and `columns` those under which they are stored; without one they
    are those of the query or of a MERGE. `version` is that of the table before the step, None
    without one; `before` SQL for the rows that it holds, over the view `penstock_target`, "" where
    none stays. `cut` are the partitions that the step replaces. `inserts` is whether its commit
    adds the files of its rows. `work_on` gives its work with another table as target.
    """

    target: CheckTarget
    columns: Schema
    feed: Feed | None
    version: int | None
    before: str = ""
    cut: PartitionTable | None = None
    inserts: bool = False
    work_on: Callable[[str], Work] | None = None

    @property
    def is_one_group(self) -> bool:
        """Whether its rows can be observed as they pass: those of a MERGE are counted staged."""
        return self.feed is not None and count(self.target.partitions) == 1

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """Give the statement with its rows observed as they pass, where that is possible."""
        if self.feed is None:
            return statement
        if self.cut is not None:
            fed = replace(self.feed, counts=counts)
            return replace_fed(self.cut, fed) if counts else statement
        # Spark tells what it observed of an INSERT, of no CREATE.
        return replace(statement, feed=replace(self.feed, counts=counts if self.inserts else {}))

    def keep(
        self, folder: str, decided: DecidedStatement, counts: Mapping[str, str]
    ) -> StagedRows | None:
        """Write the rows to files, once; None where they are known without."""
        beside, fed_by = self.target.session.beside, decided.work.fed_by
        if self.feed is not None:
            return beside.keep(replace(self.feed, counts=counts), f"{folder}/rows")
        if fed_by:  # what a MERGE is fed, unless it is cut off from its query already
            beside.keep(Feed(fed_by, f"SELECT * FROM {quoted(fed_by)}"), f"{folder}/rows")
        return None

    def rows(self, decided: DecidedStatement) -> CheckedRows:
        """Give the rows that are known before the commit: of the feed, the MERGE, or the query."""
        if self.feed is not None:
            key = _key_of(self.target.model)
            return CheckedRows.of_view(ROWS_VIEW, self.columns, key)
        if decided.work.rows is not None:
            sql = decided.work.rows(decided.seen)
            return CheckedRows(sql, self.target.session.describe(sql))
        return CheckedRows.of_view(QUERY_VIEW, self.columns)

    def would_be(self, folder: str, decided: DecidedStatement) -> CheckedRows:
        """Make the table as it will be readable as `check_after_target`.

        Its rows are put to those that stay; a MERGE is tried on a clone.
        """
        if not self.before:
            return self.target.as_table(self.rows(decided).sql)
        if self.feed is None:
            return self._cloned(folder, decided)
        if self.cut is not None:  # a table's own step has bound the view that a partition's has not
            self._bind(TARGET_VIEW, DeltaRead(self._uri, self.version))
        columns = self.target.session.define(_STAYS, self.before)
        model = self.target.model
        stays = (
            f"NOT coalesce({inside(self.cut)}, false)"
            if self.cut
            else model.strategy.staying(model.layout, ROWS_VIEW, _STAYS)
        )
        return self.target.as_table(with_rows(_STAYS, columns, ROWS_VIEW, self.columns, stays))

    def commit(self, passed: Ranges, decided: DecidedStatement) -> Commit | None:
        """Give the commit of the partitions that passed; a view over path tables needs none."""
        if self.cut is not None:
            return publish(self._within(self.cut, passed))
        statement = decided.statement  # all of the one group passed; its rows lie in files
        return replace(statement, feed=None) if statement else None

    def failing(self, failed: Ranges, decided: DecidedStatement) -> str:
        """Give SQL for the rows of partitions that failed."""
        where = f" WHERE {inside(self._within(self.cut, failed))}" if self.cut else ""
        return self.rows(decided).sql + where

    def written(
        self, folder: str, decided: DecidedStatement, outcome: Outcome
    ) -> CheckedRows | None:
        """Give the rows that the commit wrote; None where it wrote nothing.

        Of partitions they are those that lie there, even if there was nothing to do; else the files
        that an INSERT added, what a MERGE was fed, or the whole table.
        """
        if self.cut is not None:
            return replaced_rows(self.target, outcome.stands_at)
        if self.target.model.is_view:
            return self.rows(decided)
        if outcome.version is None:
            return None
        if self.before and decided.work.rows is not None:
            return self.rows(decided)
        if self.inserts:
            return added_rows(self.target.session, self._uri, outcome.version, folder)
        return whole(self.target, outcome)

    @property
    def _uri(self) -> str:
        return self.target.services.project.uri_of(self.target.model.table)

    def _bind(self, view: str, read: DeltaRead) -> Schema:
        return self.target.session.bind([Relation(self.target.this, view, read)])[view]

    def _within(self, cut: PartitionTable, ranges: Ranges) -> PartitionTable:
        grid = self.target.model.grid
        return replace(
            cut, spans=tuple((grid.lower(low), grid.upper(high)) for low, high in ranges)
        )

    def _cloned(self, folder: str, decided: DecidedStatement) -> CheckedRows:
        """Run the same MERGE on a shallow clone."""
        session, clone = self.target.session, f"{folder}/clone"
        table = session.beside.clone(self._uri, self.version or 0, clone)
        statement = self.work_on(table).decide(decided.seen) if self.work_on else None
        if statement is not None:
            session.trial(statement)
        columns = self._bind(AFTER_VIEW, DeltaRead(clone))
        return CheckedRows.of_view(AFTER_VIEW, columns)
