"""Running steps: `plan`, `run`, `sync` and `backfill`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.app.flags import Yes
from penstock.app.request import AnySync, BackfillRequest, RunRequest, SyncRequest
from penstock.ui.cli.options import ask, command, opened
from penstock.ui.cli.output import CommandOutput, confirm, exit_code, overwrite_asker

if TYPE_CHECKING:
    from penstock.app.commands.plan import Preview


@command("penstock plan --select +daily_user_stats", without=["dry_run", "catch_up", "max_windows"])
def plan_command(output: CommandOutput, request: RunRequest, *, yes: Yes = False) -> int:  # noqa: ARG001  a run takes it
    """Show what a run would do, and why.

    The same as 'penstock run --dry-run': starts no Spark and writes nothing. Exits 1 if a model
    cannot be run.
    """
    return _plan(output, request)


@command(
    "penstock run --select +daily_user_stats\npenstock run shop --target prod\n"
    "penstock run --select web --catch-up"
)
def run_command(output: CommandOutput, request: RunRequest, *, yes: Yes = False) -> int:
    """Bring tables and views up to date.

    Runs exactly the steps that 'penstock plan' shows and skips what is current. After a failure the
    last line is the command that resumes. Asks before --full-refresh rebuilds a session package.
    """
    if request.dry_run:
        return _plan(output, request)
    if request.catch_up:
        from penstock.app.commands.catch_up import catch_up as run
    else:
        from penstock.app.commands.run import run
    from penstock.ui.render.run import run_text

    def ask(packages: Sequence[str]) -> bool:
        named = ", ".join(packages)
        return confirm(f"{named}: empty all tables and process all events again?", yes=yes)

    with opened(request) as services:
        with output.progress(services) as listener:
            report = run(services, request, listener, ask)
        return output.finish(request, report, run_text)


def _plan(output: CommandOutput, request: RunRequest) -> int:
    from penstock.app.commands.plan import preview

    return _show_plan(output, ask(request, preview, request))


def _show_plan(output: CommandOutput, found: Preview) -> int:
    from penstock.ui.render.plan import plan_text, preview_document

    for note in found.report.notes:
        output.warn(note)
    text = functools.partial(plan_text, verbose=output.verbose)
    output.print(found, text, preview_document, colours=True)
    return exit_code(found.report)


@command("penstock sync --cascade --dry-run\npenstock sync --query daily_user_stats --days 30")
def sync_command(output: CommandOutput, request: SyncRequest, *, yes: Yes = False) -> int:
    """Run the partitions that drifted.

    Exactly those that 'penstock status' shows, upstreams first. Asks before it overwrites rows that
    an earlier run built.
    """
    return _sync(output, request, yes=yes)


@command("penstock backfill daily_user_stats --from 2024-12-02 --to 2024-12-04")
def backfill_command(output: CommandOutput, request: BackfillRequest, *, yes: Yes = False) -> int:
    """Run all partitions of a range, drifted or not.

    Asks before it overwrites rows that an earlier run built. For an incremental Python model the
    range applies to its time column, and its rows are replaced in one commit.
    """
    return _sync(output, request, yes=yes)


def _sync(output: CommandOutput, request: AnySync, *, yes: bool) -> int:
    """Show the plan, or run it; return the exit code."""
    if request.dry_run:
        from penstock.app.commands.sync import preview_sync
        from penstock.ui.render.plan import sync_text

        found = ask(request, preview_sync, request)
        if found.report.preview is None:  # a rerun, which repairs no drift
            return _show_plan(output, found)
        text = functools.partial(sync_text, verbose=output.verbose)
        return output.finish(request, found.report, text)
    from penstock.app.commands.sync import sync
    from penstock.ui.render.run import run_text

    with opened(request) as services:
        with output.progress(services) as listener:
            report = sync(services, request, listener, overwrite_asker(services.clock.now, yes=yes))
        return output.finish(request, report, run_text)
