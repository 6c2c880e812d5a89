"""What `graph` prints: a tree, Mermaid, Graphviz or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from penstock.app.commands.graph import Graph, GraphNode
from penstock.app.documents import Json, document_of, printed
from penstock.core.graph import reach


def tree_text(graph: Graph) -> str:
    """Draw a tree per root, a blank line between; a node met again stands without its children.

    Roots are tables that read none of the others. Of two children the one with more below it
    comes first, then the name decides.
    """
    read_by: dict[str, list[str]] = {node.table: [] for node in graph.nodes}
    for read, reader in graph.edges:
        read_by[read].append(reader)
    weight = {table: len(reach([table], read_by)) for table in read_by}
    for readers in read_by.values():
        readers.sort(key=lambda table: (-weight[table], table))
    readers_of_any = {reader for _, reader in graph.edges}
    seen: set[str] = set()
    names = {node.table: _named(node) for node in graph.nodes}
    roots = [node.table for node in graph.nodes if node.table not in readers_of_any]
    trees = [[names[root], *_children(root, "    ", read_by, names, seen)] for root in roots]
    return "\n\n".join("\n".join(lines) for lines in trees)


def _named(node: GraphNode) -> str:
    return f"{node.table} (v{node.version})" if node.version else node.table


def _children(
    table: str,
    indent: str,
    read_by: Mapping[str, list[str]],
    names: Mapping[str, str],
    seen: set[str],
) -> Iterator[str]:
    if table in seen:
        return
    seen.add(table)
    for child in read_by[table]:
        is_last = child == read_by[table][-1]
        yield f"{indent}│"
        yield f"{indent}{'└' if is_last else '├'}── {names[child]}"
        below = indent + ("    " if is_last else "│   ") + "    "
        yield from _children(child, below, read_by, names, seen)


def mermaid_text(graph: Graph) -> str:
    """Give a Mermaid flowchart."""
    ids = {node.table: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["graph LR"]
    for node in graph.nodes:
        shape = '["{}"]' if node.kind == "model" else '[("{}")]'
        label = _named(node).replace('"', "#quot;")
        lines.append(f"    {ids[node.table]}{shape.format(label)}")
    lines += [f"    {ids[read]} --> {ids[reader]}" for read, reader in graph.edges]
    return "\n".join(lines)


def dot_text(graph: Graph) -> str:
    """Give a Graphviz digraph."""
    lines = ["digraph penstock {", "    rankdir=LR;"]
    for node in graph.nodes:
        shape = "box" if node.kind == "model" else "cylinder"
        label = f", label={_dot(_named(node))}" if node.version else ""
        lines.append(f"    {_dot(node.table)} [shape={shape}{label}];")
    lines += [f"    {_dot(read)} -> {_dot(reader)};" for read, reader in graph.edges]
    return "\n".join([*lines, "}"])


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def graph_document(graph: Graph) -> Json:
    """Give nodes and edges; an edge goes from the table that is read."""
    return {
        "nodes": [document_of(node, "table name kind strategy? version?") for node in graph.nodes],
        "edges": [{"from": read, "to": reader} for read, reader in graph.edges],
    }


DRAWINGS: dict[str, Callable[[Graph], str]] = {
    "tree": tree_text,
    "mermaid": mermaid_text,
    "dot": dot_text,
    "json": lambda graph: printed(graph_document(graph)),
}
