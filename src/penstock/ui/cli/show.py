"""`penstock show`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(
    epilog=example("penstock show users_clean", "penstock show daily_user_stats --date 2024-12-02")
)
@click.argument("model")
@click.option("--date", metavar="D", help="The SQL of the partition that holds this date.")
@project_options
def command(scope: Scope, model: str, date: str | None) -> None:
    """Show all that is known of one model.

    Its columns, versions, inputs, settings, resolved SQL, state, watermarks and last runs.
    """
    from penstock.app.commands.show import show
    from penstock.ui.json_models import show_document
    from penstock.ui.text_show import show_text

    with scope.opened() as services:
        scope.output.give(show(services, model, date), show_text, show_document)
