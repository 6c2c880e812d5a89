"""One run of a plan: its steps on threads, their results, and plans that follow from rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from penstock.app.artifacts.write import write_artifacts
from penstock.app.checking.flags import drop_repeated
from penstock.app.checking.gates import Ahead, TakenOut, flagged_above
from penstock.app.commands.plan import context_of, report_of, unchanged_results
from penstock.app.events import Listener, RunStarted, Said, StepEnded, StepStarted, silent
from penstock.app.execution.commit import Ended, refresh_record
from penstock.app.execution.hooks import grant_again, project_hooks, retried_text, retry_hooks
from penstock.app.execution.recover import Recovery, recover
from penstock.app.execution.results import (
    failed_partitions,
    final_error,
    in_order,
    remaining_steps,
    result_of,
    view_result,
    with_resume_command,
)
from penstock.app.execution.schedule import Node, Schedule, StepActions
from penstock.app.execution.settle import EVERYTHING, settle
from penstock.app.execution.step import execute
from penstock.app.execution.step_state import WorkKind
from penstock.app.execution.template_rows import PutOff, RowsChanged
from penstock.app.kinds import KINDS
from penstock.app.observation.log_reader import note_written
from penstock.app.planning.make_plan import Planned
from penstock.app.preparing.function_windows import shared_frames
from penstock.app.preparing.run_context import Context
from penstock.app.reports import ModelResult
from penstock.app.request import AnyRun, AnySync
from penstock.app.run_report import SIGTERM, RunReport
from penstock.app.services.catalog_sources import find_places
from penstock.app.services.services import Services
from penstock.app.services.workers import beating
from penstock.core.beside.hooks import HookMoment
from penstock.core.errors import (
    ConcurrentWriterError,
    PenstockError,
    PlanOutdatedError,
    SparkDiedError,
    StateError,
    TableError,
    interruption,
)
from penstock.core.records import HookRecord, Status
from penstock.engine.jvm import warnings_of
from penstock.plan.cascade import parents_of
from penstock.plan.values import Step
from penstock.plan.work import work_of

_CONFLICT_PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each retry; by then the other writer's commit is in the log, or never will be."""
SPARK_DIED = "Spark's JVM is gone"
Asked = TypeVar("Asked", AnyRun, AnySync)


def begun(
    services: Services,
    request: Asked,
    listener: Listener,
    planner: Callable[[Services, Asked], Planned],
    anew: tuple[str, ...] = (),
) -> tuple[Planned, RunReport]:
    """Settle what a crash left open, then plan; return a report before any step."""
    if listener is not silent:
        services.patience.tell = lambda sentence: listener(Said(sentence))
    recovery: Recovery = recover(services, give_up=anew)
    for sentence in recovery.messages_by_step:
        listener(Said(sentence))
    settled = settle(services)
    hooks: tuple[HookRecord, ...] = retry_hooks(services)
    for sentence in map(retried_text, hooks):
        listener(Said(sentence))
    services.heads = {} if recovery.steps or settled.results or hooks else recovery.heads
    planned = planner(services, request)
    services.heads = {}
    if planned.plan.steps and find_places(services, planned.sources):
        planned = planner(services, request)
    planned = planned.after(settled).without(recovery.stuck)
    run_id, at = services.run_id or services.clock.new_id(), planned.plan.run_timestamp
    recovered = (*recovery.messages_by_step, *map(retried_text, hooks))
    blank = HookRecord(run_id, HookMoment.AFTER, 0, "", at)
    hooks += grant_again(services, planned.regranted, blank)
    for sentence in planned.said:
        listener(Said(sentence))
    report = report_of(planned, request)
    return planned, replace(report, run_id=run_id, recovered=recovered, hooks=hooks)


@dataclass(slots=True)
class Runner:
    """One run of a plan that has steps."""

    services: Services
    """What the steps need."""
    request: AnyRun | AnySync
    """What the user asked for."""
    tell: Listener
    """Receives every event."""
    planned: Planned
    """The plan that the user knows."""
    report: RunReport
    """The report before any step."""
    planner: Callable[[Services, Any], Planned]
    """Plans again once templates have read other rows."""
    _interrupted: bool = False
    """Whether the user ended the run."""
    _terminated: bool = False
    """Whether a signal ended it."""
    _holds: bool = False
    """Whether statements may still run."""
    _spark_died: bool = False
    """Whether Spark's JVM is gone."""
    _raised: bool = False
    """Whether a function raised KeyboardInterrupt."""
    _skipped: dict[str, str] = field(default_factory=dict)
    """Why steps were skipped, by their keys."""
    _put_off: PutOff = field(default_factory=PutOff)
    """The models of the next plan of this run."""
    _results: list[ModelResult] = field(default_factory=list)
    """The results so far."""
    _kinds: dict[str, WorkKind] = field(default_factory=dict)
    """The kinds of work by model."""
    _steps: dict[str, Step] = field(default_factory=dict)
    """The steps of all its plans by their keys."""
    _context: Context = field(init=False)
    """What the steps share."""

    def __post_init__(self) -> None:
        """Prepare what the steps share."""
        self._context = self._prepare(self.planned)

    def _prepare(self, planned: Planned) -> Context:
        project = self.services.project
        for step in planned.plan.steps:
            self._steps[step.key] = step
            self._kinds[step.model] = KINDS[work_of(project, project.models[step.model])]
        return context_of(self.services, planned, self.request, self.report)

    def run(self) -> RunReport:
        """Execute the plan; errors of steps are in the report."""
        services, request, report = self.services, self.request, self.report
        if self._steps:
            services.engine.require(writes=True)
        self.planned.project_state.log_reader.keep()
        status = Status.FAILED
        record = services.run_record(
            report.run_id, report.command, report.run_timestamp, request.arguments
        )
        services.writing.journal.start_run(record)
        beat = services.project.lease.heartbeat.total_seconds()
        try:
            frames = shared_frames(services, self._context, self.planned.plan.steps)
            sharing = services.engine.sharing(frames)
            with beating(services.writing.leases, report.run_id, beat), sharing:
                self._collect_with_hooks()
            ends = [*(each.ok for each in self._results), *(h.ok for h in self._context.hooks)]
            status = Status.SUCCESS if all(ends) else status
        except KeyboardInterrupt as error:
            self._interrupted, self._terminated = True, SIGTERM in error.args
        finally:
            self._context.passes.close()
            notes = self._end_run(status)
        note_written(services, (step.model for step in self.planned.plan.steps))
        # what Spark's JVM said of itself, if this command started it
        of_log = warnings_of(Path(services.written_log)) if services.written_log else ()
        report = replace(
            report,
            results=self._in_order(),
            hooks=(*report.hooks, *self._context.hooks),
            notes=(*report.notes, *notes, *of_log),
            interrupted=self._interrupted,
            terminated=self._terminated,
            log_path=services.written_log,
        )
        report = with_resume_command(report, request, self.planned.again)
        write_artifacts(services, report)
        return report

    def _end_run(self, status: Status) -> tuple[str, ...]:
        """Record how the run ended; an unavailable store must not hide the results of steps."""
        notes = tuple(each.render() for each in self._context.passes.warnings)
        try:
            self.services.writing.journal.end_run(self.report.run_id, status, holds=self._holds)
        except StateError as error:
            return (*notes, error.render())
        return notes

    def _collect_with_hooks(self) -> None:
        """Run the steps between the hooks of the project; those after them run in any case."""
        report, hooks = self.report, self._context.hooks
        self.tell(RunStarted(report.run_id, self.planned.plan))
        blank = HookRecord(report.run_id, HookMoment.START, 0, "", report.run_timestamp)
        hooks += project_hooks(self.services, blank) if self._steps else ()
        if all(each.ok for each in hooks):
            self._collect()
        else:
            for step in self.planned.plan.steps:
                self._end(self._of_step(step, "skipped", "a hook before the run failed"))
        if self._steps and not self._spark_died:
            hooks += project_hooks(self.services, blank, self._results)

    def _collect(self) -> None:
        self._collect_plan(self.planned)
        while self._put_off.models and not self._spark_died:
            if self.request.fail_fast and not all(each.ok for each in self._results):
                break
            names = self._put_off.take()
            try:
                self._collect_plan(self._plan_again(names))
            except PenstockError as error:  # with the rows that were read the project is broken
                for name in names:
                    result = ModelResult.of(
                        self.services.project.models[name], "failed", error.code
                    )
                    self._end(replace(result, error=error))

    def _plan_again(self, names: Sequence[str]) -> Planned:
        """Plan the models again whose templates read other rows, and what reads them."""
        services, earlier = self.services, self._context
        self.tell(Said(f"planned again with the rows that templates read: {', '.join(names)}"))
        services.project = services.reload()
        planned = self.planner(services, self.request).only(names)
        earlier.passes.close()
        self._context = self._prepare(planned)
        self._context.follow(earlier)
        self._results += unchanged_results(services, planned)
        return planned

    def _collect_plan(self, planned: Planned) -> None:
        plan, settled = planned.plan, planned.settled
        models = self.services.project.models
        for blocked in plan.blocked:
            result = ModelResult.of(models[blocked.model], "failed", blocked.error.code)
            self._end(replace(result, error=blocked.error))
        nodes = []
        for s in plan.steps:  # what it reads may have failed before it without being in the plan
            above = parents_of(self.services.project, models[s.model])
            unsettled = (name for name in above if name in settled.failed)
            nodes.append(Node(s.key, (*s.upstream, *unsettled), s.work.has_parts, s.later_than))
        for result in settled.results:
            self._results.append(result)
            self.tell(StepEnded(result, steps=0))
        bad = {blocked.model for blocked in plan.blocked}
        self._context.failed.update(dict.fromkeys(bad, EVERYTHING))
        self._context.failed.update(settled.failed)
        bad |= set(settled.failed)
        work = StepActions(self._do, self._skip, lambda results: not all(r.ok for r in results))
        threads = self.request.threads or self.services.project.threads
        schedule = Schedule(nodes, work, threads, bad)
        try:
            for found in schedule.results(fail_fast=self.request.fail_fast):
                self._end(*found)
                if self._raised:
                    raise KeyboardInterrupt  # noqa: TRY301  it is caught below
        except BaseException as error:  # a bug too: no step may go on behind a run that ended
            if isinstance(error, KeyboardInterrupt):
                self._interrupted = True
                self.services.interrupt()
            self._holds = True  # until the last statement has ended
            for found in schedule.stop():
                self._end(*found)
            self._holds = False
            raise

    def _end(self, *results: ModelResult) -> None:
        """Report the result of one planned step; the last of its results ends it."""
        for left, result in zip(reversed(range(len(results))), results, strict=True):
            self._results.append(result)
            self.tell(StepEnded(result, steps=0 if left else 1))

    def _do(self, key: str) -> tuple[ModelResult, ...]:
        found = self._results_of(key)
        self._context.passes.note_end(self._steps[key], well=all(each.ok for each in found))
        return found

    def _results_of(self, key: str) -> tuple[ModelResult, ...]:
        if self._spark_died:  # a new JVM could not know whether the old one's statement still runs
            return self._skip(key, "")
        step = self._steps[key]
        if self._put_off.models:
            project = self.services.project
            if self._put_off.holds(step.model, parents_of(project, project.models[step.model])):
                return ()
        try:
            share = self._kinds[step.model].share_of(self.services, self._context, step)
        except TableError as error:  # the log of what it reads, which was readable a moment ago
            self._context.fail(step)
            return (replace(self._of_step(step, "failed", error.code), error=error),)
        results = [self._of_step(each, "skipped", "upstream failed") for each in share.blocked]
        results += [
            self._of_step(each, "unchanged", "its upstream made no change") for each in share.idle
        ]
        return (*results, *(result for each in share.steps for result in self._step(each)))

    def _step(self, step: Step, ahead: Ahead | None = None) -> tuple[ModelResult, ...]:
        """Run a step; if a gate before it removes partitions, run the rest."""
        started, clock = self.services.clock.now(), time.monotonic()
        self.tell(StepStarted(step.model, str(step.reason), step))
        out: TakenOut | None = None
        try:
            result = self._attempt(step, ahead)
        except TakenOut as error:
            out, lost = error, step.of(error.failed)
            self._context.fail(lost)
            result = self._of_step(lost, "skipped", out.error.code)
            result = replace(result, error=out.error, invariant_report=out.report)
        except RowsChanged:
            refused = self._put_off.put(step.model)
            if refused is None:
                return ()
            result = self._failed(step, refused)
        except KeyboardInterrupt:
            self._raised = True
            result = self._failed(step, interruption())
        except PenstockError as error:
            self._spark_died |= isinstance(error, SparkDiedError)
            result = self._failed(step, self.services.cause_of(error))
        took = round(time.monotonic() - clock, 3)
        notes = (*step.notes, *flagged_above(self.services, step), *result.notes)
        own = replace(result, started=started, duration=took, notes=notes)
        views = self._context.views.reports_of(step.key)
        found = (*(view_result(self.services.project, each) for each in views), own)
        if out is None:
            return found
        for each in remaining_steps(step, out.left):
            self._context.hooked |= {each.key} if step.key in self._context.hooked else set()
            found += self._step(each, out.ahead.of(each.work.grid, each.partitions))
        return found

    def _failed(self, step: Step, error: PenstockError) -> ModelResult:
        self._context.fail(step)
        return replace(self._of_step(step, "failed", str(step.reason)), error=error)

    def _of_step(self, step: Step, status: str, reason: str) -> ModelResult:
        return ModelResult.of(self.services.project.models[step.model], status, reason, step)

    def _attempt(self, step: Step, ahead: Ahead | None) -> ModelResult:
        """Run a step; plan and check it again if another step of its target came between."""
        now, pauses, kind = step, iter(_CONFLICT_PAUSES), self._kinds[step.model]
        while True:
            needed = kind.step_to_run(self.services, self._context, now)
            if isinstance(needed, str):
                return self._of_step(step, "unchanged", needed)
            try:
                ended = execute(self.services, self._context, kind, needed, ahead)
                kind.note_success(self._context, needed)
                return self._finish_step(step, ended)
            except (PlanOutdatedError, ConcurrentWriterError) as error:
                pause = next(pauses, None)
                if pause is None:
                    raise final_error(error) from None
                if isinstance(error, ConcurrentWriterError):
                    time.sleep(pause)
                anew = kind.replan(self.services, self._context, now)
                if anew is None:
                    return self._of_step(step, "unchanged", "another run built it")
                now, ahead = anew, None

    def _finish_step(self, step: Step, ended: Ended) -> ModelResult:
        intent, outcome = ended.intent, ended.outcome
        if not ended.is_held_back:
            refresh_record(self.services, self._context.records, intent.model)
        made = outcome.version is not None or (not intent.uri and not ended.is_held_back)
        if made:
            self._context.change(intent)
        if ended.checked is not None and ended.checked.quarantine is not None:
            model = self.services.project.models[intent.model]
            drop_repeated(self.services, model, ended.checked.quarantine)
        failed = failed_partitions(ended)
        if failed:
            self._context.fail(step.of(failed))
        shown = self._of_step(step, "success" if made else "unchanged", str(step.reason))
        return result_of(shown, step, ended)

    def _skip(self, key: str, because: str) -> tuple[ModelResult, ...]:
        step = self._steps[key]
        self._context.fail(step)
        self._context.passes.note_end(step, well=False)
        stopped = "interrupted" if self._interrupted else "fail-fast"
        stopped = SPARK_DIED if self._spark_died else stopped
        reason = f"upstream {because.partition(' ')[0]} failed" if because else stopped
        # what reads a step that was skipped is skipped for what it was skipped for
        reason = self._skipped[key] = self._skipped.get(because, reason)
        return (self._of_step(step, "skipped", reason),)

    def _in_order(self) -> tuple[ModelResult, ...]:
        settled = (result.name for result in self.planned.settled.results)
        planned = (step.model for step in self.planned.plan.steps)
        unchanged = unchanged_results(self.services, self.planned)
        return in_order(self._results, (*self.planned.names, *planned, *settled), unchanged)
