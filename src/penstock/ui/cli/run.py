"""`penstock run`."""

from __future__ import annotations

import click

from penstock.app.request import RunRequest
from penstock.ui.cli.options import YES, example, opened, takes
from penstock.ui.cli.output import CommandOutput
from penstock.ui.cli.plan import show_plan
from penstock.ui.cli.steps import finish, progress


@click.command(
    epilog=example("penstock run --select +daily_user_stats", "penstock run shop --target prod")
)
@takes(RunRequest, YES)
def command(output: CommandOutput, request: RunRequest, *, yes: bool) -> int:  # noqa: ARG001  it asks nothing yet
    """Bring tables and views up to date.

    Runs exactly the steps that 'penstock plan' shows. What code, inputs and tables say is current
    is left alone; after a failure the last line is the command that resumes.
    """
    if request.dry_run:
        return show_plan(output, request)
    from penstock.app.commands.run import run
    from penstock.ui.render.run import run_text

    with opened(request) as services:
        with progress(output, services) as listener:
            report = run(services, request, listener)
        return finish(output, request, report, run_text)
