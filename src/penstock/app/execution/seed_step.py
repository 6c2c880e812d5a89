"""One seed as a step: how it differs from its table, and the one commit that loads it."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.app.execution.commit import Committer, Ended
from penstock.app.observation.observe import observe_target, unreadable_error
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import decide
from penstock.app.services.services import Services
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError
from penstock.core.model import Fingerprint, Model, Seed
from penstock.core.names import quoted
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.core.records import ModelRecord
from penstock.core.statement import QUERY_VIEW, Work
from penstock.core.steps.inputs import FilesRead, Relation
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Build
from penstock.plan.cascade import read_through_views
from penstock.plan.evolution import check_query, raise_all
from penstock.plan.kinds.tables import detect_table_drift
from penstock.plan.obstacles import foreign_table, table_of_another_store
from penstock.plan.values import Now, Observed, Reason, State, error_line
from penstock.strategies.build import create_from
from penstock.strategies.table import Table


def run_plain_step(committer: Committer, intent: Intent, work: Work) -> Ended:
    """Run a step without inputs to pin and without checks: a seed, recomputed hashes."""
    begun = committer.begin(intent)
    committer.fault("after-begin")
    with committer.failing(begun):
        decided = decide(committer.session, work, committer.where)
    return committer.finish(begun, committer.apply(begun, decided))


def seed_model(seed: Seed) -> Model:
    """Return the seed as a model without inputs, for drift detection and statements."""
    declared = "\n".join(f"{column.name} {column.type}" for column in seed.columns)
    settings = hashlib.sha256(f"{seed.table}\n{declared}".encode()).hexdigest()
    return Model(
        name=seed.name,
        table=seed.table,
        where=seed.where,
        strategy=Table(),
        query=Query("", "", "", ()),
        fingerprint=Fingerprint(seed.digest, seed.digest, settings),
        columns=seed.columns,
    )


def seed_reason(
    services: Services, seed: Seed, records: Mapping[str, ModelRecord], run_timestamp: dt.datetime
) -> Reason:
    """Return whether the table matches the file: `current`, what differs, or `unreadable`."""
    model = seed_model(seed)
    try:
        seen = observe_seed(services, model, records.get(seed.name))
    except TableError as error:
        return Reason(State.UNREADABLE, error_line(error))
    now = Now(run_timestamp, {seed.name: seen}, {})
    reason = detect_table_drift(services.project, model, records, now).reason
    if reason.state is State.SQL_CHANGED:
        what = reason.detail or f"{Path(seed.path).name} changed"
        return Reason(State.SOURCE_CHANGED, what, reason.also)
    return reason


def observe_seed(services: Services, model: Model, record: ModelRecord | None) -> Observed:
    """Return the state of a seed's table; read errors become errors of the seed."""
    try:
        return observe_target(services, model, record)
    except (TableError, OSError) as error:
        raise unreadable_error(model, error) from error


def seeds_to_load(
    services: Services,
    project: Project,
    names: Iterable[str],
    records: Mapping[str, ModelRecord],
    run_timestamp: dt.datetime,
) -> dict[str, tuple[str, ...]]:
    """Return for each model which seeds below it, also through views, `seed` would load again.

    Readers of a seed drift when the seed is loaded, not before: until then its table is unchanged.
    """
    messages: dict[str, str] = {}
    found = {}
    below = read_through_views(project, project.seeds) if project.seeds else {}
    for name in names if below else ():
        above = sorted(below[name])
        for seed in above:
            if seed not in messages:
                reason = seed_reason(services, project.seeds[seed], records, run_timestamp)
                # of what was never loaded or cannot be read its readers say more
                silent = reason.state in (State.CURRENT, State.NEVER_RUN, State.UNREADABLE)
                messages[seed] = "" if silent else f"{seed}: {reason}; penstock seed loads it"
        lines = tuple(messages[seed] for seed in above if messages[seed])
        if lines:
            found[name] = lines
    return found


STRATEGY = "seed"
_RAW_VIEW, _TYPED_VIEW = "penstock_seed_raw", "penstock_seed_typed"
_CSV = {"header": "true", "escape": '"', "multiLine": "true"}
"""As RFC 4180 has it: quotes are doubled in quotes, and a value may have line breaks."""


def load_seed(services: Services, context: Context, seed: Seed, reason: Reason) -> Ended:
    """Replace the table by the file's rows in one commit."""
    record = context.records.get(seed.name)
    committer = Committer(services, context, seed.where, record.last_step_seq if record else 0)
    observe_seed(services, seed_model(seed), record)  # unreadable: no version to begin from
    intent = _seed_intent(services, context, seed, reason)
    with committer.rejecting(intent):
        refuse_foreign(services, seed, reason, record)
    committer.await_target(intent)
    with services.engine.session(seed.name, seed.where) as session:
        committer.session = session
        with committer.rejecting(intent):
            columns = define_seed(session, seed)
            raise_all(tuple(check_query(seed_model(seed), columns)))
        project = services.project
        location = project.uri_of(seed.table) if project.target.catalog else ""
        made = Build(seed_model(seed), project.sql_of(seed.table), columns, None, location=location)
        return run_plain_step(committer, intent, Work.just(create_from(made)))


def refuse_foreign(
    services: Services, seed: Seed, reason: Reason, record: ModelRecord | None
) -> None:
    """Raise if another project, or another program, created the table."""
    model = seed_model(seed)
    owner = observe_seed(services, model, record).owner
    if owner is not None:
        raise table_of_another_store(model, owner, services.project.name)
    if State.FOREIGN_TABLE in reason.states:
        hint = "move that table away, or give the seed another schema or alias"
        raise foreign_table(model, hint)


def _seed_intent(services: Services, context: Context, seed: Seed, reason: Reason) -> Intent:
    uri = services.project.uri_of(seed.table)
    head = services.log.head(uri)
    return Intent(
        step=services.clock.new_id(),
        run=context.holder.run,
        model=seed.name,
        table=seed.table,
        uri=uri,
        kind=StepKind.SEED,
        strategy=STRATEGY,
        reason=str(reason),
        triggered_by=context.triggered_by,
        run_timestamp=context.run_timestamp,
        fingerprint=seed_model(seed).fingerprint,
        base_version=head.version if head else None,
    )


def define_seed(session: StepSession, seed: Seed) -> Schema:
    """Create a view of the file's rows with declared types, or types inferred from the values.

    CSV is read twice, once as text: a number declared as text keeps its leading zeros.
    """
    if seed.format != "csv":
        relation = _relation(seed, QUERY_VIEW, {}, tuple((c.name, c.type) for c in _columns(seed)))
        return _check(seed, session.bind([relation])[QUERY_VIEW])
    raw = _relation(seed, _RAW_VIEW, _CSV)
    typed = _relation(seed, _TYPED_VIEW, {**_CSV, "inferSchema": "true"})
    inferred = _check(seed, session.bind([raw, typed])[_TYPED_VIEW])
    declared = {column.name.lower(): column.type for column in _columns(seed)}
    casts = [
        f"CAST({name} AS {declared.get(column.name.lower()) or column.type}) AS {name}"
        for column, name in ((each, quoted(each.name)) for each in inferred.columns)
    ]
    return session.define(QUERY_VIEW, f"SELECT {', '.join(casts)} FROM {quoted(_RAW_VIEW)}")


def _columns(seed: Seed) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type) for column in seed.columns if column.type)


def _check(seed: Seed, schema: Schema) -> Schema:
    """Raise for a file without columns, and for declared columns that the file does not have."""
    missing = [column.name for column in seed.columns if schema.find(column.name) is None]
    if schema.columns and not missing:
        return schema
    what = f"column {missing[0]!r}" if schema.columns else "columns"
    known = f"its columns are: {', '.join(schema.names[:20])}"
    raise TableError(
        "bad-seed",
        f"{Path(seed.path).name} has no {what}",
        where=seed.where,
        hint=known if schema.columns else "write its header into the first line",
    )


def _relation(
    seed: Seed, view: str, options: Mapping[str, str], columns: tuple[tuple[str, str], ...] = ()
) -> Relation:
    folder = str(Path(seed.path).parent)
    read = FilesRead(seed.format, folder, (seed.path,), options, columns)
    return Relation(seed_model(seed).input_name, view, read)
