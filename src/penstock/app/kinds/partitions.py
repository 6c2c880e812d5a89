"""Partitions of a table: which ones a step builds, and what must precede their rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from penstock.app.checking.watch import Watch
from penstock.app.execution.reshaping import Reshaping, Shape
from penstock.app.execution.step_state import Share, StepRun, StepState, need, open_session
from penstock.app.kinds import tables
from penstock.app.kinds.tables import renewed_step
from penstock.app.preparing.pins import Inputs, pin_names
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import of_range, parameter_type
from penstock.app.services.services import Services
from penstock.core.checks.check import OnFailure
from penstock.core.columns.schema import Schema
from penstock.core.errors import QueryError
from penstock.core.model import Model
from penstock.core.names import InputKind, quoted
from penstock.core.partitions.mapping import downstream
from penstock.core.partitions.partition import Grid, literal_at, shown_ranges, write_ranges
from penstock.core.partitions.ranges import (
    Range,
    Ranges,
    count,
    difference,
    intersection,
    numbers,
    union,
)
from penstock.core.project import read_uri
from penstock.core.query import with_parameters
from penstock.core.statement import QUERY_VIEW
from penstock.core.steps.step import Intent
from penstock.plan.cascade import mapped_to, reads_itself
from penstock.plan.changes import touched_since
from penstock.plan.resolve import Segment
from penstock.plan.values import Step
from penstock.plan.work import PartitionsWork
from penstock.strategies.partition import PartitionTable, Slice, check_columns, feed
from penstock.strategies.partition import replace as replace_range
from penstock.strategies.relations import bind_query, query_tables

note_success = tables.note_success


_LARGE = 2**31
"""The first number that no INT holds: Spark reads greater numbers as BIGINT."""


def prepare(state: StepState) -> StepState:
    """Describe the query, reshape the table, and choose the work.

    Changes that must precede the rows (a table, a wider type) are separate steps, safe to stop
    after; if a gate may hold rows back, they run once the rows have passed.
    """
    run, target = state.run, state.check_target
    services, committer, model, segment = run.services, run.committer, run.model, need(run.segment)
    reshaping = Reshaping(services, run.context, committer, model)
    if reads_itself(model):  # Spark describes no query over a table that is not there
        with committer.rejecting(state.intent):
            reshaping.require_declared()
        reshaping.create(state.intent, Schema())
    with committer.rejecting(state.intent):
        # the model's own table, if the step reads it, may not have been there before
        own = _pin_versions(run, own=True)
        reads = {**state.inputs.reads, **own.reads}
        inputs = Inputs(reads, (*state.inputs.pins, *own.pins), state.inputs.deferred)
        intent = replace(state.intent, inputs=inputs.pins)
        state = replace(state, inputs=inputs, intent=intent)
        slices, described = _bound_slices(state)
        check_columns(model.name, segment.body.where, segment.version.schema, described)
        reshaping.check(described)
    bring = partial(reshaping.reshape, state.intent, described)
    mode, waits, watch = OnFailure.FLAG, False, None
    if target is not None:
        mode = target.checks.mode_where(creates=reshaping.is_new_table)
        waits = mode is OnFailure.BLOCK and target.checks.looks_after
    shape = reshaping.expected_shape(described) if waits else bring()
    table = _partition_table(state, shape, described)
    if target is not None:
        watch = Watch(
            target,
            mode,
            state.results,
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


def _partition_table(state: StepState, shape: Shape, described: Schema) -> PartitionTable:
    model, work = state.run.model, state.run.step.work
    settings, grid = need(model.partition), model.grid
    return PartitionTable(
        target=state.run.services.project.sql_of(model.table),
        name=str(model.table),
        field=settings.field,
        kind=settings.type,
        columns=shape.columns,
        declared=need(state.run.segment).version.schema,
        described=described,
        spans=tuple((grid.lower(low), grid.upper(high)) for low, high in work.partitions),
        partition_by=shape.partition_by,
    )


def pin_versions(run: StepRun) -> Inputs:
    """Pin the inputs except for the own table, which may not exist yet."""
    return _pin_versions(run, own=False)


def _pin_versions(run: StepRun, *, own: bool) -> Inputs:
    """Pin the own table, if the SQL reads it, or everything else."""
    services, model, body = run.services, run.model, need(run.segment).body
    read = query_tables(services.project, body.query.inputs)
    every = dict.fromkeys((*read, *(mapping.input for mapping in body.inputs)))
    this = model.input_name
    names = tuple(n for n in every if (n == this or n.kind is InputKind.THIS) is own)
    return pin_names(services, model, names, run.context.records, run.context.view)


def _bound_slices(state: StepState) -> tuple[tuple[Slice, ...], Schema]:
    """Bind the SQL to its tables once, its parameters once per slice; return its columns.

    Each slice is a view, so that an error of Spark names a line of the user's SQL.
    """
    run, work, query = state.run, state.run.step.work, need(state.run.segment).body.query
    moment = run.context.run_timestamp
    bound = bind_query(run.services.project, query, state.inputs.reads, moment)
    run.committer.session.bind(bound.relations)
    pieces = list(work.partitions)
    if not work.is_range:
        pieces = [(number, number) for number in numbers(work.partitions)]
    first, described = _bound_slice(state, bound.sql, 0, pieces[0])
    together = _combined_slice(state, bound.sql, described)
    if together is not None:
        return (together,), described
    others = (_bound_slice(state, bound.sql, *each)[0] for each in enumerate(pieces[1:], 1))
    return (first, *others), described


def _bound_slice(state: StepState, sql: str, number: int, piece: Range) -> tuple[Slice, Schema]:
    """Create a view of the SQL with the parameters of some neighbouring partitions."""
    settings = need(state.run.model.partition)
    values = of_range(settings, state.run.context.run_timestamp, *piece)
    view = f"{QUERY_VIEW}_{number}"
    schema = state.run.committer.session.define(view, with_parameters(sql, values))
    return _defined_slice(state, view, (piece,)), schema


def _combined_slice(state: StepState, sql: str, described: Schema) -> Slice | None:
    """Create one query for all partitions from SQL for one; return None if that is not safe.

    Spark has the last word: its analysis must give the columns of the single query.
    """
    partitions, grid = state.run.step.partitions, state.run.model.grid
    settings = need(state.run.model.partition)
    if state.run.step.work.is_range or count(partitions) == 1:
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
        found = state.run.committer.session.define(view, text)
    except QueryError:
        return None
    given, wanted = ([(c.name, c.type) for c in each.columns] for each in (found, described))
    return _defined_slice(state, view, partitions) if given == wanted else None


def _defined_slice(state: StepState, view: str, partitions: Ranges) -> Slice:
    grid = state.run.model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in partitions)
    return Slice(f"SELECT * FROM {quoted(view)}", spans, shown_ranges(grid, partitions))


def share_of(services: Services, context: Context, step: Step) -> Share:
    """Divide a step of partitions.

    Partitions that read failed ones are not built, and count as failed for their readers.
    Partitions that were planned only because something upstream would change are skipped if it did
    not.
    """
    model = context.project.models[step.model]
    here = step.work.segments(model)
    blocked = intersection(mapped_to(context.project, model, here, context.failed), step.partitions)
    left = difference(step.partitions, blocked)
    idle: Ranges = ()
    if step.reason.pending:
        moved = _stale(services, context, model, here)
        idle = difference(left, moved)
        left = difference(left, idle)
    found = Share(_split_step(step, left), _split_step(step, blocked), _split_step(step, idle))
    for each in found.blocked:
        context.fail(each)
    return found


def _stale(services: Services, context: Context, model: Model, here: tuple[Segment, ...]) -> Ranges:
    """Return the partitions that read rows which this run changed; for a whole table by its log."""
    bases = context.bases
    cut = {name: ranges for name, ranges in context.changed.items() if name not in bases}
    found = mapped_to(context.project, model, here, cut)
    for segment in here:
        for mapping in segment.body.inputs:
            name, column = mapping.input.name, mapping.column
            if name in bases:
                uri = read_uri(services.project, mapping.input)
                facts = services.log.facts(uri)
                known = facts.schema.find(column) if facts is not None and column else None
                kinds = {column: known.type} if known is not None else {}
                commits = services.places.touched(uri, bases[name], kinds)
                spans = touched_since(commits, bases[name], column)
                below = downstream(mapping.mapping, model.grid, (segment.range,), spans, Grid())
                found = union(found, below)
    return found


def _split_step(step: Step, ranges: Ranges) -> tuple[Step, ...]:
    """Return the step for some of its partitions; a step over a range needs them without gaps."""
    if ranges == step.partitions:
        return (step,)
    return tuple(step.of((piece,)) for piece in ranges)


def step_to_run(services: Services, context: Context, step: Step) -> Step | str:
    """Return the step; partitions without work were left out before."""
    del services, context
    return step


def replan(services: Services, context: Context, step: Step) -> Step | None:
    """Continue with the partitions that still drift, or that were requested."""
    forced = step.trigger == "backfill" or context.options.full_refresh
    return renewed_step(services, context, step, forced=forced)


def complete_intent(run: StepRun, intent: Intent) -> Intent:
    """Add the partitions to the intent; a step that runs in parallel gets its own lane."""
    work = run.step.work
    keys = write_ranges(work.grid, work.partitions)
    at_once = isinstance(work, PartitionsWork) and work.at_once
    return replace(intent, grid=work.grid, partitions=keys, lane=keys[0] if at_once else "")


def inspect(state: StepState) -> StepState:
    """Open the session; SQL that reads its own table is described once the table exists."""
    return replace(state, run=open_session(state.run))
