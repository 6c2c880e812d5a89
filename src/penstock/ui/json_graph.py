"""s."""

from __future__ import annotations

from collections.abc import Callable

from penstock.app.graphing import Graph
from penstock.ui.json_document import Json, printed
from penstock.ui.text_graph import dot_text, mermaid_text, tree_text


def graph_document(graph: Graph) -> Json:
    """Give nodes and edges; an edge goes from the table that is read."""
    return {
        "nodes": [
            {
                "table": n.table,
                "name": n.name,
                "kind": n.kind,
                "strategy": n.strategy or None,
                "version": n.version or None,
            }
            for n in graph.nodes
        ],
        "edges": [{"from": read, "to": reader} for read, reader in graph.edges],
    }



DRAWINGS: dict[str, Callable[[Graph], str]] = {
    "tree": tree_text,
    "mermaid": mermaid_text,
    "dot": dot_text,
    "json": lambda graph: printed(graph_document(graph)),
}
