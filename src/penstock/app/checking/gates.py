"""Looking ahead of a step: what a failed gate takes out of it (spec/checks.md §5.1)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, StepChecks, all_skipped, checks_of_step, skipped
from penstock.app.checking.inputs import ONE_GROUP
from penstock.app.checking.results import failed_of, refusal, within
from penstock.app.checking.target import CheckTarget
from penstock.app.preparing.run_context import Context, Inputs, ViewReport, ViewVersion
from penstock.app.services.services import Services
from penstock.core.check_results import WHOLE_GROUP, Checked, CheckResult, Flag, InvariantReport
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.findings import some
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grid, shown_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, difference, intersection, numbers
from penstock.core.steps.inputs import Read, ViewPin
from penstock.core.steps.step import LONGEST, Intent, StepFailure
from penstock.plan.cascade import mapped_to
from penstock.plan.resolve import Segment, body_of
from penstock.plan.values import Step
from penstock.strategies.relations import leaves, leaves_of

NOT_RUN = "step did not run"


@dataclass(frozen=True, slots=True)
class Ahead:
    """What checks said ahead of a step, and the inputs, pinned, of which they said it."""

    inputs: Inputs
    results: tuple[CheckResult, ...]

    def of(self, grid: Grid, partitions: Ranges) -> Ahead:
        """Give what they said of some partitions of the step."""
        return replace(self, results=of_partitions(self.results, grid, partitions))


class TakenOut(Exception):  # noqa: N818  no failure of the step: some of it may still run
    """Partitions that a gate ahead of a step took out of it; `left` may still be made.

    `report` is what the checks said of those that failed, `held` what they said of those left,
    which are made from the same inputs.
    """

    def __init__(  # two sides of a step
        self,
        error: CheckFailedError,
        failed: Ranges,
        left: Ranges,
        report: InvariantReport,
        held: Ahead,
    ) -> None:
        """Keep what failed and what the checks said."""
        super().__init__(error.sentence)
        self.error = error
        self.failed = failed
        self.left = left
        self.report = report
        self.held = held


def look_ahead(target: CheckTarget, intent: Intent) -> tuple[CheckResult, ...]:
    """Evaluate the checks ahead of a step; raise `TakenOut` where a gate failed.

    What is taken out is written as a step of its own, SKIPPED, in one transaction.
    """
    if target.checks.skips:
        return skipped(target.checks.before, SKIPPED)
    results = target.look_before()
    failed = failed_of(results, intent.grid, target.partitions)
    here = of_partitions(results, intent.grid, failed)
    error = refusal(intent.model, Phase.BEFORE, here, intent.grid, failed)
    if error is None:
        return results
    report = InvariantReport(here, skipped(target.checks.after, NOT_RUN))
    take_out(target.services, target.context.run, intent, failed, report, error)
    left = difference(target.partitions, failed)
    held = Ahead(target.inputs, results).of(intent.grid, left)
    raise TakenOut(error, failed, left, report, held)


def take_out(  # the sides of one step
    services: Services,
    run: str,
    intent: Intent,
    failed: Ranges,
    report: InvariantReport,
    error: CheckFailedError,
) -> None:
    """Write partitions that a gate took out of a step as a step of their own, SKIPPED."""
    keys = write_ranges(intent.grid, failed)
    out = replace(intent, step=services.clock.new_id(), partitions=keys)
    failure = StepFailure.of(error)
    checked = Checked(OnFailure.FLAG, report, failure=failure, failed=failed)
    services.writing.journal.reject(out, failure, services.holder(run), checked)


def of_partitions(
    results: Sequence[CheckResult], grid: Grid, partitions: Ranges
) -> tuple[CheckResult, ...]:
    """Give what checks said of some partitions of a step."""
    keys = {grid.key(number) for number in numbers(partitions)}
    return tuple(within(result, keys) for result in results)


_SHOWN = 5


def look_at_views(  # the sides of one step
    services: Services,
    context: Context,
    step: str,
    intent: Intent,
    inputs: Inputs,
    partitions: Ranges = ONE_GROUP,
) -> None:
    """Evaluate the checks of every view that a step reads, on the versions that it has pinned.

    Each is looked at once in a run for the same versions. Raises `TakenOut` for all of the step
    where a gate failed: the view has no rows of its own that could be kept from its readers.
    """
    if context.options.skip_checks:
        return
    failed = []
    for view in _views(services, inputs):
        version = version_of(services, view, inputs)
        report = context.views.once(
            version,
            step,
            lambda: _report_on(services, context, view, inputs),  # noqa: B023  asked for at once
        )
        if report.has_errors():
            failed.append((view, report))
    if failed:
        raise _taken_out(services, context, intent, inputs, partitions, failed)


def version_of(services: Services, view: Model, inputs: Inputs) -> ViewVersion:
    """Give a view with the versions of the tables below it that a step has pinned."""
    below = {name.name for name in leaves(services.project, view)}
    pins = (pin for pin in inputs.pins if pin.input in below and not isinstance(pin.pin, ViewPin))
    return ViewVersion(view.name, frozenset(pins))


def _views(services: Services, inputs: Inputs) -> Iterator[Model]:
    """Give the views with checks that a step reads, those that others read first."""
    for pin in reversed(inputs.pins):
        model = services.project.models.get(pin.input)
        if isinstance(pin.pin, ViewPin) and model is not None and model.all_checks:
            yield model


def _report_on(services: Services, context: Context, view: Model, inputs: Inputs) -> ViewReport:
    """Evaluate the checks of a view in a session of its own, and record what they say."""
    started = time.monotonic()
    checks = checks_of_step(services.project, view, view.fingerprint.version, context.options)
    with services.engine.session(view.name, view.where) as session:
        target = CheckTarget(
            services=services,
            context=context,
            session=session,
            model=view,
            checks=checks,
            inputs=Inputs(_reads(services, view, inputs), inputs.pins),
        )
        before = target.look_before()
        report = InvariantReport(before, _after(target, checks, before))
    services.fault("after-evaluating")
    services.writing.journal.note_checks(context.run, view.name, report, (WHOLE_GROUP,), None)
    services.fault("after-checks")
    return ViewReport(view.name, report, round(time.monotonic() - started, 3))


def _after(
    target: CheckTarget, checks: StepChecks, before: tuple[CheckResult, ...]
) -> tuple[CheckResult, ...]:
    if not checks.after or any(each.failed_gate for each in before):
        return skipped(checks.after, NOT_RUN)
    rows = target.rows_of_view()
    return target.look_after(rows, rows, None, 0)


def _reads(services: Services, view: Model, inputs: Inputs) -> dict[InputName, Read]:
    """Give how the step reads what lies below a view."""
    below = leaves(services.project, view)
    return {name: inputs.reads[name] for name in below if name in inputs.reads}


def _taken_out(  # the sides of one step
    services: Services,
    context: Context,
    intent: Intent,
    inputs: Inputs,
    partitions: Ranges,
    failed: list[tuple[Model, InvariantReport]],
) -> TakenOut:
    """Write down that a step does not run, and say which gates of which views keep it from it."""
    model = services.project.models[intent.model]
    checks = checks_of_step(services.project, model, intent.fingerprint.version, context.options)
    error = _refusal(intent, partitions, failed)
    report = all_skipped(checks, NOT_RUN)
    intent = replace(intent, inputs=inputs.pins)
    take_out(services, context.run, intent, partitions, report, error)
    return TakenOut(error, partitions, (), report, Ahead(inputs, ()))


def _refusal(
    intent: Intent, partitions: Ranges, failed: list[tuple[Model, InvariantReport]]
) -> CheckFailedError:
    gates = [(view, each) for view, report in failed for each in report.all if each.failed_gate]
    first = some([f"view {v.name}: {each.name}: {each.message}" for v, each in gates], _SHOWN, "; ")
    keys = shown_ranges(intent.grid, partitions)
    view, gate = gates[0]
    return CheckFailedError(
        "before-check-failed",
        f"{intent.model}{f' {keys}' if keys else ''}: {first}"[:LONGEST],
        where=gate.where,
        hint=f"penstock check --query {view.name} --{gate.phase}",
    )


_INPUTS_SHOWN = 3


def flagged_above(services: Services, step: Step) -> tuple[str, ...]:
    """Say which flagged rows a step reads, through views too (spec/checks.md §5.6).

    That does not stop it.
    """
    model = services.project.models[step.model]
    read_from = leaves_of(services.project, model.inputs)
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
        for flag in read[:_INPUTS_SHOWN]
    ]
    if len(read) > _INPUTS_SHOWN:
        lines.append(f"upstream-flagged: and {len(read) - _INPUTS_SHOWN} more")
    return tuple(lines)


def _reads_flagged(services: Services, model: Model, step: Step, flag: Flag) -> bool:
    """Whether the step reads the flagged partition."""
    if step.grid.is_whole:
        return True
    version, body = body_of(model, step.version, step.revision)
    here = tuple(Segment(low, high, version, body) for low, high in step.partitions)
    found = mapped_to(services.project, model, here, {flag.model: ((flag.ord, flag.ord),)})
    return bool(intersection(found, step.partitions))
