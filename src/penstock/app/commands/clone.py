"""The use case `target clone`: tables of another target, without copies of their files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.app.checking.gates import TakenOut
from penstock.app.execution.commit import Committer, Ended, refresh_record
from penstock.app.execution.recover import recover
from penstock.app.execution.seed_step import run_plain_step
from penstock.app.execution.step import execute
from penstock.app.kinds import KINDS
from penstock.app.observation.deferral import target_records
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.selection import selected_models
from penstock.app.preparing.run_context import Context
from penstock.app.read_requests import CloneRequest
from penstock.app.reports import ModelResult
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import PenstockError, SparkDiedError, TableError, UsageError
from penstock.core.model import Fingerprint, Model, kind_of
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import shown_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, difference, intersection, merged
from penstock.core.query import Query
from penstock.core.records import ModelRecord
from penstock.core.statement import Commit, Work
from penstock.core.steps.inputs import DeferredInput, InputPin, ViewPin
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Writing
from penstock.plan.changes import code_drift, current_pin
from penstock.plan.obstacles import foreign_table
from penstock.plan.planner import plan
from penstock.plan.values import Plan, State
from penstock.plan.verdict import Verdict
from penstock.plan.work import work_of

COMMAND = "target clone"
CLONE = "clone"
"""What triggered a step that cloned a table."""
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
    known = [name for name in names if name in other.project.models]
    here, there = survey(services, names, now), survey(other, known, now)
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
    services.engine.require(writes=True)
    cloning = Cloning(services, context, here, there, force=request.force)
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
        if all(each.ok for each in results):
            succeeded()
    return tuple(results)


def _result_of(services: Services, cloning: Cloning, name: str) -> ModelResult:
    started, clock = services.clock.now(), time.monotonic()
    model = cloning.here.project.models[name]
    result = ModelResult.of(model, "success", f"cloned from {cloning.source}")
    try:
        ended = cloning.make(model)
        if ended is not None:
            version, step = ended.outcome.settled_version, ended.intent.step
            result = replace(result, version=version, step=step, inputs=ended.intent.inputs)
    except PenstockError as error:
        result = replace(result, status="failed", error=services.cause_of(error))
    return replace(result, started=started, duration=round(time.monotonic() - clock, 3))


_NEVER = ViewPin(-1)
"""The pin of a view that the rows were not read through: they drift."""
Code = tuple[Query, Fingerprint]


def _codes(model: Model) -> Mapping[tuple[int, int], Code]:
    """Return the queries of a model by version and revision."""
    bodies = [body for version in model.versions for body in version.bodies]
    found = [(body.query, body.fingerprint) for body in bodies]
    found = found or [(model.query, model.fingerprint)]
    return {(own.version, own.revision): (query, own) for query, own in found}


def _is_same_code(one: Code, other: Code) -> bool:
    """Return whether two queries are equal but for the names of tables, with equal settings."""
    (query, own), (query_there, own_there) = one, other
    return (query.text, query.incremental, own.settings, own.schema) == (
        query_there.text,
        query_there.incremental,
        own_there.settings,
        own_there.schema,
    )


@dataclass(slots=True)
class Cloning:
    """What is known of both targets; models are cloned after those that they read.

    `cloned` are the models that were cloned, or created as views, in this run.
    """

    services: Services
    context: Context
    here: ProjectState
    there: ProjectState
    force: bool
    cloned: set[str] = field(default_factory=set)

    @property
    def source(self) -> str:
        """The name of the target to copy from."""
        return self.there.project.target.name

    def make(self, model: Model) -> Ended | None:
        """Clone a table or create a view; None if there is nothing to create."""
        ended = self._create_view(model) if model.is_view else self._clone_table(model)
        refresh_record(self.services, self.context.records, model.name)
        self.cloned.add(model.name)
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
        return ended

    def _clone_table(self, model: Model) -> Ended:
        if model.name not in self.there.project.models:
            raise self._nothing(model, f"target {self.source} has no model {model.name}", "run")
        verdict = self.there.verdict(model.name)
        self._require_source(model, verdict)
        self._require_place(model, verdict)
        first, *others = self._intents(model, verdict)
        with self.services.engine.session(model.name, model.where) as session:

            def run(intent: Intent, statement: Commit | None) -> Ended:
                committer = Committer(self.services, self.context, model.where, None)
                committer.session, committer.texts = session, self._texts(intent.fingerprint)
                committer.await_target(intent)
                work = Work.just(statement)
                if statement is not None and intent.base_version is not None:
                    work = replace(work, last_look=lambda: self._empty(committer, intent))
                ended = run_plain_step(committer, intent, work)
                refresh_record(self.services, self.context.records, model.name)
                return ended

            ended = run(first, Commit(self._sql(model, first), once=False))
            for each in others:
                run(replace(each, base_version=ended.outcome.settled_version), None)
        return ended

    def _empty(self, committer: Committer, intent: Intent) -> None:
        """Delete all rows in a step of its own: Delta clones over empty tables alone.

        A process that dies after it leaves an empty table, and a step that the next command calls
        failed.
        """
        sql = f"DELETE FROM {self.here.project.sql_of(intent.table)}"
        committer.alter(intent, Commit(sql, once=False))

    def _sql(self, model: Model, intent: Intent) -> str:
        """Return the statement that clones the version that is on record."""
        version = self.there.records[model.name].settled_version
        place = quoted(self.there.project.uri_of(self.there.project.models[model.name].table))
        project = self.here.project
        create = "CREATE TABLE" if intent.base_version is None else "CREATE OR REPLACE TABLE"
        target = project.sql_of(model.table)
        sql = f"{create} {target} SHALLOW CLONE delta.{place} VERSION AS OF {version}"
        return f"{sql} LOCATION {literal(intent.uri)}" if project.target.catalog else sql

    def _require_source(self, model: Model, verdict: Verdict) -> None:
        """Raise if the other target has no rows of the model that can be cloned."""
        if kind_of(model) == "entity" or self.here.project.package_of(model.name):
            raise UsageError(
                "not-cloned",
                f"{model.name} records more than its rows: which slices or sessions it has read",
                where=model.where,
                hint=f"leave it out: --exclude {model.name}; --defer-to {self.source} reads it",
            )
        if verdict.error is not None:
            raise verdict.error
        unusable = [each for each in _UNUSABLE if each in verdict.reason.states]
        if model.partition is not None and verdict.whole is None and verdict.recorded:
            unusable = []
        record = self.there.records.get(model.name)
        if unusable or record is None or record.settled_version is None:
            state = unusable[0] if unusable else State.NEVER_RUN
            raise self._nothing(model, f"{model.name} is {state} in target {self.source}", "run")

    def _nothing(self, model: Model, sentence: str, command: str) -> TableError:
        hint = f"penstock {command} --target {self.source} --select {model.name}, then clone it"
        return TableError("nothing-to-clone", sentence, where=model.where, hint=hint)

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
                f"{model.table} has partitions that target {self.source} lacks: "
                f"{shown_ranges(model.grid, extra)}",
                where=model.where,
                hint=f"build it from its inputs: penstock run --select {name} --full-refresh",
            )

    def _is_clone(self, name: str) -> bool:
        """Return whether the newest rows of a table came from a clone."""
        steps = self.services.reading.records.steps_of(name)
        built = [each for each in steps if each.outcome and each.intent.kind is StepKind.BUILD]
        return bool(built) and built[-1].intent.triggered_by == CLONE

    def _intents(self, model: Model, verdict: Verdict) -> list[Intent]:
        """Return the step that clones, and one without a commit for every other code.

        Partitions that have drifted in the other target are not recorded: here they never ran.
        """
        record, uri = self.there.records[model.name], self.here.project.uri_of(model.table)
        head = self.services.log.head(uri)
        inputs, deferred = self._inputs(model, record, verdict)
        own = Intent(
            step="",
            run=self.context.holder.run,
            model=model.name,
            table=model.table,
            uri=uri,
            kind=StepKind.BUILD,
            strategy=model.strategy_name,
            reason=f"cloned from {self.source}",
            triggered_by=CLONE,
            run_timestamp=self.context.run_timestamp,
            fingerprint=self._own_code(model, record.fingerprint or model.fingerprint),
            inputs=inputs,
            deferred=deferred,
            watermarks=record.watermarks,
            lowers_watermarks=True,
            writing=Writing.WHOLE,
            base_version=head.version if head else None,
            grid=model.grid,
        )
        if model.partition is None:
            return [replace(own, step=self.services.clock.new_id())]
        return [
            replace(
                own,
                step=self.services.clock.new_id(),
                fingerprint=fingerprint,
                partitions=write_ranges(model.grid, ranges),
            )
            for fingerprint, ranges in self._groups(model, verdict).items()
        ]

    def _groups(self, model: Model, verdict: Verdict) -> Mapping[Fingerprint, Ranges]:
        """Return the partitions that are current in the other target, by what built them."""
        found: dict[Fingerprint, Ranges] = {}
        runs = self.there.services.reading.records.runs(model.name)[model.name]
        good = difference(verdict.recorded, merged(piece.range for piece in verdict.pieces))
        for run in runs:
            made = self.there.fingerprints.get(run.fingerprint)
            if made is not None and (here := intersection(((run.low, run.high),), good)):
                own = self._own_code(model, made)
                found[own] = merged((*found.get(own, ()), *here))
        if not found:
            sentence = f"all partitions of {model.name} have drifted in target {self.source}"
            raise self._nothing(model, sentence, "sync")
        return found

    def _own_code(self, model: Model, recorded: Fingerprint) -> Fingerprint:
        """Return the fingerprint of the same code here, where tables have other names.

        If the code here is another one, because it uses variables of the target or was changed,
        the rows keep the fingerprint of what built them, and drift.
        """
        there, meaning = _codes(self.there.project.models[model.name]), self.there.meaning
        for label, (query, own) in _codes(model).items():
            if label not in there:
                continue
            other, built = there[label]
            states = {state for state, _ in code_drift(recorded, built, meaning)}
            if states <= {State.CURRENT} and _is_same_code((query, own), (other, built)):
                return own
        return recorded

    def _has_own_code(self, name: str) -> bool:
        """Return whether a view has another query here than in the other target."""
        here, there = self.here.project.models.get(name), self.there.project.models.get(name)
        if here is None or there is None or not here.is_view:
            return False
        return not _is_same_code((here.query, here.fingerprint), (there.query, there.fingerprint))

    def _inputs(
        self, model: Model, record: ModelRecord, verdict: Verdict
    ) -> tuple[tuple[InputPin, ...], tuple[DeferredInput, ...]]:
        """Return what the rows were read from, as this target sees it.

        If they are current, an input that was cloned in this run has its version here; one that is
        not built here has that of the other target. Any other pin stays what it was: the rows
        drift. Of partitions only the current ones are recorded.
        """
        is_current = not verdict.pieces or model.partition is not None
        pins, above = [], self.here.view.now.deferred
        deferred = {each.input: each for each in record.deferred}
        for name, was in record.pins.items():
            is_here = name in self.cloned and is_current
            if name in above:
                deferred[name] = above[name].source
            elif is_here:
                deferred.pop(name, None)
            state = self.here if is_here else self.there
            records = self.context.records if is_here else self.there.records
            now = current_pin(state.project, records, state.view.now, name) if is_current else None
            pins.append(InputPin(name, _NEVER if self._has_own_code(name) else now or was))
        return tuple(pins), tuple(deferred.values())

    def _texts(self, of: Fingerprint) -> Mapping[str, str]:
        """Return the texts behind a fingerprint, from the other state."""
        sums = [each for each in (of.sql, of.canonical, of.settings, of.schema) if each]
        return self.there.services.reading.records.texts(sums)
