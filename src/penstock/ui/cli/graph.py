"""`penstock graph`."""

from __future__ import annotations

import click

from penstock.app.request import ModelsRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["tree", "mermaid", "dot", "json"]),
    default="tree",
    help="How to draw.",
)


@click.command(epilog=example("penstock graph --format mermaid --select +daily_user_stats"))
@takes(ModelsRequest, _FORMAT)
def command(output: CommandOutput, request: ModelsRequest, form: str) -> None:
    """Draw what reads what.

    Sources and models without upstreams are the roots; a node that is met again is drawn without
    its children.
    """
    from penstock.app.commands.graph import graph
    from penstock.ui.render.graph import DRAWINGS, graph_document

    with opened(request) as services:
        found = graph(services, request.select, request.exclude)
    output.print(found, DRAWINGS[form], graph_document)
