"""`penstock plan`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import RunRequest
from penstock.ui.cli.options import YES, example, opened, takes
from penstock.ui.cli.output import CommandOutput


@click.command(epilog=example("penstock plan --select +daily_user_stats"))
@takes(RunRequest, YES, without=["dry_run"])
def command(output: CommandOutput, request: RunRequest, *, yes: bool) -> int:  # noqa: ARG001  a run takes it
    """Show what a run would do, and why.

    The same as 'penstock run --dry-run': starts no Spark and writes nothing. Exits 1 if a model
    cannot be run.
    """
    return show_plan(output, request)


def show_plan(output: CommandOutput, request: RunRequest) -> int:
    """Print the plan of the run that is asked for."""
    from penstock.app.commands.plan import preview
    from penstock.ui.render.plan import plan_text, preview_document

    with opened(request) as services:
        found = preview(services, request)
    for note in found.report.notes:
        output.warn(note)
    output.print(found, functools.partial(plan_text, verbose=output.verbose), preview_document)
    return 0 if found.report.succeeded else 1
