"""What prevents a plan for a model: a missing source, an unbuilt upstream, its own table."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.entities.entity import ProcessType
from penstock.core.errors import PartitionSchemaError, PenstockError, SchemaError, TableError
from penstock.core.findings import Location
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.ranges import count, intersection
from penstock.core.records import DeferredModel
from penstock.plan.cascade import upstream_models
from penstock.plan.changes import is_same, sources_below
from penstock.plan.history import PROPERTY, high_time, history_refusal, not_delta, run_time_refusal
from penstock.plan.steps import Decided, Earlier, Question, Scope, Wanted
from penstock.plan.table_columns import Migration, migration, target_schema
from penstock.plan.values import Observed, Owner, Reason, State
from penstock.plan.verdict import Verdict


def foreign_table(model: Model, hint: str) -> TableError:
    """Return the error for a table that another program created."""
    return TableError(
        "foreign-table",
        f"{model.table} exists and was not built by penstock",
        where=model.where,
        hint=hint,
    )


def table_of_another_store(model: Model, owner: Owner, project: str, takes: str = "") -> TableError:
    """Return the error for a table of another state store.

    The hint names `takes`, the flags that take over the table; "" for none.
    """
    ways = ["give it another schema or alias"]
    if owner.project == project:
        ways.append("or name that store's database as `state` of the target")
    else:
        ways.append("or the target another warehouse")
    if takes:
        ways.append(
            "or take the table from them, if they no longer write it: "
            f"penstock run --select {model.name} {takes}"
        )
    return TableError(
        "table-of-another-store",
        f"{model.table} is written by {owner}, whose records are not those of this one",
        where=model.where,
        hint=", ".join(ways),
    )


def take_flags(model: Model, verdict: Verdict | None = None) -> str:
    """Return the flags with which `run` takes over a table from another store, "" if it cannot.

    Partitioned tables need their verdict.
    """
    if model.partition is None:
        return "--adopt" if model.strategy.command == "run" else ""
    return "--full-refresh --adopt" if verdict is not None and verdict.whole is None else ""


def source_mutated(
    model: Model, fingerprint: Fingerprint, built: str, where: Location, place: str = ""
) -> TableError:
    """Return the error for changed SQL of a version that has built rows."""
    return TableError(
        "source-mutated",
        f"{fingerprint.label} of {model.name} has built {built} and its SQL changed{place}",
        where=where,
        hint="add a revision, or repeat with --allow-source-mutation",
    )


def incompatible_type(model: Model, changes: Iterable[str]) -> SchemaError:
    """Return the error for type changes that need a rewrite of the table."""
    return SchemaError(
        "incompatible-type",
        f"{model.table}: {', '.join(changes)}",
        where=model.where,
        hint="--allow-breaking rewrites the table with the new types",
    )


def table_obstacle(
    question: Question, earlier: Earlier, model: Model, reason: Reason, *, reads: bool = True
) -> PenstockError | None:
    """Return what prevents a plan for an unpartitioned model; `reason` is its drift.

    It `reads` its inputs unless it is current.
    """
    error = (
        question.now.unreadable.get(model.name)
        or obstacle(question, earlier, model, reads=reads)
        or _table_refusal(question, model, reason)
    )
    record, now = question.records.get(model.name), model.fingerprint
    made = record.fingerprint if record else None
    if error or made is None or not model.immutable or question.options.allow_source_mutation:
        return error
    mutated = made.label == now.label and not is_same(made, now, question.now.meaning)
    return source_mutated(model, now, "rows", model.where) if mutated else None


def obstacle(
    question: Question, earlier: Earlier, model: Model, *, reads: bool = True
) -> PenstockError | None:
    """Return what is missing upstream of a model: a source's path, an upstream's table."""
    for name in sources_below(question.project, model) if question.now.broken else ():
        if name in question.now.broken:
            return question.now.broken[name]
    for name in upstream_models(model):
        record = question.records.get(name)
        above = earlier.get(name, Decided())
        # where the plan cannot see to a table, what reads the table is skipped
        planned = (name in question.selected or bool(above.todo)) and not above.is_unborn
        inner = question.project.models.get(name)
        is_frame = inner is not None and inner.is_view and not inner.strategy.is_written
        other = question.now.deferred.get(name)
        is_elsewhere = other is not None and (other.reads or not reads)
        is_built = record is not None and record.succeeded_once
        if is_elsewhere or is_frame or planned or is_built:
            continue
        if name in question.project.seeds:
            return TableError(
                "seed-not-loaded",
                f"{model.name} reads the seed {name}, which was never loaded",
                where=model.where,
                hint=_defer_hint(other) or "run: penstock seed",
            )
        found = _unbuilt_upstream(model, question.project.models[name])
        found.hint = _defer_hint(other) or found.hint
        return found
    return None


def _defer_hint(other: DeferredModel | None) -> str:
    """Return how to read an input where an earlier step read it, "" if none did."""
    return f"read it from there again: --defer-to {other.source.target}" if other else ""


def _unbuilt_upstream(model: Model, upstream: Model) -> TableError:
    if upstream.strategy.command != "run":
        return TableError(
            "snapshot-not-built",
            f"model {model.name!r} reads snapshot {upstream.name!r}, which has no table yet",
            where=model.where,
            hint=f"penstock snapshot run --select {upstream.name}",
        )
    wanted = f"+{model.name}" if model.strategy.command == "run" else upstream.name
    return TableError(
        "upstream-not-built",
        f"{model.name} reads {upstream.name}, which was never built",
        where=model.where,
        hint=f"run: penstock run --select {wanted}",
    )


def _foreign_obstacle(  # what either kind of table is told by
    question: Question,
    model: Model,
    state: State | None,
    because: str,
    owner: Owner | None,
    takes: str,
) -> TableError | None:
    """Return the error for a table with unrecorded changes, or of another store."""
    if state is State.UNRECORDED and because:  # nobody is on record as having made a commit
        return TableError(
            "unrecorded-commit",
            f"{model.table}: {because}",
            where=model.where,
            hint=f"penstock recover records it; if it cannot: "
            f"penstock run --select {model.name} --full-refresh",
        )
    if state is State.UNRECORDED:
        return TableError(
            "unrecorded",
            f"{model.table} was built by penstock, but the state store does not know it",
            where=model.where,
            hint="restore the records from the tables' logs: penstock state rebuild; "
            "if another state store of the project is in use, name it under `state` instead",
        )
    if owner is not None and not (takes and question.options.adopt):
        return table_of_another_store(model, owner, question.project.name, takes)
    return None


def _table_refusal(question: Question, model: Model, reason: Reason) -> PenstockError | None:
    """Return the error for a table state in which its model must not run."""
    options, is_foreign = question.options, State.FOREIGN_TABLE in reason.states
    seen = question.now.targets.get(model.name, Observed())
    if reason.state is State.UNRECORDED and seen.unrecorded and options.full_refresh:
        return None
    because = reason.detail if seen.unrecorded else ""
    takes = take_flags(model)
    error = _foreign_obstacle(question, model, reason.state, because, seen.owner, takes)
    if error is not None:
        return error
    record = question.records.get(model.name)
    if model.keeps_history:
        if options.full_refresh and not is_foreign:
            return not_delta(model, seen, record)
        adopts = bool(takes) and options.adopt
        refused = history_refusal(model, seen, record, reason, adopts=adopts)
        if refused is None and seen.there and options.strategy is ProcessType.FULL:
            sentence = f"{model.table} keeps versions, which a full load would replace"
            hint = f"penstock run --select {model.name} --full-refresh, if they are to go"
            return TableError("history-would-be-lost", sentence, where=model.where, hint=hint)
        return refused
    if is_foreign and not options.adopt:
        hint = f"to take it over: penstock run --select {model.name} --adopt"
        return foreign_table(model, hint)
    if options.full_refresh:
        return None
    return not_delta(model, seen, record) or other_partitioning(model, seen)


def in_time_order(question: Question, model: Model, decided: Decided) -> Decided:
    """Return the decision, but refuse rows of a time before the table's last."""
    options, record = question.options, question.records.get(model.name)
    if not decided.todo or options.full_refresh or options.allow_backdated:
        return decided
    facts = question.now.targets.get(model.name, Observed()).facts
    high = record.high_time if record and model.strategy.moves_forward else None
    if model.keeps_history and facts is not None:
        high = high_time(record, facts.properties.get(PROPERTY, ""))
    moment, hint = (
        decided.steps[0].work.moment,
        "give a later --processing-time, or --allow-backdated",
    )
    if moment is None:
        moment, hint = question.now.run_timestamp, "give a later --as-of, or none"
    error = run_time_refusal(model, high, moment, hint)
    return decided if error is None else Decided(error=error)


def other_partitioning(model: Model, target: Observed) -> PartitionSchemaError | None:
    """Refuse to continue with a guarded table whose partition columns differ, even in order.

    For SQL the difference is only a note: there partitions are just layout, and steps continue.
    """
    facts, wanted, window = target.facts, model.layout.partition_by, model.strategy.window
    if facts is None or window is None or not window.guarded:
        return None
    if [name.lower() for name in facts.partition_by] == [name.lower() for name in wanted]:
        return None
    is_now, said = ", ".join(facts.partition_by), ", ".join(wanted)
    return PartitionSchemaError(
        "partition-schema",
        f"{model.name!r} is partitioned by [{is_now}], the code says [{said}]",
        where=model.where,
        hint="run with full_refresh=True (--full-refresh) to rewrite the table",
    )


def refusal(question: Question, model: Model, wanted: Wanted) -> PenstockError | None:
    """Return what prevents all partitions of a model from running."""
    scope, options = question.scope, question.options
    verdict = scope.verdicts[model.name]
    if verdict.error is not None:
        return verdict.error
    because, takes = "".join(verdict.lines[:1]), take_flags(model, verdict)
    error = _foreign_obstacle(question, model, verdict.whole, because, verdict.owner, takes)
    if error is not None:
        return error
    if verdict.whole is State.FOREIGN_TABLE:
        return foreign_table(model, "move it away, or give the model another table")
    if verdict.relaid and not options.full_refresh:
        return TableError(
            "partition-layout-changed",
            f"the partitions of {model.table} were {verdict.relaid}",
            where=model.where,
            hint=f"penstock sync --select {model.name} --full-refresh rewrites the table",
        )
    if model.immutable and not options.allow_source_mutation:
        error = _mutated_partitions(model, verdict, wanted)
        if error is not None:
            return error
    moved = migration_of(model, scope)
    if moved is not None and moved.breaking and not options.allow_breaking:
        return incompatible_type(model, moved.breaking)
    return None


def migration_of(model: Model, scope: Scope) -> Migration | None:
    """Return what must happen to a table before its rows; None if it is not known yet."""
    facts, schema = scope.facts.get(model.name), target_schema(model)
    if facts is None or schema is None:
        return None
    return migration(model, schema, facts)


def _mutated_partitions(model: Model, verdict: Verdict, wanted: Wanted) -> TableError | None:
    for body, made in verdict.mutated:
        total = count(intersection(made, wanted.partitions))
        if not total:
            continue
        word = "partition" if total == 1 else "partitions"
        place = body.source if body.source.endswith(".sql") else body.where
        fingerprint = body.fingerprint
        return source_mutated(model, fingerprint, f"{total:,} {word}", body.where, f" ({place})")
    return None
