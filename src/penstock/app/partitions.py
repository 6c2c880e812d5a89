"""One step of a model with partitions: pin, describe, reshape the table, replace the range."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.commit import Committer, Ended
from penstock.app.inputs import Inputs, pin_names
from penstock.app.intents import intent_of
from penstock.app.reshaping import Reshaping
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.model import Body, Model, Partition, Version
from penstock.core.names import quoted
from penstock.core.partition import Grain, literal_at, write_ranges
from penstock.core.ports import StepSession
from penstock.core.query import with_parameters
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW
from penstock.plan.cascade import reads_itself
from penstock.plan.resolve import body_of, instant
from penstock.plan.values import Step
from penstock.strategies.partition import PartitionTable, Slice, check_columns
from penstock.strategies.partition import replace as replace_range
from penstock.strategies.relations import bind_query, leaves_of


@dataclass(frozen=True, slots=True)
class Job:
    """A step with what it is about."""

    shop: Shop
    context: Context
    step: Step
    model: Model
    settings: Partition
    version: Version
    body: Body

    @property
    def lower(self) -> int:
        """The first position of the range that is replaced."""
        return self.model.grid.lower(self.step.partitions[0][0])

    @property
    def upper(self) -> int:
        """The position after its last one."""
        return self.model.grid.upper(self.step.partitions[0][1])


def execute_partitions(shop: Shop, context: Context, step: Step) -> Ended:
    """Do one step of neighbouring partitions: at most one commit changes rows.

    What must come before it (a table, a wider type) is a step of its own each, safe to stop after.
    An error before `begin` is recorded for every partition of the step.
    """
    job = _job(shop, context, step)
    model = job.model
    committer = Committer(shop, context, job.body.where, step.planned_on)
    intent = replace(
        intent_of(shop, context, step, model),
        fingerprint=job.body.fingerprint,
        grid=model.grid,
        partitions=write_ranges(model.grid, step.partitions),
    )
    with shop.engine.session(model.name, job.body.where) as session:
        reshaping = Reshaping(shop, context, committer, session, model)
        if reads_itself(model):
            with committer.rejecting(intent):
                reshaping.require_declared()
            reshaping.create(intent, Schema())
        with committer.rejecting(intent):
            inputs = _pinned(job)
            intent = replace(intent, inputs=inputs.pins)
            slices, described = _slices(job, session, inputs)
            check_columns(model.name, job.body.where, job.version.schema, described)
            reshaping.check(described)
        shape = reshaping.bring(intent, described)
        table = PartitionTable(
            target=shop.project.sql_of(model.table),
            shown=str(model.table),
            field=job.settings.field,
            kind=job.settings.type,
            columns=shape.columns,
            declared=job.version.schema,
            described=described,
            lower=job.lower,
            upper=job.upper,
        )
        intent = replace(intent, base_version=shape.version)
        ended = committer.build(session, intent, replace_range(table, slices), None)
    return replace(ended, schema_changes=shape.changes)


def _job(shop: Shop, context: Context, step: Step) -> Job:
    model = context.project.models[step.model]
    version, body = body_of(model, step.version, step.revision)
    if model.partition is None:
        raise TypeError(f"{model.name} has no partitions")
    return Job(shop, context, step, model, model.partition, version, body)


def _pinned(job: Job) -> Inputs:
    names = dict.fromkeys(leaves_of(job.shop.project, job.body.query.inputs))
    names |= dict.fromkeys(mapping.input for mapping in job.body.inputs)
    context = job.context
    return pin_names(job.shop, job.model, tuple(names), context.records, context.view)


def _slices(job: Job, session: StepSession, inputs: Inputs) -> tuple[tuple[Slice, ...], Schema]:
    """Bind the SQL to its tables once, its parameters once per slice; give its columns.

    Each slice is a view, so that an error of Spark names a line of the user's SQL.
    """
    grid = job.model.grid
    bound = bind_query(job.shop.project, job.body.query, inputs.reads, job.context.run_timestamp)
    session.bind(bound.relations)
    low, high = job.step.partitions[0]
    if job.step.is_range:
        pieces = [(low, high)]
    else:
        pieces = [(number, number) for number in range(low, high + 1)]
    slices: list[Slice] = []
    described: Schema | None = None
    for first, last in pieces:
        lower, upper = grid.lower(first), grid.upper(last)
        sql = with_parameters(bound.sql, _values(job, lower, upper))
        key = grid.key(first) if first == last else f"{grid.key(first)} to {grid.key(last)}"
        view = f"{QUERY_VIEW}_{len(slices)}"
        schema = session.define(view, sql)
        described = described or schema
        slices.append(Slice(f"SELECT * FROM {quoted(view)}", lower, upper, key))
    return tuple(slices), described or Schema()


def _values(job: Job, lower: int, upper: int) -> dict[str, str]:
    """Give every parameter as a typed literal."""
    kind = _kind(job.settings)
    day = instant(job.context.run_timestamp)
    day -= day % 86_400_000_000
    return {
        "partition_date": literal_at(lower, kind),
        "start_date": literal_at(lower, kind),
        "end_date": literal_at(upper, kind),
        "run_date": literal_at(day, "date"),
    }


def _kind(settings: Partition) -> str:
    """Give the type of the parameters: DATE, for HOUR that of the field, for RANGE an integer."""
    match settings.grid.grain:
        case Grain.HOUR:
            return settings.type
        case Grain.RANGE:
            return "bigint"
        case _:
            return "date"
