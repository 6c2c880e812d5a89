"""`sessions`: the positions, limits and runs of session packages, and changes to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from penstock.app import documents
from penstock.app.documents import LIMITS, Json, document_of
from penstock.app.flags import FlagSpec, Package, a_count
from penstock.app.read_requests import LimitsRequest, RebuildSessionsRequest
from penstock.app.request import CommandRequest
from penstock.core.ports.sessions import SessionPass
from penstock.core.sessions.manifest import EventCounts, PassKind, instant_text, limit_lines
from penstock.ui.cli.options import ask, command, group, open_request
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.run import run_text
from penstock.ui.render.tables import aligned, table
from penstock.ui.render.values import count

if TYPE_CHECKING:
    from penstock.app.commands.sessions import (
        LimitsReport,
        ManifestReport,
        QuarantineReport,
        SessionRunsReport,
    )

_ROW = "model last_success covered_to advanced_to fingerprint run updated_at"
_COUNTED = (
    "read filtered null_device late null_session quarantined before_start beyond_cap duplicate kept"
)
_RUN = (
    f"seq run {LIMITS} now status caught_up future_events "
    f"greatest=events.greatest later_events=events.later_events window=events.window[{_COUNTED}] "
    f"history=events.history[{_COUNTED}] late_loaded=events.late_loaded "
    "beyond_horizon=events.beyond_horizon started ended"
)
_QUARANTINED = "session since reason run start_tstamp events_dropped dropped_to"
_PLACES = tuple(_COUNTED.split())


def limits_text(report: LimitsReport) -> str:
    """Return two lines per pass, and a third for one that has nothing to do."""
    plan = report.plan
    name = "Snowplow" if plan.package.options.is_snowplow else report.package
    lines = [line for each in plan.limits for line in limit_lines(name, each)]
    return "\n".join(f"{report.now:%H:%M:%S} + {line}" for line in lines)


def limits_document(report: LimitsReport) -> Json:
    """Return every pass with its limits, and the positions of the tracked models."""
    plan = report.plan
    return documents.limits_document(report.package, plan.limits, len(plan.tracked))


def manifest_text(report: ManifestReport) -> str:
    """Return one row per model."""
    header = ["model", "last_success", "covered_to", "advanced_to"]
    rows = [
        [row.model, *map(instant_text, (row.last_success, row.covered_to, row.advanced_to))]
        for row in report.rows
    ]
    return aligned([header, *rows], [False] * len(header)) if rows else "no model has a row yet"


def manifest_document(report: ManifestReport) -> Json:
    """Return the rows, and which models are tracked."""
    rows = [document_of(row, _ROW) for row in report.rows]
    return {"package": report.package, "tracked": list(report.tracked), "rows": rows}


def quarantine_text(report: QuarantineReport) -> str:
    """Return the newest sessions, then their total number."""
    header = ["session", "since", "reason", "start", "dropped", "dropped to"]
    rows = [
        [
            each.session,
            instant_text(each.since),
            each.reason,
            instant_text(each.start_tstamp),
            f"{each.events_dropped:,}",
            instant_text(each.dropped_to),
        ]
        for each in report.sessions
    ]
    counted = count(report.total, "session")
    return (
        f"{table(header, rows, right=['dropped'], first=('session', 'reason'))}\n\n{counted}"
        if rows
        else counted
    )


quarantine_document = partial(document_of, names=f"package sessions[{_QUARANTINED}] total")


def runs_text(report: SessionRunsReport) -> str:
    """Return the passes, newest first, with the counts of their events."""
    return "\n".join(map(_run_text, report.passes)) or "no run yet"


def _run_text(one: SessionPass) -> str:
    limits = one.limits
    kind = "" if one.kind is PassKind.PACKAGE else f"  {one.kind}"
    span = f"{instant_text(limits.lower_limit)} to {instant_text(limits.upper_limit)}"
    if one.rebuild is not None:
        span = str(one.rebuild)
    line = f"seq {one.seq}{kind}  state {limits.state:d}  {span}"
    if one.started and one.ended:
        line += f"  {round((one.ended - one.started).total_seconds())}s"
    line += f"  {'caught up' if one.caught_up else str(one.status).lower()}"
    if one.events is None:
        return line
    scopes = (("window", one.events.window), ("history", one.events.history))
    counted = [[f"  {name}", *_counts(found, every=name == "window")] for name, found in scopes]
    if late := one.events.late_loaded:
        beyond = one.events.beyond_horizon
        counted.append(["  late", f"late_loaded {late:,}", *_non_zero("beyond_horizon", beyond)])
    return "\n".join([line, *("  ".join(each).rstrip() for each in counted)])


def _counts(counts: EventCounts, *, every: bool) -> Iterator[str]:
    """Return the counts of read and kept events, then other classes, mostly non-zero ones."""
    rest = (name for name in _PLACES if name not in ("read", "kept"))
    for name in ("read", "kept", *rest):
        number = getattr(counts, name)
        if every or number or name in ("read", "kept"):
            yield f"{name} {number:,}"


def _non_zero(word: str, number: int) -> list[str]:
    return [f"{word} {number:,}"] if number else []


runs_document = partial(document_of, names=f"package passes[{_RUN}]")


Models = Annotated[Sequence[str], FlagSpec(names=("MODEL",))]
Sessions = Annotated[Sequence[str], FlagSpec(names=("SESSION",))]
Every = Annotated[bool, FlagSpec("All models of the manifest.", ("--all",))]
Truncate = Annotated[bool, FlagSpec("Replace all their rows with the next commit.")]
Export = Annotated[bool, FlagSpec("Write the rows to a table instead; starts Spark.")]
Limit = Annotated[int, a_count("Rows to show.")]
sessions_command = group(
    "penstock sessions limits web",
    """Inspect and control session packages.

    A package turns a table of events into tables of sessions and keeps them up to date.
    """,
)


@command("penstock sessions limits web", of=sessions_command)
def sessions_limits(output: CommandOutput, request: LimitsRequest) -> None:
    """Show which events the next run would read.

    Reads the manifest and the logs of the inputs; runs and writes nothing.
    """
    from penstock.app.commands.sessions import sessions_limits

    report = ask(request, sessions_limits, request)
    for warning in report.plan.warnings:
        output.warn(warning.render())
    output.print(report, limits_text, limits_document)


@command(
    "penstock sessions manifest web\npenstock sessions manifest web --export", of=sessions_command
)
def sessions_manifest(
    output: CommandOutput, request: CommandRequest, package: Package, *, export: Export = False
) -> None:
    """Show what each model has processed.

    One row per model that ever succeeded, including those no longer tracked. Times are UTC.
    """
    from penstock.app.commands.sessions import sessions_export, sessions_manifest

    if export:
        output.print_done(f"exported to {ask(request, sessions_export, package)}")
        return
    report = ask(request, sessions_manifest, package)
    output.print(report, manifest_text, manifest_document)


@command("penstock sessions quarantine web", of=sessions_command)
def sessions_quarantine(
    output: CommandOutput, request: CommandRequest, package: Package, limit: Limit = 50
) -> None:
    """Show quarantined sessions, which get no more events, newest first."""
    from penstock.app.commands.sessions import sessions_quarantine

    report = ask(request, sessions_quarantine, package, limit)
    output.print(report, quarantine_text, quarantine_document)


@command("penstock sessions runs web --limit 1", of=sessions_command)
def sessions_runs(
    output: CommandOutput, request: CommandRequest, package: Package, limit: Limit = 20
) -> None:
    """Show the passes of runs, newest first.

    Each with its limits, and the outcome of the events in its window and before it.
    """
    from penstock.app.commands.sessions import sessions_runs

    output.print(ask(request, sessions_runs, package, limit), runs_text, runs_document)


@command("penstock sessions forget web web_users --truncate", of=sessions_command)
def sessions_forget(
    output: CommandOutput,
    request: CommandRequest,
    package: Package,
    model: Models = (),
    *,
    every: Every = False,
    truncate: Truncate = False,
) -> None:
    """Forget what models have processed.

    Their tables stay; the next runs process all events again from the start date.
    """
    from penstock.app.commands.sessions import sessions_forget

    found = ask(request, sessions_forget, package, tuple(model), every=every, truncate=truncate)
    if found.unknown:
        output.warn(f"warning: the manifest has no row of {', '.join(found.unknown)}")
    output.print_done(f"forgotten: {', '.join(found.models)}" if found.models else "no rows")


@command(
    "penstock sessions rebuild web --from 2024-03-01 --to 2024-03-02\n"
    "penstock sessions rebuild web --session 6f2c-91",
    of=sessions_command,
    without=["full_refresh"],
)
def sessions_rebuild(output: CommandOutput, request: RebuildSessionsRequest) -> int:
    """Build sessions again from all their events.

    Sessions that begin in a range of days, or named ones, with today's options. What is gone from
    the events vanishes from all tables of the package. Without sessions, it continues a rebuild
    that did not end.
    """
    from penstock.app.commands.rebuild import sessions_rebuild

    with open_request(request) as services:
        with output.progress(services) as listener:
            report = sessions_rebuild(services, request, listener)
        return output.finish(request, report, run_text)


@command("penstock sessions release web 6f2c-91", of=sessions_command)
def sessions_release(
    output: CommandOutput, request: CommandRequest, package: Package, session: Sessions
) -> None:
    """Release sessions from quarantine with the next run.

    It reads their events again from the start. Raise `max_session_days` or repair the events first,
    or the sessions are quarantined again.
    """
    from penstock.app.commands.sessions import sessions_release

    asked = ask(request, sessions_release, package, tuple(session))
    output.print_done(f"the next run releases {', '.join(asked)}")
