"""The use case `run`: bring what is selected up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.app.artifacts import write_artifacts
from penstock.app.checking.ahead import Ahead, TakenOut
from penstock.app.checking.staging import drop_repeated
from penstock.app.checking.upstream import flagged_above
from penstock.app.commit import Ended
from penstock.app.events import Listener, RunStarted, Said, StepEnded, StepStarted, silent
from penstock.app.execute import execute
from penstock.app.heartbeat import beating
from penstock.app.noting import note_written
from penstock.app.planning import Planned, make_plan, moment_of, replan, still_needed
from penstock.app.recover import recover
from penstock.app.remember import remembered
from penstock.app.reports import ModelResult, RunReport
from penstock.app.request import RunRequest, SyncRequest
from penstock.app.resume import resume_command, resume_sync
from penstock.app.run_context import Context
from penstock.app.schedule import Node, Schedule, Work
from penstock.app.selecting import divided
from penstock.app.settling import settle
from penstock.app.share import EVERYTHING, UPSTREAM_FAILED, share_of
from penstock.app.shop import Shop
from penstock.app.step_results import failed_by, of_view, with_checks
from penstock.core.errors import (
    ConcurrentWriterError,
    PenstockError,
    PlanOutdatedError,
    SparkDiedError,
    StateError,
    TableError,
)
from penstock.core.ranges import Ranges
from penstock.core.records import Run, Status
from penstock.engine.jvm_log import warnings_of
from penstock.plan.cascade import parents_of
from penstock.plan.values import Step

_CONFLICT_PAUSES = (0.5, 1.0, 2.0)
SPARK_DIED = "Spark's JVM is gone"


def run(shop: Shop, request: RunRequest, listener: Listener = silent) -> RunReport:
    """Recover what a crash left open, plan, and execute the plan.

    Nothing to do starts no JVM and writes no run. A failed step stops what hangs on it, not the
    others; what was committed before stays. Raises only what keeps the plan from being made.
    """
    recovery = recover(shop, give_up=_made_anew(shop, request))
    for sentence in recovery.sentences:
        listener(Said(sentence))
    settled = settle(shop)
    planned = make_plan(shop, request).after(settled).without(recovery.stuck)
    report = RunReport(
        run_id=shop.run_id or shop.clock.new_id(),
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=(),
        command=request.command,
        not_run=planned.not_run,
        recovered=recovery.sentences,
        notes=planned.notes,
    )
    if planned.plan.is_empty:
        results = (*settled.results, *_unchanged(shop, planned))
        report = replace(report, results=results)
        return replace(report, resume=resume_command(report, request))
    if planned.plan.steps:
        shop.engine.require()
    if planned.looked is not None:
        planned.looked.judging.sight.keep()
    return Runner(shop, request, listener, planned, report).run()


def _made_anew(shop: Shop, request: RunRequest) -> tuple[str, ...]:
    """Name the models of which a full refresh makes all rows anew, whatever a step left."""
    if not request.options.full_refresh:
        return ()
    return divided(shop, request, moment_of(shop, request.as_of))[0]


def _unchanged(shop: Shop, planned: Planned) -> tuple[ModelResult, ...]:
    found = []
    for name in planned.plan.current:
        record = planned.records.get(name)
        version = record.settled_version if record else None
        found.append(replace(_result(shop, name, "unchanged", "current"), version=version))
    return tuple(found)


def _result(shop: Shop, name: str, status: str, reason: str) -> ModelResult:
    model = shop.project.models[name]
    return ModelResult(name, model.table, model.strategy_name, status, reason)


def _of_step(shop: Shop, step: Step, status: str, reason: str) -> ModelResult:
    result = _result(shop, step.model, status, reason)
    return replace(result, partitions=step.keys, count=step.count, trigger=step.trigger)


def _of_log(shop: Shop) -> tuple[str, ...]:
    """Warn of what Spark's JVM said of itself, if this command started it."""
    return warnings_of(Path(shop.written_log)) if shop.written_log else ()


def _gave_up(error: PenstockError) -> PenstockError:
    """Word what still stands in the way after the last try."""
    if isinstance(error, ConcurrentWriterError) and error.code != "concurrent-writer":
        return ConcurrentWriterError(
            "concurrent-writer", error.sentence, where=error.where, hint=error.hint
        )
    return error


def _warned(ended: Ended) -> tuple[str, ...]:
    """Warn of a history table that begins without rows, and of rows that were not read."""
    metrics, intent = ended.outcome.metrics, ended.intent
    notes = []
    if intent.cut_at is not None:
        notes.append(f"rows after {intent.cut_at:%Y-%m-%d %H:%M:%S} are left to a later run")
    if passed := [name for name in intent.passed_by if name != intent.model]:
        command = f"penstock sync --select {intent.model}"
        notes.append(f"{', '.join(passed)} changed rows that it had read; {command} re-makes it")
    created = ended.outcome.version is not None and ended.intent.base_version is None
    if created and ended.intent.strategy == "snapshot" and not metrics.get("source_rows"):
        notes.append("the source has no rows: the table is empty")
    return tuple(notes)


def _left(step: Step, ranges: Ranges) -> tuple[Step, ...]:
    """Give what is left of a step; SQL that takes a range needs one without gaps."""
    if not ranges:
        return ()
    if step.is_range:
        return tuple(replace(step, partitions=(piece,)) for piece in ranges)
    return (replace(step, partitions=ranges),)


class Runner:
    """One run of a plan that has steps."""

    def __init__(
        self,
        shop: Shop,
        request: RunRequest | SyncRequest,
        listener: Listener,
        planned: Planned,
        report: RunReport,
    ) -> None:
        self._shop = shop
        self._request = request
        self._tell = listener
        self._plan = planned.plan
        self._current = _unchanged(shop, planned)
        self._order = planned.names
        self._report = report
        self._steps = {step.key: step for step in planned.plan.steps}
        self._context = Context(
            run=report.run_id,
            run_timestamp=report.run_timestamp,
            project=shop.project,
            view=planned.view,
            records=dict(planned.records),
            as_of=request.as_of,
            wait_seconds=request.wait_seconds,
            options=request.options,
        )
        self._settled = planned.settled
        self._interrupted = False
        self._holds = False
        self._spark_died = False

    def run(self) -> RunReport:
        """Execute the plan; what a step raises is in the report."""
        journal = self._shop.writing.journal
        journal.start_run(self._run_record())
        results: list[ModelResult] = []
        status = Status.FAILED
        beat = self._shop.project.lease.heartbeat.total_seconds()
        try:
            with beating(self._shop.writing.leases, self._report.run_id, beat):
                self._tell(RunStarted(self._report.run_id, self._plan))
                self._collect(results)
            if all(result.ok for result in results):
                status = Status.SUCCESS
        except KeyboardInterrupt:
            self._interrupted = True
        finally:
            notes = self._end_run(status)
        note_written(self._shop, (step.model for step in self._plan.steps))
        report = replace(
            self._report,
            results=self._in_order(results),
            notes=(*self._report.notes, *notes, *_of_log(self._shop)),
            interrupted=self._interrupted,
            log_path=self._shop.written_log,
        )
        request = self._request
        if isinstance(request, SyncRequest):
            again = resume_sync(report, request)
        else:
            again = resume_command(report, request)
        report = replace(report, resume=again)
        write_artifacts(self._shop, report)
        return report

    def _end_run(self, status: Status) -> tuple[str, ...]:
        """Write how the run ended; a store that is gone by now must not hide what the steps did."""
        try:
            self._shop.writing.journal.end_run(self._report.run_id, status, holds=self._holds)
        except StateError as error:
            return (error.render(),)
        return ()

    def _collect(self, results: list[ModelResult]) -> None:
        for blocked in self._plan.blocked:
            result = _result(self._shop, blocked.model, "failed", blocked.error.code)
            self._end(results, replace(result, error=blocked.error))
        nodes = [
            Node(s.key, (*s.upstream, *self._unsettled(s)), bool(s.partitions), s.later_than)
            for s in self._plan.steps
        ]
        for result in self._settled.results:
            self._end(results, result)
        bad = {blocked.model for blocked in self._plan.blocked}
        self._context.failed.update(dict.fromkeys(bad, EVERYTHING))
        self._context.failed.update(self._settled.failed)
        bad |= set(self._settled.failed)
        work = Work(self._do, self._skip, lambda results: not all(r.ok for r in results))
        threads = self._request.threads or self._shop.project.threads
        schedule = Schedule(nodes, work, threads, bad)
        try:
            for found in schedule.results(fail_fast=self._request.fail_fast):
                for result in found:
                    self._end(results, result)
        except BaseException as error:  # a bug too: no step may go on behind a run that ended
            if isinstance(error, KeyboardInterrupt):
                self._interrupted = True
                self._shop.engine.cancel()
            self._holds = True  # until the last statement has ended
            for found in schedule.stop():
                for result in found:
                    self._end(results, result)
            self._holds = False
            raise

    def _unsettled(self, step: Step) -> tuple[str, ...]:
        """Name the models that a step reads and that failed before it, in the plan or not."""
        project = self._shop.project
        above = parents_of(project, project.models[step.model])
        return tuple(name for name in above if name in self._settled.failed)

    def _end(self, results: list[ModelResult], result: ModelResult) -> None:
        results.append(result)
        self._tell(StepEnded(result))

    def _do(self, key: str) -> tuple[ModelResult, ...]:
        if self._spark_died:
            return self._skip(key, "")
        step = self._steps[key]
        try:
            share = share_of(self._shop, self._context, step)
        except TableError as error:  # the log of what it reads, which was readable a moment ago
            self._context.fail(step)
            return (replace(_of_step(self._shop, step, "failed", error.code), error=error),)
        results = [_of_step(self._shop, each, "skipped", UPSTREAM_FAILED) for each in share.blocked]
        results += [
            _of_step(self._shop, each, "unchanged", "its upstream made no change")
            for each in share.idle
        ]
        return (*results, *(result for each in share.steps for result in self._step(each)))

    def _step(self, step: Step, held: Ahead | None = None) -> tuple[ModelResult, ...]:
        """Do a step; of what a gate ahead of it takes out of it, do what is left."""
        started, clock = self._shop.clock.now(), time.monotonic()
        self._tell(StepStarted(step.model, str(step.reason)))
        result = _of_step(self._shop, step, "success", str(step.reason))
        out: TakenOut | None = None
        try:
            result = self._attempt(step, result, held)
        except TakenOut as error:
            out, result = error, self._taken_out(step, error)
        except PenstockError as error:
            self._spark_died |= isinstance(error, SparkDiedError)
            result = replace(result, status="failed", error=error)
            self._context.fail(step)
        took = round(time.monotonic() - clock, 3)
        notes = (*step.notes, *flagged_above(self._shop, step), *result.notes)
        told_one = replace(result, started=started, duration=took, notes=notes)
        views = self._context.views.told(step.key)
        found = (*(of_view(self._shop.project, each) for each in views), told_one)
        if out is None or not step.partitions:
            return found
        for each in _left(step, out.left):
            found += self._step(each, out.held.of(each.grid, each.partitions))
        return found

    def _taken_out(self, step: Step, out: TakenOut) -> ModelResult:
        lost = replace(step, partitions=out.failed) if step.partitions else step
        self._context.fail(lost)
        result = _of_step(self._shop, lost, "skipped", out.error.code)
        return replace(result, error=out.error, invariant_report=out.report)

    def _attempt(self, step: Step, result: ModelResult, held: Ahead | None) -> ModelResult:
        """Do a step; plan it anew, and look ahead anew, when another of its target came between."""
        now: Step | None = step
        for pause in (*_CONFLICT_PAUSES, None):
            if now is None:
                return replace(result, status="unchanged", reason="another run built it")
            needed = (
                now
                if now.partitions
                else still_needed(self._shop, self._context, now, self._request.options)
            )
            if needed is None:
                return replace(result, status="unchanged", reason="its upstream made no change")
            try:
                return self._done(step, result, execute(self._shop, self._context, needed, held))
            except (PlanOutdatedError, ConcurrentWriterError) as error:
                if pause is None:
                    raise _gave_up(error) from None
                if isinstance(error, ConcurrentWriterError):
                    time.sleep(pause)
                now, held = replan(self._shop, self._context, now, self._request.options), None
        return result

    def _done(self, step: Step, result: ModelResult, ended: Ended) -> ModelResult:
        intent, outcome = ended.intent, ended.outcome
        before = self._context.records.get(intent.model)
        if ended.undone is not None:
            self._context.records.update(self._shop.reading.records.models())
        elif not ended.held_back:
            self._context.records[intent.model] = remembered(before, ended, self._shop.clock.now())
        made = outcome.version is not None or (not intent.uri and not ended.held_back)
        if made:
            self._context.change(intent)
        if ended.checked is not None and ended.checked.quarantine is not None:
            model = self._shop.project.models[intent.model]
            drop_repeated(self._shop, model, ended.checked.quarantine)
        failed = failed_by(ended)
        if failed:
            self._context.fail(replace(step, partitions=failed) if step.partitions else step)
        settled = outcome if ended.undone is None else ended.undone
        result = replace(
            result,
            status="success" if made else "unchanged",
            version=settled.settled_version,
            rows=outcome.rows,
            windows=intent.windows,
            watermarks=intent.watermarks,
            inputs=intent.inputs,
            metrics=outcome.metrics,
            schema_changes=ended.schema_changes,
            notes=(*_warned(ended), *(ended.notes if ended.checked is None else ())),
            step=intent.step,
        )
        return with_checks(result, ended)

    def _skip(self, key: str, because: str) -> tuple[ModelResult, ...]:
        step = self._steps[key]
        self._context.fail(step)
        stopped = "interrupted" if self._interrupted else "fail-fast"
        stopped = SPARK_DIED if self._spark_died else stopped
        reason = f"upstream {because.partition(' ')[0]} failed" if because else stopped
        return (_of_step(self._shop, step, "skipped", reason),)

    def _in_order(self, results: Sequence[ModelResult]) -> tuple[ModelResult, ...]:
        """Give models in the order of the plan, and the steps of each in that of its partitions.

        Views that only their readers have looked at come first.
        """
        settled = (result.name for result in self._settled.results)
        planned = (step.model for step in self._plan.steps)
        known = dict.fromkeys((*self._order, *planned, *settled))
        order = dict.fromkeys((*(r.name for r in results if r.name not in known), *known))
        by_name: dict[str, list[ModelResult]] = {}
        looked_at = {result.name for result in results}
        current = [result for result in self._current if result.name not in looked_at]
        for result in (*results, *current):
            by_name.setdefault(result.name, []).append(result)
        return tuple(result for name in order for result in by_name.get(name, ()))

    def _run_record(self) -> Run:
        return Run(
            id=self._report.run_id,
            command=self._report.command,
            arguments=self._request.arguments,
            target=self._shop.project.target.name,
            run_timestamp=self._report.run_timestamp,
            holder=self._shop.holder(self._report.run_id),
            started=self._shop.clock.now(),
        )
