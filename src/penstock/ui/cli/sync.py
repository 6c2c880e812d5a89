"""`penstock sync`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import AnySync, SyncRequest
from penstock.ui.cli.options import YES, example, opened, takes
from penstock.ui.cli.output import CommandOutput, overwrite_asker
from penstock.ui.cli.steps import finish, progress


@click.command(
    epilog=example(
        "penstock sync --cascade --dry-run", "penstock sync --query daily_user_stats --days 30"
    )
)
@takes(SyncRequest, YES)
def command(output: CommandOutput, request: SyncRequest, *, yes: bool) -> int:
    """Run the partitions that drifted.

    Exactly those that 'penstock status' shows, upstreams first. Asks before it overwrites rows of
    an earlier success.
    """
    return carry_out(output, request, yes=yes)


def carry_out(output: CommandOutput, request: AnySync, *, yes: bool) -> int:
    """Show the plan, or run it; give the exit code."""
    if request.dry_run:
        return _show_plan(output, request)
    from penstock.app.commands.sync import sync
    from penstock.ui.render.run import run_text

    with opened(request) as services:
        with progress(output, services) as listener:
            report = sync(services, request, listener, overwrite_asker(services.clock.now, yes=yes))
        return finish(output, request, report, run_text)


def _show_plan(output: CommandOutput, request: AnySync) -> int:
    from penstock.app.commands.sync import preview_sync
    from penstock.ui.render.sync import sync_text

    with opened(request) as services:
        report = preview_sync(services, request)
    return finish(output, request, report, functools.partial(sync_text, verbose=output.verbose))
