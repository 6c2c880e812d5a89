"""What a step of partitions finds before it begins, and what must come before its rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import Watch
from penstock.app.execution.reshaping import Reshaping, Shape
from penstock.app.execution.step_state import StepState, known
from penstock.app.observation.inputs import Inputs, pin_names
from penstock.app.preparing.statements import of_range, parameter_type
from penstock.core.checks import OnFailure
from penstock.core.columns.schema import Schema
from penstock.core.errors import QueryError
from penstock.core.model import Body
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.partitions.partition import literal_at, shown_ranges
from penstock.core.partitions.ranges import Range, Ranges, count, numbers
from penstock.core.ports.engine import StepSession
from penstock.core.query import with_parameters
from penstock.core.statement import QUERY_VIEW
from penstock.core.strategy import PartitionSettings
from penstock.plan.cascade import reads_itself
from penstock.strategies.one_query import one_query
from penstock.strategies.partition import PartitionTable, Slice, check_columns, feed
from penstock.strategies.partition import replace as replace_range
from penstock.strategies.relations import bind_query, leaves_of

_LARGE = 2**31
"""What no INT holds: Spark reads greater numbers as BIGINT."""


def look(state: StepState, session: StepSession) -> StepState:
    """Say what the checks are about.

    The query is described later: SQL that reads its own table needs that to be there, and a step
    of which a gate leaves nothing makes none.
    """
    version, body = known(state.version), known(state.body)
    project, options = state.services.project, state.context.options
    checks = checks_of_step(project, state.model, version.number, options)
    if checks.is_empty:
        return state
    target = CheckTarget(
        services=state.services,
        context=state.context,
        session=session,
        model=state.model,
        checks=checks,
        inputs=state.inputs,
        partitions=state.step.partitions,
        body=body,
    )
    return replace(state, check_target=target)


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
        state = _with_own(state)
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
        fed = feed(table, slices)
        watch = Watch(
            target,
            mode,
            state.said,
            table.columns,
            fed,
            shape.version,
            shape.stays,
            cut=table,
            prepare=(lambda: bring().version) if waits else None,
        )
    intent = replace(state.intent, base_version=shape.version)
    work = replace_range(table, slices)
    return replace(state, intent=intent, work=work, watch=watch, changes=shape.changes)


def _table(state: StepState, shape: Shape, described: Schema) -> PartitionTable:
    model, settings, grid = state.model, _settings(state), state.model.grid
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


def _settings(state: StepState) -> PartitionSettings:
    return known(state.model.partition)


def read_by(state: StepState, body: Body, *, own: bool) -> tuple[InputName, ...]:
    """Name what a step of partitions reads: its own table, or everything else."""
    read = leaves_of(state.services.project, body.query.inputs)
    names = dict.fromkeys((*read, *(mapping.input for mapping in body.inputs)))
    this = state.model.input_name
    return tuple(n for n in names if (n == this or n.kind is InputKind.THIS) is own)


def _with_own(state: StepState) -> StepState:
    """Add the model's own table, if the step reads it, to what was pinned."""
    context, inputs = state.context, state.inputs
    names = read_by(state, known(state.body), own=True)
    own = pin_names(state.services, state.model, names, context.records, context.view)
    inputs = Inputs(inputs.reads | own.reads, (*inputs.pins, *own.pins))
    return replace(state, inputs=inputs, intent=replace(state.intent, inputs=inputs.pins))


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
    values = of_range(_settings(state), state.context.run_timestamp, *piece)
    view = f"{QUERY_VIEW}_{number}"
    schema = state.committer.session.define(view, with_parameters(sql, values))
    return _defined(state, view, (piece,)), schema


def _together(state: StepState, sql: str, described: Schema) -> Slice | None:
    """Define one query for all partitions, of SQL that is for one; None where that is not safe.

    Spark has the last word: the query must pass its analysis with the columns of the single one.
    """
    partitions, settings, grid = state.step.partitions, _settings(state), state.model.grid
    if state.step.is_range or count(partitions) == 1:
        return None
    kind = parameter_type(settings)
    lowers = [grid.lower(each) for each in numbers(partitions)]
    begins = [literal_at(each, kind) for each in lowers]
    if kind == "bigint":
        if not all(abs(each) < _LARGE for each in lowers):
            return None
        kind = "int"  # as Spark reads the literals
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
