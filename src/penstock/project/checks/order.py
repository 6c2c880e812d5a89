"""Order edges: what checks read is built first, where that closes no cycle (spec/checks.md §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError

from penstock.core.findings import Finding, Severity
from penstock.core.graph import find_cycle, ordered, reach
from penstock.project.checks.kept import Edge


def order_edges(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Give the models to build before each, and say which edges are dropped.

    `parents` are what models read by themselves; an edge that repeats one of those is none.
    """
    new = [e for e in sorted(edges) if e.reads in parents and e.reads not in parents[e.model]]
    if not new or find_cycle(parents):
        return {}, []
    both = {name: list(read) for name, read in parents.items()}
    for edge in new:
        both[edge.model].append(edge.reads)
    findings: list[Finding] = []
    try:
        ordered(both)
    except CycleError:
        new, findings = _without_cycles(parents, new)
    found: dict[str, dict[str, None]] = {}
    for edge in new:
        found.setdefault(edge.model, {})[edge.reads] = None
    return {model: tuple(sorted(reads)) for model, reads in found.items()}, findings


def _without_cycles(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> tuple[list[Edge], list[Finding]]:
    both = {name: list(read) for name, read in parents.items()}
    kept, findings = [], []
    for edge in edges:
        if edge.model in reach([edge.reads], both):
            findings.append(_dropped(edge))
        else:
            kept.append(edge)
            both[edge.model].append(edge.reads)
    return kept, findings


def _dropped(edge: Edge) -> Finding:
    sentence = (
        f'check "{edge.check}" reads {edge.reads}, which is built after {edge.model}: '
        "it reads what is there"
    )
    code, info = "check-order-dropped", Severity.INFO
    return Finding(edge.where, code, sentence, severity=info)
