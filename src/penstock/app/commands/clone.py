"""The use case `target clone`: tables of another target, without copies of their files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.app.checking.gates import TakenOut
from penstock.app.execution.clone_intents import CLONE, CloneIntents
from penstock.app.execution.clone_records import read_other, skip_like
from penstock.app.execution.commit import Committer, Ended, refresh_record
from penstock.app.execution.recover import recover
from penstock.app.execution.seed_step import run_plain_step
from penstock.app.execution.step import execute
from penstock.app.execution.template_rows import RowsChanged
from penstock.app.kinds import KINDS
from penstock.app.observation.deferral import target_records
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.packages import overwritten, with_base_tables
from penstock.app.planning.selection import selected_models
from penstock.app.preparing.run_context import Context
from penstock.app.read_requests import CloneRequest
from penstock.app.reports import ModelResult
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import PenstockError, SparkDiedError, TableError, UsageError
from penstock.core.findings import some
from penstock.core.model import Fingerprint, Model
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import shown_ranges, write_ranges
from penstock.core.partitions.ranges import difference
from penstock.core.ports.engine import StepSession
from penstock.core.statement import Commit, Work
from penstock.core.steps.step import WHOLE, Intent, StepKind
from penstock.plan.obstacles import foreign_table
from penstock.plan.planner import plan
from penstock.plan.values import Plan, State
from penstock.plan.verdict import Verdict
from penstock.plan.work import work_of
from penstock.strategies.relations import rows_unknown

COMMAND = "target clone"
_UNUSABLE = (State.NEVER_RUN, State.MISSING, State.FOREIGN_TABLE, State.UNRECORDED)


def clone(services: Services, request: CloneRequest) -> RunReport:
    """Clone the selected tables, and create the views; a failed model does not stop the others.

    Each table is one commit, with records as if a step had built it here. What has drifted in the
    other target is drift here too.
    """
    services.defer_to = request.source
    other = target_records(services, request.source, COMMAND)
    recovery = recover(services)
    now = services.clock.now()
    names = selected_models(services, request.select, request.exclude, now)
    names = with_base_tables(services.project, names)
    _take_rows(services, other, names)
    here = survey(services, names, now)
    services.project = here.project
    context = Context(
        holder=services.holder(services.run_id or services.clock.new_id()),
        run_timestamp=now,
        project=here.project,
        view=here.view,
        records=dict(here.records),
        wait_seconds=request.wait,
        triggered_by=CLONE,
    )
    known = [name for name in names if name in other.project.models]
    there = read_other(other, known, context)
    services.engine.require(writes=True)
    intents = CloneIntents(services, context, here, there)
    cloning = Cloning(services, context, here, intents, force=request.force)
    results = _clone_all(services, context, cloning, request.arguments)
    return RunReport(
        run_id=context.holder.run,
        run_timestamp=now,
        plan=Plan(now),
        results=results,
        command=COMMAND,
        recovered=recovery.messages_by_step,
        left=tuple(each.name for each in results if not each.ok),
        log_path=services.written_log,
    )


def _take_rows(services: Services, other: Services, names: Iterable[str]) -> None:
    """Keep the rows that templates read in the other target: they made the text of its tables.

    Rows that only models beside the selected ones ask for stay as they are here.
    """
    models, known = services.project.models, services.project.template_rows
    asked = {each.key for name in names for each in models[name].query.reads}
    theirs = other.reading.notes.template_rows().items()
    rows = {key: each for key, each in theirs if key in asked or key not in known}
    if rows:
        services.writing.notes.keep_rows(rows)
        services.project = services.reload()


def _clone_all(
    services: Services, context: Context, cloning: Cloning, arguments: str
) -> tuple[ModelResult, ...]:
    run = services.run_record(context.holder.run, COMMAND, context.run_timestamp, arguments)
    results: list[ModelResult] = []
    with on_record(services, run) as succeeded:
        for name in cloning.here.names:
            results.append(on_worker(services, partial(_result_of, services, cloning, name)))
            if isinstance(results[-1].error, SparkDiedError):
                break
        cloning.intents.packages.end(
            {*cloning.here.names} - {each.name for each in results if each.ok}
        )
        if all(each.ok for each in results):
            succeeded()
    return tuple(results)


def _result_of(services: Services, cloning: Cloning, name: str) -> ModelResult:
    started, clock = services.clock.now(), time.monotonic()
    model = cloning.here.project.models[name]
    result = ModelResult.of(model, "success", f"cloned from {cloning.intents.source}")
    try:
        ended = cloning.make(model)
        if ended is not None:
            version, step = ended.outcome.settled_version, ended.intent.step
            result = replace(result, version=version, step=step, inputs=ended.intent.inputs)
    except PenstockError as error:
        result = replace(result, status="failed", error=services.cause_of(error))
    return replace(result, started=started, duration=round(time.monotonic() - clock, 3))


Run = Callable[[Intent, Commit | None], Ended]


@dataclass(slots=True)
class Cloning:
    """What is known of both targets; models are cloned after those that they read."""

    services: Services
    context: Context
    here: ProjectState
    intents: CloneIntents
    force: bool

    @property
    def there(self) -> ProjectState:
        """The state of the target to copy from."""
        return self.intents.there

    def make(self, model: Model) -> Ended | None:
        """Clone a table or create a view; None if there is nothing to create."""
        ended = self._create_view(model) if model.is_view else self._clone_table(model)
        refresh_record(self.services, self.context.records, model.name)
        self.intents.cloned.add(model.name)
        return ended

    def _create_view(self, model: Model) -> Ended | None:
        """Build a view as a run would, if it is not current; functions have no view."""
        project, ended = self.here.project, None
        if not model.strategy.is_written:
            return None
        now, records = self.here.view.now, self.context.records
        made = plan(project, [model.name], records, now, self.context.options)
        for blocked in made.blocked:
            raise blocked.error
        for step in made.steps:
            kind = KINDS[work_of(project, model)]
            try:
                ended = execute(self.services, self.context, kind, step)
            except TakenOut as gate:
                raise gate.error from gate
            except RowsChanged:
                raise rows_unknown(model) from None
        return ended

    def _clone_table(self, model: Model) -> Ended:
        if model.name not in self.there.project.models:
            raise self.intents.nothing(
                model, f"target {self.intents.source} has no model {model.name}", "run"
            )
        verdict, sharers = self.there.verdict(model.name), self._sharing_entities(model)
        is_there = any(each.name in self.intents.cloned for each in sharers)
        self._require_source(model, verdict, sharers)
        if not is_there:  # the clone of another entity has brought its rows
            self._require_place(model, verdict)
        if (package := self.here.project.package_of(model.name)) is not None:
            tables = overwritten(self.here.project, package)
            self.intents.packages.begin(package, tables, self.intents.pins_here)
        skip_like(self.services, model.name, self.intents.other.slices.get(model.name, ()))
        first, *others = self.intents.of(model, verdict)
        with self.services.engine.session(model.name, model.where) as session:
            run = partial(self._run, session, model)
            if is_there:
                return run(first, None)
            if first.base_version is not None:
                first = replace(first, base_version=self._empty(run, first, sharers))
            ended = run(first, Commit(self._sql(model, first, sharers), once=False))
            for each in others:
                run(replace(each, base_version=ended.outcome.settled_version), None)
        return ended

    def _run(
        self, session: StepSession, model: Model, intent: Intent, statement: Commit | None
    ) -> Ended:
        """Run a step of one statement, or of none."""
        committer = Committer(self.services, self.context, model.where, None)
        committer.session, committer.texts = session, self.intents.texts(intent.fingerprint)
        committer.await_target(intent)
        ended = run_plain_step(committer, intent, Work.just(statement))
        refresh_record(self.services, self.context.records, intent.model)
        return ended

    def _empty(self, run: Run, intent: Intent, sharers: Sequence[Model]) -> int | None:
        """Delete all rows in a step of its own: Delta clones over empty tables alone.

        Its record is that of a table without rows, inputs and slices, made by other code: if the
        process dies after it, the next run builds everything.
        """
        recorded = self.here.verdict(intent.model).recorded
        keys = write_ranges(intent.grid, recorded) if intent.partitions != (WHOLE,) else ()
        emptied = replace(
            intent,
            reason="emptied for a clone",
            fingerprint=Fingerprint("", ""),
            partitions=keys or intent.partitions,
            inputs=(),
            deferred=(),
            watermarks=(),
            unchanged=(),
            session=None,
        )
        for model in sharers:
            if model.name in self.context.records:
                own = replace(emptied, model=model.name, strategy=model.strategy_name)
                run(replace(own, step=self.services.clock.new_id(), lane=model.name), None)
        sql = f"DELETE FROM {self.here.project.sql_of(intent.table)}"
        step = replace(emptied, step=self.services.clock.new_id())
        return run(step, Commit(sql, once=False)).outcome.settled_version

    def _sharing_entities(self, model: Model) -> list[Model]:
        """Return the other entities whose rows are in the same table, in the other target."""
        if not (model.entity and model.entity.scope):
            return []
        models, records = self.here.project.models.values(), self.there.records
        others = (each for each in models if each.table == model.table and each != model)
        return [each for each in others if each.name in records]

    def _sql(self, model: Model, intent: Intent, sharers: Sequence[Model]) -> str:
        """Return the statement that clones the version that is on record."""
        records = [self.there.records[each.name] for each in (model, *sharers)]
        version = max(each.settled_version or 0 for each in records)
        place = quoted(self.there.project.uri_of(self.there.project.models[model.name].table))
        project = self.here.project
        create = "CREATE TABLE" if intent.base_version is None else "CREATE OR REPLACE TABLE"
        target = project.sql_of(model.table)
        sql = f"{create} {target} SHALLOW CLONE delta.{place} VERSION AS OF {version}"
        return f"{sql} LOCATION {literal(intent.uri)}" if project.target.catalog else sql

    def _require_source(self, model: Model, verdict: Verdict, sharers: Sequence[Model]) -> None:
        """Raise if the other target has no rows of the model that can be cloned."""
        uri, there = self.here.project.uri_of(model.table), self.there.project
        left = [each.name for each in sharers if each.name not in self.here.names]
        if uri == there.uri_of(there.models[model.name].table):
            sentence = f"both targets have {model.table} in {uri}"
            hint = "give this target another warehouse, or entities another root_folder"
            raise UsageError("not-cloned", sentence, where=model.where, hint=hint)
        if left:
            sentence = f"{model.table} has rows of {some(left, 3)} too, which is not selected"
            hint = f"select it too, or leave it out: --exclude {model.name}"
            raise UsageError("not-cloned", sentence, where=model.where, hint=hint)
        if model.name in self.intents.packages.rebuilt_there():
            sentence = f"{model.name} is to be rebuilt in target {self.intents.source}"
            raise self.intents.nothing(model, sentence, "run")
        if verdict.error is not None:
            raise verdict.error
        unusable = [each for each in _UNUSABLE if each in verdict.reason.states]
        if model.partition is not None and verdict.whole is None and verdict.recorded:
            unusable = []
        record = self.there.records.get(model.name)
        if unusable or record is None or record.settled_version is None:
            state = unusable[0] if unusable else State.NEVER_RUN
            raise self.intents.nothing(
                model, f"{model.name} is {state} in target {self.intents.source}", "run"
            )

    def _require_place(self, model: Model, verdict: Verdict) -> None:
        """Raise if the clone would replace rows of others, or of a step without --force."""
        here, name = self.here.verdict(model.name), model.name
        if State.FOREIGN_TABLE in here.reason.states:
            raise foreign_table(model, "move it away, or give this target another warehouse")
        if self.services.log.head(self.here.project.uri_of(model.table)) is None:
            return
        if not self.force and not self._is_clone(name):
            raise UsageError(
                "table-exists",
                f"{model.table} holds rows that were built in this target",
                where=model.where,
                hint="--force replaces them by the clone",
            )
        extra = difference(here.recorded, verdict.recorded) if model.partition else ()
        if extra:
            raise TableError(
                "table-exists",
                f"{model.table} has partitions that target {self.intents.source} lacks: "
                f"{shown_ranges(model.grid, extra)}",
                where=model.where,
                hint=f"build it from its inputs: penstock run --select {name} --full-refresh",
            )

    def _is_clone(self, name: str) -> bool:
        """Return whether the newest rows of a table came from a clone."""
        steps = self.services.reading.records.steps_of(name)
        built = [each for each in steps if each.outcome and each.intent.kind is StepKind.BUILD]
        return bool(built) and built[-1].intent.triggered_by == CLONE
