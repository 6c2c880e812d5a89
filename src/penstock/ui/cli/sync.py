"""`penstock sync`."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.shared import DAYS, FROM, STATE, TO, asked_range, state_names
from penstock.ui.cli.sync_options import SyncFlags, sync_options

if TYPE_CHECKING:
    from penstock.app.reports import RunReport
    from penstock.app.request import SyncRequest


@click.command(
    epilog=example(
        "penstock sync --cascade --dry-run", "penstock sync --query daily_user_stats --days 30"
    )
)
@FROM
@TO
@DAYS
@STATE
@click.option(
    "--all", "everything", is_flag=True, help="Every model and partition, without any limit."
)
@sync_options
@selection_options
@project_options
def command(scope: Scope, selection: Selection, flags: SyncFlags, **asked: Any) -> int:  # noqa: ANN401  click gives them
    """Run the partitions that drifted.

    Exactly those that 'penstock status' shows, upstreams first. Asks before it overwrites rows of
    an earlier success.
    """
    everything = asked.pop("everything")
    states = state_names(asked.pop("states"))
    request = replace(
        flags.request(),
        select=selection.select,
        exclude=selection.exclude,
        states=states,
        range=asked_range(**asked),
        everything=everything,
    )
    check_everything(request)
    return carry_out(scope, request, yes=flags.yes)


def check_everything(request: SyncRequest) -> None:
    """Refuse flags that leave something out beside --all; raises `option-conflict`."""
    from penstock.core.errors import UsageError

    given = {
        "--select": bool(request.select),
        "--exclude": bool(request.exclude),
        "--state": bool(request.states),
        "--from": request.range.first is not None,
        "--to": request.range.last is not None,
        "--days": request.range.days is not None,
        "--max-partitions": request.max_partitions is not None,
    }
    narrow = [name for name, is_given in given.items() if is_given]
    if request.everything and narrow:
        raise UsageError(
            "option-conflict",
            f"--all and {', '.join(narrow)} exclude each other",
            hint="leave --all out",
        )


def carry_out(scope: Scope, request: SyncRequest, *, yes: bool) -> int:
    """Show the plan, or run it; give the exit code."""
    from penstock.ui.cli.run import exit_code, resumable
    from penstock.ui.json_run import run_document

    output = scope.output
    report = resumable(_report(scope, request, yes=yes), scope)
    for note in report.notes:
        output.warn(note)
    if request.dry_run:
        from penstock.ui.text_sync import sync_text

        output.give(report, functools.partial(sync_text, verbose=output.verbose), run_document)
    else:
        from penstock.ui.text_run import run_text

        answer = output.tell if report.succeeded else output.give
        answer(report, run_text, run_document)
    return exit_code(report)


def _report(scope: Scope, request: SyncRequest, *, yes: bool) -> RunReport:
    from penstock.ui.cli.asking import asker
    from penstock.ui.cli.run import progress

    with scope.opened() as services:
        if request.dry_run:
            from penstock.app.commands.sync import preview_sync

            return preview_sync(services, request)
        from penstock.app.commands.sync import sync

        with progress(scope, services) as listener:
            return sync(services, request, listener, asker(services.clock.now, yes=yes))
