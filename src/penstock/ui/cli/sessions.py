"""Session packages: what they processed, what they would process, and how to change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from penstock.app.flags import FlagSpec, Package, a_count
from penstock.app.read_requests import LimitsRequest
from penstock.app.request import CommandRequest
from penstock.ui.cli.options import ask, command, group
from penstock.ui.cli.output import CommandOutput

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
    from penstock.ui.render.sessions import limits_document, limits_text

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
    from penstock.ui.render.sessions import manifest_document, manifest_text

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
    from penstock.ui.render.sessions import quarantine_document, quarantine_text

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
    from penstock.ui.render.sessions import runs_document, runs_text

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
