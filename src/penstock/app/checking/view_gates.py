"""Looking at the checks of views ahead of the steps that read them (spec/checks.md §5.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from penstock.app.checking.ahead import NOT_RUN, Ahead, TakenOut, take_out
from penstock.app.checking.chosen import StepChecks, all_skipped, checks_of_step, skipped
from penstock.app.checking.ground import ONE_GROUP
from penstock.app.checking.subject import Subject
from penstock.app.inputs import Inputs
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.view_reports import ViewReport, ViewVersion
from penstock.core.check_results import WHOLE_GROUP, CheckResult, InvariantReport
from penstock.core.errors import CheckFailedError
from penstock.core.model import Model
from penstock.core.names import InputName
from penstock.core.partition import shown_ranges
from penstock.core.pin import ViewPin
from penstock.core.ranges import Ranges
from penstock.core.relation import Read
from penstock.core.step import LONGEST, Intent
from penstock.core.words import some
from penstock.strategies.relations import leaves

_SHOWN = 5


def look_at_views(  # the sides of one step
    shop: Shop,
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
    for view in _views(shop, inputs):
        version = version_of(shop, view, inputs)
        report = context.views.once(version, step, lambda: _looked_at(shop, context, view, inputs))  # noqa: B023  asked for at once
        if report.has_errors():
            failed.append((view, report))
    if failed:
        raise _taken_out(shop, context, intent, inputs, partitions, failed)


def version_of(shop: Shop, view: Model, inputs: Inputs) -> ViewVersion:
    """Give a view with the versions of the tables below it that a step has pinned."""
    below = {name.name for name in leaves(shop.project, view)}
    pins = (pin for pin in inputs.pins if pin.input in below and not isinstance(pin.pin, ViewPin))
    return ViewVersion(view.name, frozenset(pins))


def _views(shop: Shop, inputs: Inputs) -> Iterator[Model]:
    """Give the views with checks that a step reads, those that others read first."""
    for pin in reversed(inputs.pins):
        model = shop.project.models.get(pin.input)
        if isinstance(pin.pin, ViewPin) and model is not None and model.all_checks:
            yield model


def _looked_at(shop: Shop, context: Context, view: Model, inputs: Inputs) -> ViewReport:
    """Evaluate the checks of a view in a session of its own, and record what they say."""
    started = time.monotonic()
    checks = checks_of_step(shop.project, view, view.fingerprint.version, context.options)
    with shop.engine.session(view.name, view.where) as session:
        subject = Subject(
            shop=shop,
            context=context,
            session=session,
            model=view,
            checks=checks,
            inputs=Inputs(_reads(shop, view, inputs), inputs.pins),
        )
        before = subject.look_before()
        report = InvariantReport(before, _after(subject, checks, before))
    shop.fault("after-evaluating")
    shop.writing.journal.note_checks(context.run, view.name, report, (WHOLE_GROUP,), None)
    shop.fault("after-checks")
    return ViewReport(view.name, report, round(time.monotonic() - started, 3))


def _after(
    subject: Subject, checks: StepChecks, before: tuple[CheckResult, ...]
) -> tuple[CheckResult, ...]:
    if not checks.after or any(each.failed_gate for each in before):
        return skipped(checks.after, NOT_RUN)
    rows = subject.rows_of_view()
    return subject.look_after(rows, rows, None, 0)


def _reads(shop: Shop, view: Model, inputs: Inputs) -> dict[InputName, Read]:
    """Give how the step reads what lies below a view."""
    below = leaves(shop.project, view)
    return {name: inputs.reads[name] for name in below if name in inputs.reads}


def _taken_out(  # the sides of one step
    shop: Shop,
    context: Context,
    intent: Intent,
    inputs: Inputs,
    partitions: Ranges,
    failed: list[tuple[Model, InvariantReport]],
) -> TakenOut:
    """Write down that a step does not run, and say which gates of which views keep it from it."""
    model = shop.project.models[intent.model]
    checks = checks_of_step(shop.project, model, intent.fingerprint.version, context.options)
    error = _refusal(intent, partitions, failed)
    report = all_skipped(checks, NOT_RUN)
    intent = replace(intent, inputs=inputs.pins)
    take_out(shop, context.run, intent, partitions, report, error)
    return TakenOut(error, partitions, (), report, Ahead(inputs, ()))


def _refusal(
    intent: Intent, partitions: Ranges, failed: list[tuple[Model, InvariantReport]]
) -> CheckFailedError:
    gates = [(view, each) for view, report in failed for each in report.all if each.failed_gate]
    told = some([f"view {v.name}: {each.name}: {each.message}" for v, each in gates], _SHOWN, "; ")
    keys = shown_ranges(intent.grid, partitions)
    view, first = gates[0]
    return CheckFailedError(
        "before-check-failed",
        f"{intent.model}{f' {keys}' if keys else ''}: {told}"[:LONGEST],
        where=first.where,
        hint=f"penstock check --query {view.name} --{first.phase}",
    )
