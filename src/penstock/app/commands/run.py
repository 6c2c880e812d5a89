"""The use case `run`: bring the selected models up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from penstock.app.commands.plan import report_of, unchanged_results
from penstock.app.commands.runner import Runner, begun
from penstock.app.events import Listener, silent
from penstock.app.execution.results import (
    with_resume_command,
)
from penstock.app.planning.make_plan import make_plan, run_timestamp_of, timed
from penstock.app.planning.packages import refresh, refreshed
from penstock.app.planning.selection import divided
from penstock.app.receivers.notify import notified
from penstock.app.request import AnyRun, AnySync
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services

Asked = TypeVar("Asked", AnyRun, AnySync)
AskRefresh = Callable[[Sequence[str]], bool]


def run(
    services: Services,
    request: AnyRun,
    listener: Listener = silent,
    ask: AskRefresh = lambda _: True,
) -> RunReport:
    """Recover what a crash left open, plan, and execute the plan.

    If there is nothing to do, no JVM starts and no run is recorded. A failed step stops only the
    steps that depend on it; earlier commits stay. Raises only what prevents planning. Before
    session packages are rebuilt it asks for confirmation; a refusal changes nothing.
    """
    return notified(services, request, listener, lambda tell: _run(services, request, tell, ask))


def _run(services: Services, request: AnyRun, listener: Listener, ask: AskRefresh) -> RunReport:
    request, messages = timed(services, request)
    anew: tuple[str, ...] = ()
    if request.options.full_refresh:  # all their rows are made anew, whatever a step left
        anew, _, _ = divided(services, request, run_timestamp_of(services, request.run_timestamp))
    packages = refreshed(services.project, request)
    if packages and not ask([each.name for each in packages]):
        return replace(report_of(make_plan(services, request), request), aborted=True)
    planned, report = begun(services, request, listener, make_plan, anew)
    report = replace(report, notes=(*messages, *report.notes))
    if packages:
        services.engine.require(writes=True)
        refresh(services, packages)
    if not planned.plan.is_empty:
        return Runner(services, request, listener, planned, report, make_plan).run()
    results = (*planned.settled.results, *unchanged_results(services, planned))
    report = replace(report, results=results)
    return with_resume_command(report, request, planned.again)
