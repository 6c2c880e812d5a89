"""The change data feed of a history's input: whether its changes suffice, and reading them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError, TableError
from penstock.core.model import Model
from penstock.core.names import literal, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.steps.inputs import CHANGE, FEED_COLUMNS, DeltaRead, QueryRead, Relation
from penstock.plan.evolution import Evolution
from penstock.plan.history import OTHERS_WROTE, FeedRange, feed_range
from penstock.strategies.build import listed
from penstock.strategies.history.feed import (
    IMAGES,
    KEYS,
    UNCLEAR,
    changed_stage,
    ungrouped_column,
)
from penstock.strategies.relations import StepReads, bind

_WHOLE, _CHANGES = "penstock_whole_input", "penstock_changes"


@dataclass(frozen=True, slots=True)
class HistoryInputs:
    """What a step of a history table knows of its input.

    The query `replays` if it returns the same rows each time. With a change feed, `changed` keys
    are read; None if all rows are, for the reason in `remarks`.
    """

    replays: bool = False
    changed: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedLooking:
    """A step of a history before it begins, with its query and its table."""

    services: Services
    context: Context
    model: Model
    inputs: Inputs
    session: StepSession
    query: Schema
    evolution: Evolution

    def changed_rows(self, inputs: HistoryInputs) -> HistoryInputs:
        """Keep the changed rows for the step, and add the number of their keys.

        If the feed does not suffice, add why instead: the query over all rows is there, and shows
        what is wrong with them.
        """
        found = self._find(inputs)
        if isinstance(found, int):
            return replace(inputs, changed=found)
        return replace(inputs, remarks=(f"all rows were read: {found}",))

    def _find(self, inputs: HistoryInputs) -> int | str:
        record = self.context.records.get(self.model.name)
        pins = {each.input: each.pin for each in self.inputs.pins}
        options, project = self.context.options, self.services.project
        found = feed_range(project, self.model, record, pins, options)
        if isinstance(found, str):
            return found
        if obstacle := self._obstacle(replays=inputs.replays):
            return obstacle
        try:
            return self._read(found)
        except (TableError, QueryError, DataError) as error:
            return f"{found} cannot be read: {error.sentence}"

    def _obstacle(self, *, replays: bool) -> str:
        """Return what of the table or the query forbids it, "" if nothing does."""
        record = self.context.records.get(self.model.name)
        made = record.commit_version if record else None
        if made is None:
            return "no run wrote its table"
        # untouched keys have their version only if nothing but the last run changed the table
        uri, store = self.services.project.uri_of(self.model.table), self.services.store_id
        commits = self.services.log.commits(uri, made - 1, partial=True)
        changes = [each for each in commits if each.changes_data]
        moved = [each for each in changes if each.restored is not None or each.cloned]
        ours = [each for each in changes if each.store == store and each not in moved]
        if [each.version for each in changes] != [made] or changes != ours:
            return OTHERS_WROTE
        if self.evolution.widened:
            return f"column {self.evolution.widened[0]} is widened"
        if column := ungrouped_column(self.query):
            return column
        reads = [*self.inputs.reads.values()]
        if any(isinstance(each, DeltaRead) and each.tombstones for each in reads):
            return "it reads a history without its tombstones"
        rows = "its query does not make each row out of one row, without user code"
        return "" if replays else rows

    def _read(self, changes: FeedRange) -> int | str:
        name, read = next(
            (name, read) for name, read in self.inputs.reads.items() if name.name == changes.input
        )
        if not isinstance(read, DeltaRead):
            return f"{changes.input} is not a Delta table"
        feed = replace(read, version=changes.upto, changes_since=changes.since)
        relations = [Relation(name, _WHOLE, read), Relation(name, _CHANGES, feed)]
        schemas = self.session.bind(relations)
        of_feed = [(c.name, c.type) for c in schemas[_CHANGES].columns]
        columns = [(c.name, c.type) for c in schemas[_WHOLE].columns]
        if [each for each in of_feed if each[0] not in FEED_COLUMNS] != columns:
            return f"{changes} have other columns"
        names = listed(schemas[_WHOLE].names)
        for view, kinds in IMAGES.items():
            images = ", ".join(literal(kind) for kind in kinds)
            rows = f"SELECT {names} FROM {quoted(_CHANGES)} WHERE {quoted(CHANGE)} IN ({images})"
            reads = StepReads({name: QueryRead(rows)}, self.context.run_timestamp, prefix=view)
            bound = bind(self.services.project, self.model, reads, {}, incremental=True)
            self.session.bind(bound.relations)
            self.session.define(view, bound.sql)
        row = self.session.stage(changed_stage(self.model.strategy.keys, self.query))
        if row[UNCLEAR]:
            return f"{row[UNCLEAR]} keys have several changed rows"
        return int(row[KEYS] or 0)
