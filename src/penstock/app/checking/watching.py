"""Putting together what watches the step of a whole table."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.subject import Subject
from penstock.app.checking.table_output import TableOutput
from penstock.app.checking.watch import Watch
from penstock.app.inputs import Inputs
from penstock.app.look import Looked
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.works import build_of, work_of
from penstock.core.check_results import CheckResult
from penstock.core.checks import OnFailure
from penstock.core.engine_ports import StepSession
from penstock.core.model import Model
from penstock.core.statement import Work
from penstock.strategies.build import fed


def subject_of(  # the sides of one step
    shop: Shop,
    context: Context,
    session: StepSession,
    model: Model,
    inputs: Inputs,
    looked: Looked,
) -> Subject:
    """Give what the checks of a step are about."""
    version = model.fingerprint.version
    return Subject(
        shop=shop,
        context=context,
        session=session,
        model=model,
        checks=checks_of_step(shop.project, model, version, context.options),
        inputs=inputs,
        windows=looked.opened.windows if looked.opened else (),
    )


def watched(
    subject: Subject, looked: Looked, before: tuple[CheckResult, ...]
) -> tuple[Watch | None, Work]:
    """Give what watches a step, None where nothing is to be told, and the step's work.

    Rows that are looked at pass through a view of their own where the strategy computes them in
    its commit.
    """
    shop, context, model = subject.shop, subject.context, subject.model
    build = build_of(shop, model, looked)
    if subject.checks.is_empty:
        return None, work_of(shop, context, build)
    creates = looked.facts is None and not model.is_view
    mode = subject.checks.mode_where(creates=creates)
    if subject.checks.looks_after and build.takes_feed:
        build = fed(build)
    build = replace(build, staged=mode is OnFailure.BLOCK and subject.checks.looks_after)
    work = work_of(shop, context, build)
    output = TableOutput(
        subject,
        build,
        work,
        lambda target: work_of(shop, context, replace(build, target=target)),
        looked.facts.version if looked.facts else None,
    )
    return Watch(subject, output, mode, before), work
