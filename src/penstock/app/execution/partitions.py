"""What a step of partitions finds before it begins, and what must come before its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from penstock.app.checking.watch import Watch
from penstock.app.execution.commit import Committer, remember
from penstock.app.execution.step_state import StepState, known
from penstock.app.preparing.pins import Inputs, pin_names
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import of_range, parameter_type
from penstock.app.services.services import Services
from penstock.core.checks import OnFailure
from penstock.core.columns.schema import Schema
from penstock.core.errors import QueryError, SchemaError
from penstock.core.facts import TableFacts
from penstock.core.model import Body, Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.partitions.partition import literal_at, shown_ranges
from penstock.core.partitions.ranges import Range, Ranges, count, numbers
from penstock.core.query import with_parameters
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit
from penstock.core.steps.step import Intent, StepKind
from penstock.plan.cascade import reads_itself
from penstock.plan.evolution import check_names, refuse
from penstock.plan.obstacles import incompatible_type
from penstock.plan.table_columns import Migration, migration, target_schema, with_described
from penstock.strategies.partition import PartitionTable, Slice, check_columns, feed
from penstock.strategies.partition import replace as replace_range
from penstock.strategies.relations import bind_query, leaves_of
from penstock.strategies.reshape import (
    allow_widening,
    alter_properties,
    create_empty,
    drop_not_null,
    rewrite,
    rewritten,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A table ready for its rows: the columns it has after the build, its version before.

    `stays` is SQL, over the view `penstock_target`, for the rows that it holds then, as they will
    be; "" where it will be another table, without rows. `partition_by` is how a table lies that is
    not made or written anew, whatever the code says.
    """

    columns: Schema
    version: int | None
    changes: tuple[str, ...] = ()
    stays: str = ""
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reshaping:
    """The table of one model, brought to what the code asks for."""

    services: Services
    context: Context
    committer: Committer
    model: Model

    def require_declared(self) -> None:
        """Refuse a model that reads itself and says of no version which columns it has."""
        if target_schema(self.model) is None:
            raise SchemaError(
                "schema-needed",
                f"{self.model.name} reads its own table, so its columns must be declared",
                where=self.model.where,
                hint="write a schema",
            )

    def check(self, described: Schema) -> None:
        """Refuse names and changes of types that cannot be, before anything is written."""
        facts = self._facts()
        stays = None if facts is None or self._is_replaced(facts) else facts
        wrong = tuple(check_names(self.model, described, stays.properties if stays else None))
        refuse(wrong)
        if facts is None or stays is None:
            return
        moved = self._migration(facts, described)
        if moved.uncastable:
            raise SchemaError(
                "incompatible-type",
                f"{self.model.table}: no cast for {', '.join(moved.uncastable)}",
                where=self.model.where,
                hint="give the column another name",
            )
        if moved.breaking and not self.context.options.allow_breaking:
            raise incompatible_type(self.model, moved.breaking)

    def create(self, intent: Intent, described: Schema) -> TableFacts:
        """Make the table if it is not there, or if somebody's own stands in its place."""
        facts = self._facts()
        if facts is not None and not self._is_replaced(facts):
            return facts
        wanted = self._wanted(described)
        statement = create_empty(
            self.model, self._target, wanted, location=self._location, replaces=facts is not None
        )
        self._commit(intent, facts, statement, StepKind.CREATE)
        made = self._facts()
        if made is None:
            raise SchemaError("table-gone", f"{self.model.table} disappeared after it was made")
        return made

    @property
    def creates(self) -> bool:
        """Whether there is no table yet that rows could be written to."""
        facts = self._facts()
        return facts is None or self._is_replaced(facts)

    def foreseen(self, described: Schema) -> Shape:
        """Return the shape that `bring` will leave, at the version of now; write nothing."""
        facts = self._facts()
        if facts is None or self._is_replaced(facts):
            return Shape(self._wanted(described), facts.version if facts else None)
        moved = self._migration(facts, described)
        if self._rewrites(moved):
            columns = self._rewritten(moved)
            stays = rewritten(self.model, quoted(TARGET_VIEW), columns, facts)
            return Shape(columns, facts.version, moved.lines, stays)
        stays = f"SELECT * FROM {quoted(TARGET_VIEW)}"
        changes = (*moved.added, *moved.widened)
        return Shape(moved.schema, facts.version, changes, stays, facts.partition_by)

    def bring(self, intent: Intent, described: Schema) -> Shape:
        """Make the commits that must come before the rows; `check` has passed."""
        facts = self.create(intent, described)
        moved = self._migration(facts, described)
        if self._rewrites(moved):
            columns = self._rewritten(moved)
            statement = rewrite(
                self.model,
                self._target,
                columns,
                facts,
                uri=self.services.project.uri_of(self.model.table),
                location=self._location,
            )
            version = self._commit(intent, facts, statement, StepKind.REWRITE)
            return Shape(columns, version, moved.lines)
        statements = drop_not_null(self._target, moved.nullable)
        if moved.needs_widening_property:
            statements = (*allow_widening(self._target, facts.properties), *statements)
        statements = (*statements, *alter_properties(self._target, self.model, facts))
        base: int | None = facts.version
        for sql in statements:
            base = self._commit(intent, replace(facts, version=base or 0), Commit(sql, once=False))
        changes = (*moved.added, *moved.widened)
        return Shape(moved.schema, base, changes, partition_by=facts.partition_by)

    def _rewrites(self, moved: Migration) -> bool:
        """Whether rows that are there must be written anew before rows can come."""
        relays = bool(moved.moved)
        if self.context.options.full_refresh and not relays:  # are the records of another grid?
            known = self.services.reading.records.partitions().get(self.model.name)
            relays = known is not None and known.grid != self.model.grid
        relays = relays and self.context.options.full_refresh
        drops = bool(moved.droppable) and self.context.options.allow_breaking
        return bool(moved.breaking) or relays or drops

    def _rewritten(self, moved: Migration) -> Schema:
        return moved.dropped if self.context.options.allow_breaking else moved.schema

    def _commit(
        self,
        intent: Intent,
        facts: TableFacts | None,
        statement: Commit,
        kind: StepKind = StepKind.ALTER,
    ) -> int | None:
        base = facts.version if facts else None
        ended = self.committer.alter(replace(intent, base_version=base), statement, kind)
        remember(self.services, self.context.records, self.model.name)
        return ended.outcome.settled_version

    def _facts(self) -> TableFacts | None:
        return self.services.log.facts(self.services.project.uri_of(self.model.table))

    def _is_replaced(self, facts: TableFacts) -> bool:
        """Whether another table took the place of the one on record."""
        record = self.context.records.get(self.model.name)
        return record is not None and record.table_id not in ("", facts.table_id)

    def _wanted(self, described: Schema) -> Schema:
        declared = target_schema(self.model)
        loose = any(not version.schema.columns for version in self.model.versions)
        return with_described(declared, described) if loose or declared is None else declared

    def _migration(self, facts: TableFacts, described: Schema) -> Migration:
        return migration(self.model, self._wanted(described), facts)

    @property
    def _target(self) -> str:
        return self.services.project.sql_of(self.model.table)

    @property
    def _location(self) -> str:
        project = self.services.project
        return project.uri_of(self.model.table) if project.target.catalog else ""


_LARGE = 2**31
"""What no INT holds: Spark reads greater numbers as BIGINT."""


def ready_partitions(state: StepState) -> StepState:
    """Describe the query, bring the table to its shape, and choose the work.

    What must come before the rows (a table, a wider type) is a step of its own each, safe to stop
    after; where a gate may hold rows back it comes once they have passed.
    """
    committer, model = state.committer, state.model
    target, version = state.check_target, known(state.version)
    reshaping = Reshaping(state.services, state.context, committer, model)
    if reads_itself(model):  # Spark describes no query over a table that is not there
        with committer.rejecting(state.intent):
            reshaping.require_declared()
        reshaping.create(state.intent, Schema())
    with committer.rejecting(state.intent):
        # the model's own table, if the step reads it, may not have been there before
        names = read_by(state, known(state.body), own=True)
        own = pin_names(state.services, model, names, state.context.records, state.context.view)
        inputs = Inputs(state.inputs.reads | own.reads, (*state.inputs.pins, *own.pins))
        intent = replace(state.intent, inputs=inputs.pins)
        state = replace(state, inputs=inputs, intent=intent)
        slices, described = _slices(state)
        check_columns(model.name, known(state.body).where, version.schema, described)
        reshaping.check(described)
    bring = partial(reshaping.bring, state.intent, described)
    mode, waits, watch = OnFailure.FLAG, False, None
    if target is not None:
        mode = target.checks.mode_where(creates=reshaping.creates)
        waits = mode is OnFailure.BLOCK and target.checks.looks_after
    shape = reshaping.foreseen(described) if waits else bring()
    table = _table(state, shape, described)
    if target is not None:
        watch = Watch(
            target,
            mode,
            state.said,
            table.columns,
            feed(table, slices),
            shape.version,
            shape.stays,
            cut=table,
            prepare=(lambda: bring().version) if waits else None,
        )
    intent = replace(state.intent, base_version=shape.version)
    work = replace_range(table, slices)
    return replace(state, intent=intent, work=work, watch=watch, changes=shape.changes)


def _table(state: StepState, shape: Shape, described: Schema) -> PartitionTable:
    model, settings, grid = state.model, known(state.model.partition), state.model.grid
    return PartitionTable(
        target=state.services.project.sql_of(model.table),
        shown=str(model.table),
        field=settings.field,
        kind=settings.type,
        columns=shape.columns,
        declared=known(state.version).schema,
        described=described,
        spans=tuple((grid.lower(low), grid.upper(high)) for low, high in state.step.partitions),
        partition_by=shape.partition_by,
    )


def read_by(state: StepState, body: Body, *, own: bool) -> tuple[InputName, ...]:
    """Name what a step of partitions reads: its own table, or everything else."""
    read = leaves_of(state.services.project, body.query.inputs)
    names = dict.fromkeys((*read, *(mapping.input for mapping in body.inputs)))
    this = state.model.input_name
    return tuple(n for n in names if (n == this or n.kind is InputKind.THIS) is own)


def _slices(state: StepState) -> tuple[tuple[Slice, ...], Schema]:
    """Bind the SQL to its tables once, its parameters once per slice; give its columns.

    Each slice is a view, so that an error of Spark names a line of the user's SQL.
    """
    step, project = state.step, state.services.project
    reads, query = state.inputs.reads, known(state.body).query
    bound = bind_query(project, query, reads, state.context.run_timestamp)
    state.committer.session.bind(bound.relations)
    pieces = list(step.partitions)
    if not step.is_range:
        pieces = [(number, number) for number in numbers(step.partitions)]
    first, described = _slice(state, bound.sql, 0, pieces[0])
    together = _together(state, bound.sql, described)
    if together is not None:
        return (together,), described
    others = (_slice(state, bound.sql, *each)[0] for each in enumerate(pieces[1:], 1))
    return (first, *others), described


def _slice(state: StepState, sql: str, number: int, piece: Range) -> tuple[Slice, Schema]:
    """Define the SQL with the parameters of some neighbours."""
    settings = known(state.model.partition)
    values = of_range(settings, state.context.run_timestamp, *piece)
    view = f"{QUERY_VIEW}_{number}"
    schema = state.committer.session.define(view, with_parameters(sql, values))
    return _defined(state, view, (piece,)), schema


def _together(state: StepState, sql: str, described: Schema) -> Slice | None:
    """Define one query for all partitions, of SQL that is for one; None where that is not safe.

    Spark has the last word: the query must pass its analysis with the columns of the single one.
    """
    partitions, grid = state.step.partitions, state.model.grid
    settings = known(state.model.partition)
    if state.step.is_range or count(partitions) == 1:
        return None
    kind = parameter_type(settings)
    lowers = [grid.lower(each) for each in numbers(partitions)]
    begins = [literal_at(each, kind) for each in lowers]
    if kind == "bigint":
        if not all(abs(each) < _LARGE for each in lowers):
            return None
        kind = "int"  # as Spark reads the literals
    from penstock.strategies.one_query import one_query  # a plan loads no parser

    text = one_query(sql, settings.field, kind.upper(), begins)
    if text is None:
        return None
    view = f"{QUERY_VIEW}_all"
    try:
        found = state.committer.session.define(view, text)
    except QueryError:
        return None
    given, wanted = ([(c.name, c.type) for c in each.columns] for each in (found, described))
    return _defined(state, view, partitions) if given == wanted else None


def _defined(state: StepState, view: str, partitions: Ranges) -> Slice:
    grid = state.model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in partitions)
    return Slice(f"SELECT * FROM {quoted(view)}", spans, shown_ranges(grid, partitions))
