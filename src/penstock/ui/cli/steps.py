"""What commands that run steps share: how they show progress, and how they end."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from penstock.app.request.flags import command_words
from penstock.core.masking import mask

if TYPE_CHECKING:
    from penstock.app.reports import Listener, RunReport
    from penstock.app.request import CommandRequest
    from penstock.app.services.services import Services
    from penstock.ui.cli.output import CommandOutput

INTERRUPTED = 130


def finish(
    output: CommandOutput,
    request: CommandRequest,
    report: RunReport,
    text: Callable[[RunReport], str],
) -> int:
    """Print what came of a run, with the command that resumes it; give the exit code.

    That command leads to the same project and target.
    """
    from penstock.ui.render.run import run_document

    for note in report.notes:
        output.warn(note)
    if report.resume:
        place = shlex.join(command_words(request, ("project", "target", "variables")))
        report = replace(report, resume=mask(f"{report.resume} {place}".strip()))
    is_done = report.succeeded and not report.dry_run
    output.print(report, text, run_document, unless_quiet=is_done)
    return exit_code(report)


def exit_code(report: RunReport) -> int:
    """Give what the shell gets."""
    if report.interrupted:
        return INTERRUPTED
    return 0 if report.succeeded else 1


def progress(output: CommandOutput, services: Services) -> AbstractContextManager[Listener]:
    """Choose how progress is shown: a live table, lines, or checks that failed and no more."""
    if output.is_live:
        from rich.console import Console

        from penstock.ui.render.live import LiveTable

        return LiveTable(Console(), time.monotonic)
    from penstock.ui.render.run import JsonLines, TextLines

    if output.json_log:
        return nullcontext(JsonLines(_log, services.clock.now))
    say = _log if output.as_json else click.echo
    return nullcontext(TextLines(say, verbose=output.verbose, quiet=output.quiet))


def _log(text: str) -> None:
    click.echo(text, err=True)
