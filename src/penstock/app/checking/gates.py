"""Checks before a step: what a failed gate removes from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from penstock.app.checking.chosen import SKIPPED, checks_of_step, skipped
from penstock.app.checking.results import ONE_GROUP, failed_of, part_of, refusal
from penstock.app.checking.target import CheckTarget
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context, ViewReport, ViewVersion
from penstock.app.services.services import Services
from penstock.core.check_results import WHOLE_GROUP, Checked, CheckResult, Flag, InvariantReport
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.findings import some
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partitions.partition import Grid, shown_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, difference, intersection, numbers
from penstock.core.records import Holder
from penstock.core.steps.inputs import ViewPin
from penstock.core.steps.step import LONGEST, Intent, StepFailure
from penstock.plan.cascade import mapped_to
from penstock.plan.values import Step
from penstock.strategies.relations import input_tables, query_tables

NOT_RUN = "step did not run"
_SHOWN, _FLAGS_SHOWN = 5, 3


@dataclass(frozen=True, slots=True)
class Ahead:
    """Results of the checks before a step, and the pinned inputs that they read."""

    inputs: Inputs
    results: tuple[CheckResult, ...]

    def of(self, grid: Grid, partitions: Ranges) -> Ahead:
        """Return the results for some partitions of the step."""
        keys = {grid.key(number) for number in numbers(partitions)}
        return replace(self, results=tuple(part_of(each, keys) for each in self.results))


@dataclass(eq=False, slots=True)
class TakenOut(Exception):  # noqa: N818  no failure of the step: some of it may still run
    """Partitions that a gate removed from a step; the partitions in `left` may still run.

    `report` holds the results for the failed partitions, `ahead` those for the partitions left,
    which are built from the same inputs.
    """

    error: CheckFailedError
    failed: Ranges
    left: Ranges
    report: InvariantReport
    ahead: Ahead


def look_ahead(target: CheckTarget, intent: Intent) -> tuple[CheckResult, ...]:
    """Evaluate the checks before a step; raise `TakenOut` if a gate failed.

    Removed partitions are recorded as a separate SKIPPED step, in one transaction.
    """
    if target.checks.skips:
        return skipped(target.checks.before, SKIPPED)
    results = target.look_before()
    failed, said = failed_of(results, intent.grid, target.partitions), Ahead(target.inputs, results)
    here = said.of(intent.grid, failed).results
    error = refusal(intent.model, Phase.BEFORE, here, intent.grid, failed)
    if error is None:
        return results
    report = InvariantReport(here, skipped(target.checks.after, NOT_RUN))
    _take_out(target.services, target.context.holder, intent, failed, report, error)
    left = difference(target.partitions, failed)
    raise TakenOut(error, failed, left, report, said.of(intent.grid, left))


def _take_out(  # the sides of one step
    services: Services,
    holder: Holder,
    intent: Intent,
    failed: Ranges,
    report: InvariantReport,
    error: CheckFailedError,
) -> None:
    keys = write_ranges(intent.grid, failed)
    out = replace(intent, step=services.clock.new_id(), partitions=keys)
    failure = StepFailure.of(error)
    checked = Checked(OnFailure.FLAG, report, failure=failure, failed=failed)
    services.writing.journal.reject(out, failure, holder, checked)


def look_at_views(  # the sides of one step
    services: Services,
    context: Context,
    step: str,
    intent: Intent,
    inputs: Inputs,
    partitions: Ranges = ONE_GROUP,
) -> None:
    """Evaluate the checks of every view that a step reads, on its pinned versions.

    Views that other views read come first; each is evaluated once per run for the same versions. If
    a gate failed, raises `TakenOut` for the whole step: a view has no stored rows that could be
    kept from its readers.
    """
    models, failed = services.project.models, []
    for pin in reversed(inputs.pins) if not context.options.skip_checks else ():
        view = models.get(pin.input)
        if view is None or not isinstance(pin.pin, ViewPin) or not view.all_checks:
            continue
        report = context.views.report_of(
            version_of(services, view, inputs),
            step,
            partial(_report_on, services, context, view, inputs),
        )
        failed += [(view, each) for each in report.all if each.failed_gate]
    if not failed:
        return
    model = models[intent.model]
    checks = checks_of_step(services.project, model, intent.fingerprint.version, context.options)
    first = some([f"view {v.name}: {g.name}: {g.message}" for v, g in failed], _SHOWN, "; ")
    keys = shown_ranges(intent.grid, partitions)
    view, gate = failed[0]
    error = CheckFailedError(
        "before-check-failed",
        f"{intent.model}{f' {keys}' if keys else ''}: {first}"[:LONGEST],
        where=gate.where,
        hint=f"penstock check --query {view.name} --{gate.phase}",
    )
    report = InvariantReport(*(skipped(each, NOT_RUN) for each in (checks.before, checks.after)))
    pinned = replace(intent, inputs=inputs.pins, deferred=inputs.deferred)
    _take_out(services, context.holder, pinned, partitions, report, error)
    raise TakenOut(error, partitions, (), report, Ahead(inputs, ()))


def version_of(services: Services, view: Model, inputs: Inputs) -> ViewVersion:
    """Return a view with the pinned versions of its tables."""
    below = {name.name for name in input_tables(services.project, view)}
    pins = (pin for pin in inputs.pins if pin.input in below and not isinstance(pin.pin, ViewPin))
    return ViewVersion(view.name, frozenset(pins))


def _report_on(services: Services, context: Context, view: Model, inputs: Inputs) -> ViewReport:
    started = time.monotonic()
    checks = checks_of_step(services.project, view, view.fingerprint.version, context.options)
    below = input_tables(services.project, view)
    reads = {name: inputs.reads[name] for name in below if name in inputs.reads}
    with services.engine.session(view.name, view.where) as session:
        target = CheckTarget(services, context, session, view, checks, Inputs(reads, inputs.pins))
        before = target.look_before()
        if not checks.after or any(each.failed_gate for each in before):
            after = skipped(checks.after, NOT_RUN)
        else:
            rows = target.rows_of_view()
            after = target.look_after(rows, rows, None, 0)
    report = InvariantReport(before, after)
    if services.fault is not None:
        services.fault("after-evaluating")
    services.writing.journal.note_checks(
        context.holder.run, view.name, report, (WHOLE_GROUP,), None
    )
    if services.fault is not None:
        services.fault("after-checks")
    return ViewReport(view.name, report, round(time.monotonic() - started, 3))


def flagged_above(services: Services, step: Step) -> tuple[str, ...]:
    """Return which flagged rows a step reads, also through views; this does not stop it."""
    model = services.project.models[step.model]
    read_from = query_tables(services.project, model.inputs)
    above = {name.name for name in read_from if name.kind is InputKind.MODEL}
    if not above:
        return ()
    flags = [flag for flag in services.reading.checks.flags() if flag.model in above]
    read = [
        flag
        for flag in flags
        if flag.model != model.name and _reads_flagged(services, model, step, flag)
    ]
    lines = [
        f"upstream-flagged: {model.name} reads {flag.model}"
        f"{'' if flag.partition == '*' else ' ' + flag.partition}, "
        f"which failed {', '.join(flag.checks)}"
        for flag in read[:_FLAGS_SHOWN]
    ]
    if len(read) > _FLAGS_SHOWN:
        lines.append(f"upstream-flagged: and {len(read) - _FLAGS_SHOWN} more")
    return tuple(lines)


def _reads_flagged(services: Services, model: Model, step: Step, flag: Flag) -> bool:
    here = step.work.segments(model)
    if not here:
        return True
    found = mapped_to(services.project, model, here, {flag.model: ((flag.ord, flag.ord),)})
    return bool(intersection(found, step.partitions))
