"""`penstock list`."""

from __future__ import annotations

import click

from penstock.app.request import ModelsRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput


@click.command(epilog=example("penstock list --select tag:daily"))
@takes(ModelsRequest)
def command(output: CommandOutput, request: ModelsRequest) -> None:
    """List the models.

    One row per model, upstreams first.
    """
    from penstock.app.commands.show import list_models
    from penstock.ui.render.show import list_document, list_text

    with opened(request) as services:
        models = list_models(services, request.select, request.exclude)
    output.print(models, list_text, list_document)
