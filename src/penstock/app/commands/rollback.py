"""The use case `rollback`: restore a table and its records to the state before a step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from penstock.app.commands.status import keys_of
from penstock.app.commands.sync import Ask
from penstock.app.execution.commit import Committer
from penstock.app.execution.recover import recover
from penstock.app.observation.log_reader import LogReader
from penstock.app.observation.observe import last_writer, rival
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.preparing.outcomes import features_left
from penstock.app.preparing.run_context import Context
from penstock.app.reports import Keys, Overwrite
from penstock.app.request import RollbackRequest
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import TableError, UsageError
from penstock.core.graph import children
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.partition import write_ranges
from penstock.core.partitions.ranges import Ranges, count, difference, merged
from penstock.core.project import Project
from penstock.core.records import StepRecord
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.step import Intent, StepKind
from penstock.plan.cascade import parents_of
from penstock.plan.obstacles import table_of_another_store
from penstock.strategies.reshape import restore

_MADE = (StepKind.BUILD, StepKind.REWRITE, StepKind.ROLLBACK)


@dataclass(frozen=True, slots=True)
class RollbackReport(ShownInNotebooks):
    """The result of a rollback or its dry run: which version of the table was restored.

    `partitions` are those whose records return to an earlier success, or are deleted (`deleted` of
    them) if there was none. `committed` is the version of the RESTORE, None in a dry run.
    """

    _columns = "model step version partitions count deleted committed dry_run aborted"
    _lines = "lines"

    model: str
    step: str
    version: int
    partitions: Keys
    count: int
    deleted: int
    committed: int | None = None
    dry_run: bool = False
    aborted: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Back:
    """The rollback plan: the step to undo, the version before it, the affected partitions."""

    model: Model
    step: StepRecord
    version: int
    partitions: Ranges
    deleted: int


def rollback(
    services: Services, request: RollbackRequest, ask: Ask = lambda _: True
) -> RollbackReport:
    """Restore a model's table to the version before a step, in one commit.

    Raises `rollback-unknown-step`, `rollback-nothing-before`, `rollback-vacuumed`,
    `rollback-rebuilt`, `rollback-base-table` and `rollback-foreign-commits` without writing
    anything.
    """
    model = named_model(services, request.model)
    if not request.dry_run:
        recover(services).require_settled(model.name)
    project_state, back = _survey_way_back(services, request, model)
    models = services.project.models
    readers = children({name: parents_of(services.project, m) for name, m in models.items()})
    lines = ["the restored partitions count as drifted until the code is reverted"]
    if below := ", ".join(readers[model.name]):
        lines.append(f"downstream becomes upstream_changed: {below}")
    report = RollbackReport(
        model=model.name,
        step=back.step.intent.step,
        version=back.version,
        partitions=keys_of(model.grid, back.partitions),
        count=count(back.partitions),
        deleted=back.deleted,
        dry_run=request.dry_run,
        lines=tuple(lines),
    )
    if request.dry_run:
        return report
    asked = Overwrite(model.name, report.count, report.partitions, back.step.ended)
    if not ask((asked,)):
        return replace(report, aborted=True)
    services.engine.require(writes=True)
    committed = _restore(services, project_state, back, request)
    left = features_left(services, back.step.intent, back.version)
    return replace(report, committed=committed, lines=(*report.lines, *[left] * bool(left)))


@in_one_state
def _survey_way_back(
    services: Services, request: RollbackRequest, model: Model
) -> tuple[ProjectState, _Back]:
    project_state = survey(services, (model.name,), run_timestamp_of(services, None))
    return project_state, _way_back(services, project_state, request)


def _way_back(services: Services, project_state: ProjectState, request: RollbackRequest) -> _Back:
    model = project_state.project.models[named_model(services, request.model).name]
    _check_alone(model, project_state.project)
    steps = services.reading.records.steps_of(model.name)
    step, committed = _step_of(model, steps, request.to)
    version = committed - 1
    earlier = [one for one in steps if one.intent.step_seq < step.intent.step_seq]
    is_first = all(one.outcome is None or one.outcome.version is None for one in earlier)
    if step.intent.kind is StepKind.CREATE or version < 0 or is_first:
        name = step.intent.step
        sentence = f"step {name} made the table {model.table}; nothing was there before it"
        hint = f"name a later step; penstock history {model.name} --verbose shows them"
        raise TableError("rollback-nothing-before", sentence, where=model.where, hint=hint)
    reader = project_state.log_reader
    known = {one.intent.step for one in steps}
    _check_foreign(model, reader, version, known, included=request.include_foreign)
    missing = services.places.missing_files(project_state.project.uri_of(model.table), version)
    if missing:
        sentence = f"{missing:,} files of version {version} of {model.table} are gone"
        hint = "name a later step; files that VACUUM removed do not come back"
        raise TableError("rollback-vacuumed", sentence, where=model.where, hint=hint)
    later = [one for one in steps if one.intent.step_seq >= step.intent.step_seq]
    reached = merged(piece for one in later if _built(one) for piece in one.intent.ords)
    kept = merged(piece for one in earlier if _built(one) for piece in one.intent.ords)
    return _Back(model, step, version, reached, count(difference(reached, kept)))


def _check_alone(model: Model, project: Project) -> None:
    """Raise if others share the table or build on it: their rows would be undone too."""
    package, models = project.package_of(model.name), project.models.values()
    if package is not None and package.tag not in model.tags:
        sentence = f"all models of {package.name!r} go on from what {model.table} holds"
        hint = f"take a module back, or: penstock run --select {package.name} --full-refresh"
        raise TableError("rollback-base-table", sentence, where=model.where, hint=hint)
    others = [m.name for m in models if m.table == model.table and m.name != model.name]
    if others:
        sentence = f"{model.table} holds rows of {', '.join(others)} too, which would be taken back"
        hint = "run the slices before it again: --slice NAME, or --full-refresh"
        raise TableError("shared-table", sentence, where=model.where, hint=hint)


def _built(step: StepRecord) -> bool:
    """Return whether a step made rows that are on record; a step that failed its checks did."""
    return step.outcome is not None and step.intent.kind in _MADE


def _step_of(model: Model, steps: Sequence[StepRecord], step: str) -> tuple[StepRecord, int]:
    """Return the requested step, and the version that it committed."""
    found = [one for one in steps if one.intent.step.startswith(step)] if step else []
    outcome = found[0].outcome if len(found) == 1 else None
    if outcome is not None and outcome.version is not None:
        return found[0], outcome.version
    why = "it made no commit" if found else "it has no such step"
    why = f"{len(found)} steps begin so" if len(found) > 1 else why
    sentence = f"{step!r} names no step of {model.name} to go back before: {why}"
    hint = f"penstock history {model.name} --verbose shows the steps"
    raise UsageError("rollback-unknown-step", sentence, hint=hint)


def _check_foreign(
    model: Model, log_reader: LogReader, version: int, ours: Collection[str], *, included: bool
) -> None:
    services = log_reader.services
    uri = services.project.uri_of(model.table)
    commits = services.places.touched(uri, version, {}, partial=True)
    foreign = [commit for commit in commits if log_reader.is_foreign(commit)]
    if any(commit.step for commit in foreign):
        owner = rival(services, last_writer(services.log.commits(uri, version, partial=True)))
        rebuilt = [commit for commit in foreign if commit.step in ours]
        if owner is not None and rebuilt:
            sentence = (
                f"version {rebuilt[0].version} of {model.table} is of the store {owner.store}, "
            )
            sentence += (
                "whose records were rebuilt from the log; it cannot be taken back by this one"
            )
            hint = (
                "name a step after it, or that store's database as `state` of the target, or make "
            )
            hint += f"the table again: penstock run --select {model.name} --full-refresh"
            raise TableError("rollback-rebuilt", sentence, where=model.where, hint=hint)
        if owner is not None:
            raise table_of_another_store(model, owner, services.project.name)
    if foreign and not included:
        sentence = (
            f"{len(foreign)} commits of others since would be lost, the first one is version "
            f"{foreign[0].version} {foreign[0].operation}"
        )
        hint = "--include-foreign takes them back too"
        raise TableError("rollback-foreign-commits", sentence, where=model.where, hint=hint)


def _restore(
    services: Services, project_state: ProjectState, back: _Back, request: RollbackRequest
) -> int | None:
    run_id = services.run_id or services.clock.new_id()
    context = Context(
        holder=services.holder(run_id),
        run_timestamp=project_state.run_timestamp,
        project=project_state.project,
        view=project_state.view,
        records=project_state.records,
        wait_seconds=request.wait,
        triggered_by="rollback",
    )
    run = services.run_record(run_id, "rollback", context.run_timestamp, request.arguments)
    with on_record(services, run) as succeeded:
        committed = on_worker(services, lambda: _commit(services, context, back))
        succeeded()
    return committed


def _commit(services: Services, context: Context, back: _Back) -> int | None:
    model = back.model
    uri = context.project.uri_of(model.table)
    head = services.log.head(uri)
    record = context.records.get(model.name)
    made = record.fingerprint if record and record.fingerprint else Fingerprint("", "")
    intent = Intent(
        step=services.clock.new_id(),
        run=context.holder.run,
        model=model.name,
        table=model.table,
        uri=uri,
        kind=StepKind.ROLLBACK,
        strategy=model.strategy_name,
        reason=f"rollback to before {back.step.intent.step}",
        triggered_by=context.triggered_by,
        run_timestamp=context.run_timestamp,
        fingerprint=made,
        partitions=write_ranges(model.grid, back.partitions),
        grid=model.grid,
        base_version=head.version if head else None,
        restores=back.step.intent.step_seq,
    )
    committer = Committer(services, context, model.where, record.last_step_seq if record else 0)
    with services.engine.session(model.name, model.where) as session:
        committer.session = session
        statement = restore(services.project.sql_of(model.table), back.version)
        ended = committer.alter(intent, statement, StepKind.ROLLBACK)
    return ended.outcome.version
