"""One step of a model with partitions: pin, describe, reshape the table, replace the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.gates import Ahead, look_ahead, look_at_views
from penstock.app.checking.output import StepOutput
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import Watch
from penstock.app.execution.building import build
from penstock.app.execution.commit import Committer, Ended
from penstock.app.execution.reshaping import Reshaping, Shape
from penstock.app.observation.inputs import Inputs, pin_names
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import intent_of, of_range, parameter_type
from penstock.app.services.services import Services
from penstock.core.checks import OnFailure
from penstock.core.engine_ports import StepSession
from penstock.core.errors import QueryError
from penstock.core.model import Body, Model, Partition, Version
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.partition import Span, literal_at, shown_ranges, write_ranges
from penstock.core.query import with_parameters
from penstock.core.ranges import Range, Ranges, count, numbers
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW
from penstock.core.step import Intent
from penstock.plan.cascade import reads_itself
from penstock.plan.resolve import body_of
from penstock.plan.values import Step
from penstock.strategies.one_query import one_query
from penstock.strategies.partition import PartitionTable, Slice, check_columns, feed
from penstock.strategies.partition import replace as replace_range
from penstock.strategies.relations import bind_query, leaves_of

_LARGE = 2**31
"""What no INT holds: Spark reads greater numbers as BIGINT."""


@dataclass(frozen=True, slots=True)
class Job:
    """A step with what it is about."""

    services: Services
    context: Context
    step: Step
    model: Model
    settings: Partition
    version: Version
    body: Body

    @property
    def spans(self) -> tuple[Span, ...]:
        """The positions of the ranges that are replaced."""
        grid = self.model.grid
        return tuple((grid.lower(low), grid.upper(high)) for low, high in self.step.partitions)


def execute_partitions(
    services: Services, context: Context, step: Step, held: Ahead | None = None
) -> Ended:
    """Do one step of partitions: at most one commit changes rows.

    What must come before it (a table, a wider type) is a step of its own each, safe to stop after;
    where a gate may hold rows back it comes once they have passed. An error before `begin` is
    recorded for every partition of the step. What is `held` was said ahead of it already.
    """
    job = _job(services, context, step)
    model = job.model
    committer = Committer(services, context, job.body.where, step.planned_on)
    intent = _intended(job)
    committer.await_target(intent)
    with committer.rejecting(intent):
        inputs = held.inputs if held else _pinned(job, intent)
        intent = replace(intent, inputs=inputs.pins)
    with services.engine.session(model.name, job.body.where) as session:
        reshaping = Reshaping(services, context, committer, session, model)
        with committer.rejecting(intent):
            target = _check_target(job, session, inputs)
            told = held.results if held else look_ahead(target, intent)
        if reads_itself(model):
            with committer.rejecting(intent):
                reshaping.require_declared()
            reshaping.create(intent, Schema())
        with committer.rejecting(intent):
            inputs = _with_own(job, inputs)
            intent = replace(intent, inputs=inputs.pins)
            slices, described = _slices(job, session, inputs)
            check_columns(model.name, job.body.where, job.version.schema, described)
            reshaping.check(described)
        mode = target.checks.mode_where(creates=reshaping.creates)
        waits = mode is OnFailure.BLOCK and target.checks.looks_after
        bring = partial(reshaping.bring, intent, described)
        shape = reshaping.foreseen(described) if waits else bring()
        table = _table(job, shape, described)
        watch = None
        if not target.checks.is_empty:
            fed = feed(table, slices)
            output = StepOutput(target, table.columns, fed, shape.version, shape.stays, table)
            watch = Watch(output, mode, told, (lambda: bring().version) if waits else None)
        intent = replace(intent, base_version=shape.version)
        work = replace_range(table, slices)
        ended = build(committer, session, intent, work, watch=watch)
    return replace(ended, schema_changes=shape.changes)


def _intended(job: Job) -> Intent:
    partitions = write_ranges(job.model.grid, job.step.partitions)
    return replace(
        intent_of(job.services, job.context, job.step, job.model),
        fingerprint=job.body.fingerprint,
        grid=job.model.grid,
        partitions=partitions,
        lane=partitions[0] if job.step.at_once else "",
    )


def _table(job: Job, shape: Shape, described: Schema) -> PartitionTable:
    return PartitionTable(
        target=job.services.project.sql_of(job.model.table),
        shown=str(job.model.table),
        field=job.settings.field,
        kind=job.settings.type,
        columns=shape.columns,
        declared=job.version.schema,
        described=described,
        spans=job.spans,
        partition_by=shape.partition_by,
    )


def _check_target(job: Job, session: StepSession, inputs: Inputs) -> CheckTarget:
    options = job.context.options
    return CheckTarget(
        services=job.services,
        context=job.context,
        session=session,
        model=job.model,
        checks=checks_of_step(job.services.project, job.model, job.version.number, options),
        inputs=inputs,
        partitions=job.step.partitions,
        body=job.body,
    )


def _job(services: Services, context: Context, step: Step) -> Job:
    model = context.project.models[step.model]
    version, body = body_of(model, step.version, step.revision)
    if model.partition is None:
        raise TypeError(f"{model.name} has no partitions")
    return Job(services, context, step, model, model.partition, version, body)


def _pinned(job: Job, intent: Intent) -> Inputs:
    """Pin what the step reads besides its own table, which may not be there yet.

    Views are looked at as they are pinned; see `look_at_views`.
    """
    inputs, step = _pins(job, [name for name in _names(job) if not _is_own(job, name)]), job.step
    look_at_views(job.services, job.context, step.key, intent, inputs, step.partitions)
    return inputs


def _with_own(job: Job, inputs: Inputs) -> Inputs:
    """Add the model's own table, if the step reads it, to what was pinned."""
    own = _pins(job, [name for name in _names(job) if _is_own(job, name)])
    return Inputs(inputs.reads | own.reads, (*inputs.pins, *own.pins))


def _is_own(job: Job, name: InputName) -> bool:
    return name == InputName(InputKind.MODEL, job.model.name) or name.kind is InputKind.THIS


def _names(job: Job) -> dict[InputName, None]:
    names = dict.fromkeys(leaves_of(job.services.project, job.body.query.inputs))
    return names | dict.fromkeys(mapping.input for mapping in job.body.inputs)


def _pins(job: Job, names: Sequence[InputName]) -> Inputs:
    context = job.context
    return pin_names(job.services, job.model, tuple(names), context.records, context.view)


def _slices(job: Job, session: StepSession, inputs: Inputs) -> tuple[tuple[Slice, ...], Schema]:
    """Bind the SQL to its tables once, its parameters once per slice; give its columns.

    Each slice is a view, so that an error of Spark names a line of the user's SQL.
    """
    bound = bind_query(
        job.services.project, job.body.query, inputs.reads, job.context.run_timestamp
    )
    session.bind(bound.relations)
    pieces = list(job.step.partitions)
    if not job.step.is_range:
        pieces = [(number, number) for number in numbers(job.step.partitions)]
    first, described = _slice(job, session, bound.sql, 0, pieces[0])
    together = _together(job, session, bound.sql, described)
    if together is not None:
        return (together,), described
    others = (_slice(job, session, bound.sql, *each)[0] for each in enumerate(pieces[1:], 1))
    return (first, *others), described


def _slice(
    job: Job, session: StepSession, sql: str, number: int, piece: Range
) -> tuple[Slice, Schema]:
    """Define the SQL with the parameters of some neighbours."""
    values = of_range(job.settings, job.context.run_timestamp, *piece)
    view = f"{QUERY_VIEW}_{number}"
    schema = session.define(view, with_parameters(sql, values))
    return _defined(job, view, (piece,)), schema


def _together(job: Job, session: StepSession, sql: str, described: Schema) -> Slice | None:
    """Define one query for all partitions, of SQL that is for one; None where that is not safe.

    Spark has the last word: the query must pass its analysis with the columns of the single one.
    """
    partitions = job.step.partitions
    if job.step.is_range or count(partitions) == 1:
        return None
    kind = parameter_type(job.settings)
    begins = [literal_at(job.model.grid.lower(each), kind) for each in numbers(partitions)]
    if kind == "bigint":
        if not all(abs(job.model.grid.lower(each)) < _LARGE for each in numbers(partitions)):
            return None
        kind = "int"  # as Spark reads the literals
    text = one_query(sql, job.settings.field, kind.upper(), begins)
    if text is None:
        return None
    view = f"{QUERY_VIEW}_all"
    try:
        found = session.define(view, text)
    except QueryError:
        return None
    told, wanted = ([(c.name, c.type) for c in each.columns] for each in (found, described))
    return _defined(job, view, partitions) if told == wanted else None


def _defined(job: Job, view: str, partitions: Ranges) -> Slice:
    grid = job.model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in partitions)
    return Slice(f"SELECT * FROM {quoted(view)}", spans, shown_ranges(grid, partitions))
