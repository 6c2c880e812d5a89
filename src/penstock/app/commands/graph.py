"""The use case `graph`: what reads what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.app.planning.selection import selected_models
from penstock.app.services.services import Services
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.plan.resolve import due, resolve


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A table in the graph. `kind` is model, seed, source or external.

    `strategy` is a model's, `version` the one that counts on the run date; 0 for what is no model.
    """

    table: str
    name: str
    kind: str
    strategy: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and arrows between their tables, each sorted; an arrow goes from the table read."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


def graph(services: Services, select: Sequence[str] = (), exclude: Sequence[str] = ()) -> Graph:
    """Draw the selected models with the sources and seeds that they read."""
    run_timestamp = services.clock.now()
    names = set(selected_models(services, select, exclude, run_timestamp))
    nodes: dict[str, GraphNode] = {}
    edges = set()
    for name in names:
        model = services.project.models[name]
        nodes[str(model.table)] = _model_node(model, run_timestamp)
    for name in names:
        model = services.project.models[name]
        for node in _upstreams(services, model):
            if node.kind == "model" and node.name not in names:
                continue
            nodes.setdefault(node.table, node)
            if node.table != str(model.table):  # a model may read its own earlier partitions
                edges.add((node.table, str(model.table)))
    return Graph(tuple(nodes[table] for table in sorted(nodes)), tuple(sorted(edges)))


def _model_node(model: Model, run_timestamp: dt.datetime) -> GraphNode:
    ready = due(model, run_timestamp)
    segments = resolve(model, run_timestamp.date(), ready)
    fingerprint = segments[-1].body.fingerprint if segments else model.fingerprint
    return GraphNode(
        str(model.table), model.name, "model", model.strategy_name, fingerprint.version
    )


def _upstreams(services: Services, model: Model) -> list[GraphNode]:
    read = {name for name in model.inputs if name.kind is not InputKind.THIS}
    read |= {InputName(InputKind.MODEL, name) for name in model.depends_on}
    return [_node(services, name) for name in sorted(read)]


def _node(services: Services, name: InputName) -> GraphNode:
    table = str(services.project.table_of(name))
    known = services.project.models.get(name.name) if name.kind is InputKind.MODEL else None
    if known is not None:
        return GraphNode(table, name.name, "model", known.strategy_name)
    kind = "seed" if name.kind is InputKind.MODEL else str(name.kind)
    return GraphNode(table, name.name, kind)
