"""`penstock run`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.run_options import RunFlags, run_options

if TYPE_CHECKING:
    from penstock.app.reports import Listener, RunReport
    from penstock.app.services.services import Services

_INTERRUPTED = 130


@click.command(
    epilog=example("penstock run --select +daily_user_stats", "penstock run shop --target prod")
)
@click.option("--dry-run", is_flag=True, help="Show the plan and do nothing.")
@selection_options
@project_options
@run_options
def command(
    scope: Scope,
    selection: Selection,
    flags: RunFlags,
    dry_run: bool,  # noqa: FBT001  click passes by name
) -> int:
    """Bring tables and views up to date.

    Runs exactly the steps that 'penstock plan' shows. What code, inputs and tables say is current
    is left alone; after a failure the last line is the command that resumes.
    """
    if dry_run:
        from penstock.ui.cli.plan import show_plan

        return show_plan(scope, selection, flags)
    from penstock.app.commands.run import run
    from penstock.ui.json_run import run_document
    from penstock.ui.text_run import run_text

    output, request = scope.output, flags.request(selection)
    with scope.opened() as services:
        with progress(scope, services) as listener:
            report = resumable(run(services, request, listener), scope)
        for note in report.notes:
            output.warn(note)
        answer = output.tell if report.succeeded else output.give
        answer(report, run_text, run_document)
    return exit_code(report)


def exit_code(report: RunReport) -> int:
    """Give what the shell is told."""
    if report.interrupted:
        return _INTERRUPTED
    return 0 if report.succeeded else 1


def resumable(report: RunReport, scope: Scope) -> RunReport:
    """Let the command that resumes lead to the same project and target."""
    import shlex

    from penstock.core.masking import mask

    if not report.resume:
        return report
    return replace(
        report, resume=mask(" ".join([report.resume, shlex.join(scope.words())]).strip())
    )


def progress(scope: Scope, services: Services) -> AbstractContextManager[Listener]:
    """Choose how progress is shown: a live table, lines, or checks that failed and no more."""
    output = scope.output
    if output.is_live:
        from rich.console import Console

        from penstock.ui.live import LiveTable

        return LiveTable(Console(), time.monotonic)
    from penstock.ui.progress import JsonLines, TextLines

    if output.json_log:
        return nullcontext(JsonLines(_log, services.clock.now))
    say = _log if output.as_json else click.echo
    return nullcontext(TextLines(say, verbose=output.verbose, quiet=output.quiet))


def _log(text: str) -> None:
    click.echo(text, err=True)
