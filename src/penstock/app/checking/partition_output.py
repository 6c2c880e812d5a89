"""What a step of partitions writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.ground import Rows
from penstock.app.checking.output import key_of, replaced_rows
from penstock.app.checking.subject import Subject
from penstock.app.stages import Decided
from penstock.core.names import quoted
from penstock.core.ranges import Ranges
from penstock.core.relation import DeltaRead, Relation
from penstock.core.schema import Schema
from penstock.core.statement import TARGET_VIEW, Commit, Feed, Kept
from penstock.core.step import Outcome
from penstock.strategies.build import ROWS_VIEW
from penstock.strategies.partition import PartitionTable, inside, publish, replace_fed
from penstock.strategies.would_be import with_rows

_STAYS = "check_rows_that_stay"


@dataclass(frozen=True, slots=True)
class PartitionOutput:
    """The output of a step of partitions, before its commit and after it: it has no stages.

    `base_version` is that of the table before it, if any, and `stays` SQL for the rows that it
    holds before the step's own come, over the view `penstock_target`; "" for none.
    """

    subject: Subject
    table: PartitionTable
    feed: Feed
    base_version: int | None
    stays: str = ""

    @property
    def is_one_group(self) -> bool:
        """Whether it is one partition."""
        [*pieces] = self.subject.partitions
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
        return self.subject.session.keep(replace(self.feed, counts=counts), f"{folder}/rows")

    def staged(self, folder: str, decided: Decided) -> PartitionOutput:
        """Give itself."""
        del folder, decided
        return self

    def rows(self) -> Rows:
        """Give the rows of the feed, by partition."""
        key = key_of(self.subject.model)
        return Rows(f"SELECT * FROM {quoted(ROWS_VIEW)}", self.table.columns, key)

    def would_be(self) -> Rows:
        """Put the rows to those outside of the partitions."""
        subject = self.subject
        if not self.stays:
            return subject.as_table(self.rows().sql)
        uri = subject.shop.project.uri_of(subject.model.table)
        read = DeltaRead(uri, self.base_version)
        subject.session.bind([Relation(subject.this, TARGET_VIEW, read)])
        columns = subject.session.define(_STAYS, self.stays)
        kept = f"NOT coalesce({inside(self.table)}, false)"
        return subject.as_table(with_rows(_STAYS, columns, ROWS_VIEW, self.table.columns, kept))

    def commit(self, passed: Ranges) -> Commit:
        """Publish the partitions that passed."""
        return publish(self._within(passed))

    def failing(self, failed: Ranges) -> str:
        """Give the rows of the feed that lie in partitions that failed."""
        return f"{self.rows().sql} WHERE {inside(self._within(failed))}"

    def written(self, outcome: Outcome) -> Rows | None:
        """Give the rows of its partitions, even if there was nothing to do."""
        return replaced_rows(self.subject, outcome.stands_at)

    def _within(self, ranges: Ranges) -> PartitionTable:
        grid = self.subject.model.grid
        spans = tuple((grid.lower(low), grid.upper(high)) for low, high in ranges)
        return replace(self.table, spans=spans)
