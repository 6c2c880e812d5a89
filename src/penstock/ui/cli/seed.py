"""`penstock seed`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput
from penstock.ui.cli.steps import finish

_SELECT = click.option(
    "--select", "-s", metavar="NAME", multiple=True, help="Seeds to load; default: all."
)


@click.command(epilog=example("penstock seed --select countries"))
@takes(ProjectRequest, _SELECT)
def command(output: CommandOutput, request: ProjectRequest, select: tuple[str, ...]) -> int:
    """Load the files under seeds/ as tables.

    A file that is as it was when it was loaded is left alone.
    """
    from penstock.app.commands.seed import seed
    from penstock.ui.render.run import seed_text

    with opened(request) as services:
        report = seed(services, select)
    return finish(output, request, report, seed_text)
