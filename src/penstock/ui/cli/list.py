"""`penstock list`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options


@click.command(epilog=example("penstock list --select tag:daily"))
@selection_options
@project_options
def command(scope: Scope, selection: Selection) -> None:
    """List the models.

    One row per model, upstreams first.
    """
    from penstock.app.commands.show import list_models
    from penstock.ui.json_models import list_document
    from penstock.ui.text_list import list_text

    with scope.opened() as services:
        models = list_models(services, selection.select, selection.exclude)
        scope.output.give(models, list_text, list_document)
