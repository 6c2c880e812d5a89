"""The use case `graph`: what reads what."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.app.planning.selection import selected_models
from penstock.app.request import ModelsRequest
from penstock.app.services.services import Services
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
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


def graph(services: Services, request: ModelsRequest) -> Graph:
    """Draw the selected models with the sources and seeds that they read."""
    project, run_timestamp = services.project, services.clock.now()
    names = set(selected_models(services, request.select, request.exclude, run_timestamp))
    chosen = [project.models[name] for name in names]
    nodes = {str(model.table): _model_node(model, run_timestamp) for model in chosen}
    edges = set()
    for model in chosen:
        read = {name for name in model.inputs if name.kind is not InputKind.THIS}
        read |= {InputName(InputKind.MODEL, name) for name in model.depends_on}
        for name in sorted(read):
            node = _node(project, name)
            if node.kind == "model" and node.name not in names:
                continue
            nodes.setdefault(node.table, node)
            if node.table != str(model.table):  # a model may read its own earlier partitions
                edges.add((node.table, str(model.table)))
    return Graph(tuple(nodes[table] for table in sorted(nodes)), tuple(sorted(edges)))


def _model_node(model: Model, run_timestamp: dt.datetime) -> GraphNode:
    segments = resolve(model, run_timestamp.date(), due(model, run_timestamp))
    now = segments[-1].body.fingerprint if segments else model.fingerprint
    return GraphNode(str(model.table), model.name, "model", model.strategy_name, now.version)


def _node(project: Project, name: InputName) -> GraphNode:
    table = str(project.table_of(name))
    if name.kind is not InputKind.MODEL:
        return GraphNode(table, name.name, str(name.kind))
    known = project.models.get(name.name)
    if known is None:
        return GraphNode(table, name.name, "seed")
    return GraphNode(table, name.name, "model", known.strategy_name)
