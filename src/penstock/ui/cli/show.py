"""`penstock show`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_DATE = click.option("--date", metavar="D", help="The SQL of the partition that holds this date.")


@click.command(
    epilog=example("penstock show users_clean", "penstock show daily_user_stats --date 2024-12-02")
)
@click.argument("model")
@takes(ProjectRequest, _DATE)
def command(output: CommandOutput, request: ProjectRequest, model: str, date: str | None) -> None:
    """Show all that is known of one model.

    Its columns, versions, inputs, settings, resolved SQL, state, watermarks and last runs.
    """
    from penstock.app.commands.show import show
    from penstock.ui.render.show import show_document, show_text

    with opened(request) as services:
        found = show(services, model, date)
    output.print(found, show_text, show_document)
