"""Running passes of session packages: what their steps share, from the lease to the last count.

The base tables of a pass are built one after another in one session, which holds the window that
was scanned once. Modules have their own sessions, like all other steps.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.open_pass import PassRun, delta_versions, pass_warnings
from penstock.app.preparing.pins import Inputs, pin_names
from penstock.app.services.services import Services
from penstock.app.services.workers import waiting
from penstock.core.errors import LeaseLostError, SessionLimitsError
from penstock.core.findings import Finding
from penstock.core.ports.engine import StepSession
from penstock.core.ports.sessions import PassEnd, SessionPass
from penstock.core.records import Holder, ModelRecord, Status
from penstock.core.sessions.manifest import (
    LogVersion,
    ManifestRow,
    PassEvents,
    PassKind,
    PassStepKind,
    SessionPromise,
    greatest,
)
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionPackage
from penstock.plan.cascade import upstream_models
from penstock.plan.kinds.manifest import (
    ModelEnd,
    late_since,
    manifest_passes,
    row_after,
    tracked_models,
)
from penstock.plan.values import Step
from penstock.plan.work import PassKey, PassWork
from penstock.state.sql.packages import lease_of_package
from penstock.strategies.relations import query_tables

_PROCESSES = (PassStepKind.MODULE, PassStepKind.MODEL)


@dataclass(frozen=True, slots=True)
class PassesOf:
    """The run of the passes: its identity, time, and models."""

    holder: Holder
    run_timestamp: dt.datetime
    wait_seconds: float
    records: Mapping[str, ModelRecord]
    view: ObservedTables


class PassRuns:
    """The passes of one run of penstock; its steps run on several threads."""

    def __init__(
        self,
        services: Services | None = None,
        run: PassesOf | None = None,
        steps: Iterable[Step] = (),
    ) -> None:
        """Store which steps belong together; nothing begins."""
        if services is not None and run is not None:
            self._services, self._context = services, run
        self._steps: dict[PassKey, list[Step]] = {}
        for step in steps:
            if (pass_key := step.work.pass_key) is not None:
                self._steps.setdefault(pass_key, []).append(step)
        self._runs: dict[PassKey, PassRun] = {}
        self.warnings: list[Finding] = []
        self._lock = Lock()

    def of(self, step: PassWork) -> PassRun:
        """Return the pass of a step; the first of its steps takes the lease and pins the events."""
        with self._lock:
            if step.pass_key not in self._runs:
                self._runs[step.pass_key] = self._begin(step)
            return self._runs[step.pass_key]

    def _begin(self, step: PassWork) -> PassRun:
        services, context = self._services, self._context
        project, planned = services.project, step.planned
        package = project.packages[step.package]
        names = query_tables(project, (package.events,))
        model = project.models[step.part.model]
        inputs = pin_names(services, model, names, context.records, context.view)
        wanted = SessionPass(
            package.name,
            0,
            planned.kind,
            context.holder.run,
            planned.limits,
            context.run_timestamp,
            {each.input: each.pin for each in inputs.pins},
            rebuild=planned.rebuild,
        )
        sessions = services.writing.sessions
        begin = partial(sessions.begin_pass, wanted, context.holder)
        begun = waiting(services, begin, context.wait_seconds)
        steps = self._steps[step.pass_key]
        found = PassRun(package, begun, inputs, {each.key for each in steps})
        found.head = planned.status.max_position
        found.since = self._late_since(package, begun, [each.model for each in steps])
        overwrites = sessions.overwrites(package.name)
        if not self._is_as_planned(step, overwrites):
            sessions.end_pass(found.begun, PassEnd(Status.FAILED))
            raise SessionLimitsError(
                "plan-outdated",
                f"the manifest of {package.name} has moved since the limits were planned",
                where=package.where,
                hint="run again",
            )
        quarantine = package.model(SessionTable.QUARANTINE)
        if quarantine is not None and quarantine.name not in overwrites:
            head = services.log.head(project.uri_of(quarantine.table))
            found.quarantined_at = head.version if head else None
        return found

    def _late_since(
        self, package: SessionPackage, begun: SessionPass, models: Collection[str] | None = None
    ) -> dict[str, LogVersion]:
        """Return the versions up to which some models have late rows; None for all tracked ones."""
        sessions, now = self._services.writing.sessions, delta_versions(begun.pins)
        tracked = tracked_models(self._services.project, package)
        rows = [
            row
            for row in sessions.manifest(package.name)
            if row.model in tracked and (models is None or row.model in models)
        ]
        last = {}
        if any(row.late_to is None for row in rows):  # of an older release
            passes = sessions.passes(package.name, 4)  # two of each run
            last = next((delta_versions(e.pins) for e in passes if e.seq < begun.seq), {})
        return late_since(rows, now, last)

    def _is_as_planned(self, step: PassWork, overwrites: Collection[str]) -> bool:
        """Return whether limits and tables are unchanged since the plan, with the lease held.

        If the previous pass failed and its tables still need a rebuild, they are not usable.
        """
        for each in self._steps[step.pass_key]:
            part = each.work.part if isinstance(each.work, PassWork) else step.part
            keeps = part.kind is PassStepKind.STITCH or part.conditional or each.initial
            if each.model in overwrites and not keeps:
                return False
        earlier = [key for key in self._runs if key[0] == step.package]
        if step.planned.rebuild is not None or earlier:  # its own pass before moved them
            return True
        project, package = self._services.project, self._services.project.packages[step.package]
        rows = self._services.writing.sessions.manifest(package.name)
        tracked = tracked_models(project, package)
        now = manifest_passes(package, rows, tracked, self._context.run_timestamp)
        return step.planned.limits in [each.limits for each in now]

    def _require_lease(self, run: PassRun) -> None:
        """Raise if another run has the package: this one was silent for too long."""
        target = lease_of_package(run.package.name)
        taken = self._services.writing.leases.taken()
        if not any(each.target == target and each.run == run.begun.run for each in taken):
            sentence = f"{target} was taken over by another run while this one was silent"
            raise LeaseLostError("lease-lost", sentence, hint="run again")

    def session(self, step: PassWork) -> StepSession | None:
        """Return the session that the base tables of a pass share; None for other steps."""
        if step.part.kind is not PassStepKind.BASE:
            return None
        run = self.of(step)
        if run.session is None:
            opened = self._services.engine.session(step.package, run.package.where)
            run.session = run.closing.enter_context(opened)
        return run.session

    def with_events(self, step: PassWork, inputs: Inputs) -> Inputs:
        """Return the inputs of a step, with the events at the version that the pass reads."""
        own = self.of(step).inputs
        pins = {each.input: each for each in (*inputs.pins, *own.pins)}
        there = {each.input for each in inputs.pins}
        return Inputs(
            {name: own.reads.get(name, read) for name, read in inputs.reads.items()},
            tuple(each for name, each in pins.items() if name in there),
            inputs.deferred,
        )

    def skip_reason(self, step: PassWork) -> str:
        """Return why the model of a step does not take part in its pass, "" if it does.

        The models below it must come first, or it would skip rows that they have yet to write.
        """
        if step.part.kind not in _PROCESSES or step.planned.rebuild is not None:
            return ""
        project = self._services.project
        package, upper = project.packages[step.package], step.planned.limits.upper_limit
        rows = {row.model: row for row in self._services.writing.sessions.manifest(step.package)}
        strict, row = package.options.strict_seed_limits, rows.get(step.part.model)
        at = row.position(strict=strict) if row else None
        if step.part.conditional and at != step.planned.status.max_position:
            return "its model is not at the head yet"
        run = self._runs.get(step.pass_key)
        here = run.processed if run else ()
        for name in upstream_models(project.models[step.part.model]):
            if name in tracked_models(project, package) and name not in here:
                above = rows.get(name, ManifestRow(name))
                reached = greatest(above.covered_to, above.position(strict=strict))
                if reached is None or reached < upper:
                    return f"{name} comes first, which has not processed these events"
        return ""

    def _row(self, package: str, model: str) -> ManifestRow | None:
        rows = self._services.writing.sessions.manifest(package)
        return next((row for row in rows if row.model == model), None)

    def promise(self, step: PassWork) -> SessionPromise:
        """Return what a step leaves in the records of its package when it succeeds."""
        run, kind = self.of(step), step.part.kind
        self._require_lease(run)
        package, own = run.package, SessionPromise(step.package)
        if kind is PassStepKind.STITCH:
            # the head pass of the same run may change mappings under the same number
            return replace(own, stitched=run.begun.seq - (run.begun.kind is PassKind.BACKFILL))
        if kind is PassStepKind.BASE:
            quarantine = package.model(SessionTable.QUARANTINE)
            lets_go = quarantine is not None and quarantine.name == step.part.model
            return replace(own, released=run.released_ids if lets_go else ())
        mapping = package.model(SessionTable.USER_MAPPING)
        numbered = mapping is not None and mapping.name == step.part.model
        own = replace(own, stitched=run.begun.seq if numbered else 0)  # its rows carry it
        if step.planned.rebuild is not None:  # no model advances; its row stays in the token
            return replace(own, row=self._row(package.name, step.part.model))
        events = run.events or PassEvents()
        row = self._row(package.name, step.part.model)
        late_to = delta_versions(run.begun.pins)
        if row is None:  # what the others lack is taken by all of them
            late_to |= self._late_since(package, run.begun)
        end = ModelEnd(
            step.planned,
            run.begun.now,
            events.greatest,
            bool(events.later_events),
            tracked_models(self._services.project, package)[step.part.model],
            run.begun.run,
            late_to=late_to,
        )
        return replace(own, row=row_after(step.part.model, row, end, package.options))

    def note_events(self, step: PassWork) -> None:
        """Record the counts of a pass once its events are built."""
        run = self._runs[step.pass_key]
        if step.part.kind in _PROCESSES:
            run.processed.add(step.part.model)
        events = run.package.model(SessionTable.EVENTS_THIS_RUN)
        if run.events is not None and events and events.name == step.part.model:
            self._services.writing.sessions.note_events(run.begun, run.events)

    def note_end(self, step: Step, *, well: bool) -> None:
        """Record that a step ended; the last one ends its pass."""
        with self._lock:
            run = self._runs.get(step.work.pass_key) if step.work.pass_key else None
            if run is None:
                return
            run.left.discard(step.key)
            run.failed |= not well
            is_over = not run.left
        if is_over:
            self._end(run)

    def close(self) -> None:
        """End all open passes: the run is over."""
        for run in self._runs.values():
            if run.left:
                run.failed = True
                self._end(run)

    def _end(self, run: PassRun) -> None:
        run.left.clear()
        run.closing.close()
        self.warnings += pass_warnings(run)
        self._services.writing.sessions.end_pass(run.begun, run.end())
