"""`penstock graph`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options


@click.command(epilog=example("penstock graph --format mermaid --select +daily_user_stats"))
@click.option(
    "--format",
    "form",
    type=click.Choice(["tree", "mermaid", "dot", "json"]),
    default="tree",
    help="How to draw.",
)
@selection_options
@project_options
def command(scope: Scope, selection: Selection, form: str) -> None:
    """Draw what reads what.

    Sources and models without upstreams are the roots; a node that is met again is drawn without
    its children.
    """
    from penstock.app.commands.graph import Graph, graph
    from penstock.ui.json_document import printed
    from penstock.ui.json_models import graph_document
    from penstock.ui.text_graph import dot_text, mermaid_text, tree_text

    def as_json(found: Graph) -> str:
        return printed(graph_document(found))

    drawing = {"tree": tree_text, "mermaid": mermaid_text, "dot": dot_text, "json": as_json}
    with scope.opened() as services:
        found = graph(services, selection.select, selection.exclude)
        scope.output.give(found, drawing[form], graph_document)
