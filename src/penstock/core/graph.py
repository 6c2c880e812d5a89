"""The dependency graph: order, closures and cycles. Names in, names out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

Edges = Mapping[str, Iterable[str]]


def ordered(parents: Edges) -> list[str]:
    """Return every node after its parents; ties by name, so the order never depends on files.

    Parents that are not nodes are left out. Raises `graphlib.CycleError` on a cycle.

    >>> ordered({"b": ["a"], "c": ["a"], "a": ["raw"], "d": ["c", "b"]})
    ['a', 'b', 'c', 'd']
    """
    sorter = TopologicalSorter(
        {n: [p for p in sorted(ps) if p in parents] for n, ps in parents.items()}
    )
    sorter.prepare()
    result: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        result.extend(ready)
        sorter.done(*ready)
    return result


def find_cycle(parents: Edges) -> tuple[str, ...]:
    """Return one cycle as a path that ends where it starts, or () if there is none.

    >>> find_cycle({"a": ["c"], "b": ["a"], "c": ["b"]})
    ('a', 'b', 'c', 'a')
    """
    try:
        ordered(parents)
    except CycleError as error:
        nodes: list[str] = error.args[1][:-1]
        start = nodes.index(min(nodes))  # so that one cycle is told in one way
        return (*nodes[start:], *nodes[: start + 1])
    return ()


def children(parents: Edges) -> dict[str, list[str]]:
    """Reverse the edges: return for every node the nodes that read it, sorted."""
    result: dict[str, list[str]] = {node: [] for node in parents}
    for node in sorted(parents):
        for parent in parents[node]:
            result.setdefault(parent, []).append(node)
    return result


def reach(start: Iterable[str], edges: Edges, depth: int | None = None) -> set[str]:
    """Return the start nodes and everything reachable from them over at most `depth` edges."""
    seen = set(start)
    front = set(seen)
    while front and depth != 0:
        front = {n for f in front for n in edges.get(f, ())} - seen
        seen |= front
        depth = None if depth is None else depth - 1
    return seen
