"""The use case `run --catch-up`: repeat runs until packages contain all events up to now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from penstock.app.commands.run import AskRefresh, run
from penstock.app.events import Listener, silent
from penstock.app.execution.results import with_resume_command
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.planning.packages import plan_package, selecting
from penstock.app.planning.selection import divided
from penstock.app.request import AnyRun, RunRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.core.errors import UsageError
from penstock.core.records import Status
from penstock.core.sessions.manifest import Limits
from penstock.core.sessions.package import SessionPackage
from penstock.plan.kinds.manifest import tracked_models


def catch_up(
    services: Services,
    request: RunRequest,
    listener: Listener = silent,
    ask: AskRefresh = lambda _: True,
) -> RunReport:
    """Repeat runs as of one time, one run per window; return the report of the last one.

    Ends when the packages are caught up and in sync, when a run fails or does not move the limits,
    or after `max_windows`.
    """
    at = run_timestamp_of(services, request.run_timestamp)
    dated, packages = replace(request, as_of=at), _packages(services, request)
    before = () if request.full_refresh else _limits(services, packages, at)
    report = run(services, dated, listener, ask)
    windows = int(not report.plan.is_empty)
    while _goes_on(services, report, packages) and windows != request.max_windows:
        limits = _limits(services, packages, at)
        if limits == before:  # they are frozen
            break
        before, windows = limits, windows + 1
        services.run_id = ""  # the next window is another run
        dated = replace(dated, full_refresh=False)
        report = run(services, dated, listener)
    again = selecting(services.project, divided(services, request, at)[0])
    left = ", ".join(each.name for each in packages if not _is_done(services, each))
    runs = f"{windows} run{'' if windows == 1 else 's'}"
    note = f"{left}: not caught up after {runs}" if left else f"caught up: {runs}"
    return with_resume_command(replace(report, notes=(*report.notes, note)), request, again)


def _packages(services: Services, request: AnyRun) -> tuple[SessionPackage, ...]:
    at = run_timestamp_of(services, request.run_timestamp)
    names, _, _ = divided(services, request, at)
    found = {own.name: own for name in names if (own := services.project.package_of(name))}
    if not found:
        sentence = "--catch-up is about session packages; none is selected"
        raise UsageError("option-conflict", sentence, hint="--select PACKAGE --catch-up")
    return tuple(found.values())


def _limits(
    services: Services, packages: Sequence[SessionPackage], at: dt.datetime
) -> tuple[Limits, ...]:
    """Return the limits of the next run of each package."""
    plans = (plan_package(services, each, at) for each in packages)
    return tuple(planned.limits for plan in plans for planned in plan.limits)


def _goes_on(services: Services, report: RunReport, packages: Sequence[SessionPackage]) -> bool:
    done = all(_is_done(services, each) for each in packages)
    return report.succeeded and not report.plan.is_empty and not done


def _is_done(services: Services, package: SessionPackage) -> bool:
    """Return whether the last run of a package left no work and no model behind."""
    sessions, strict = services.reading.sessions, package.options.strict_seed_limits
    passes = sessions.passes(package.name)
    last = next((each for each in passes if each.kind.reads_new_events), None)
    if last is None or last.status is not Status.SUCCESS or not last.caught_up:
        return False
    rows = {row.model: row.position(strict=strict) for row in sessions.manifest(package.name)}
    tracked = tracked_models(services.project, package)
    return len({rows.get(name) for name in tracked}) <= 1
