"""One draft to one model; and the cycles among all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.core.findings import Finding, Location
from penstock.core.graph import find_cycle
from penstock.core.model import Body, Model, Version
from penstock.core.names import (
    NAMES_HINT,
    InputKind,
    InputName,
    maps_columns,
    refused_by_delta,
)
from penstock.core.strategy import Layout, Strategy
from penstock.project.bodies import is_range, no_parameter_findings, parameter_findings
from penstock.project.book import Book, Named
from penstock.project.config import layout_of, on_schema_change_of, shown_config
from penstock.project.drafts import Draft
from penstock.project.fingerprint import Said, fingerprint
from penstock.project.link import Reader, link
from penstock.project.partitions import declared_schema, partition_layout
from penstock.project.snapshot_outputs import check_outputs
from penstock.project.sources import column_docs
from penstock.project.strategy import strategy_of
from penstock.project.surroundings import digest


@dataclass(slots=True)
class Built:
    """A model (None where its file is broken), the lines of its parents, and findings."""

    strategy: Strategy
    model: Model | None = None
    parents: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def model_of(item: Draft, book: Book) -> Built:
    """Resolve every setting and every name of a model."""
    config = item.config
    said = _said(item)
    strategy = strategy_of(config, said.columns)
    partition = strategy.partitioning
    layout = partition_layout(config, partition) if partition else layout_of(config, strategy)
    built = Built(strategy, findings=config.findings)
    if not item.file.branches:
        return built
    _check_columns(item, strategy, layout)
    branches = item.file.branches if strategy.is_incremental else item.file.branches[:1]
    linked = link(branches, book, Reader(item.file.path, item.named))
    misused = parameter_findings(branches, item.file.path, has_partition=partition is not None)
    built.findings = [*config.findings, *linked.findings, *misused]
    inputs = dict(linked.inputs)
    for name in config.texts("depends_on"):
        _depend(name, item, book, inputs, built)
    built.parents = {i.name: line for i, line in inputs.items() if i.kind is InputKind.MODEL}
    if strategy.is_view:
        built.parents |= {i.name: n for i, n in inputs.items() if i.kind is InputKind.THIS}
    built.model = Model(
        name=item.name,
        table=item.table,
        where=item.where,
        strategy=strategy,
        query=replace(linked.query, inputs=tuple(inputs)),
        fingerprint=fingerprint(linked, strategy, layout, said),
        depends_on=tuple(sorted(name for name in built.parents if name in book.built)),
        layout=layout,
        on_schema_change=on_schema_change_of(config),
        columns=said.columns,
        description=said.description,
        tags=config.texts("tags"),
        config=shown_config({"materialized": "view", **config.settings}),
    )
    if partition:
        built.model = _with_version(built.model, linked.shown, built)
    return built


def _check_columns(item: Draft, strategy: Strategy, layout: Layout) -> None:
    """Report what is wrong with the columns of the query, as far as its text names them."""
    if strategy.history is not None:
        check_outputs(strategy.history, item.config, item.file)
    if strategy.is_view or maps_columns(layout.properties):
        return
    for column in item.file.branches[0].outputs.columns:
        refused = refused_by_delta(column.name)
        if refused:
            where = Location(item.file.path, column.line)
            sentence = f"Delta refuses the name of column {column.name!r}: it has {refused}"
            item.config.findings.append(Finding(where, "column-name", sentence, NAMES_HINT))


def _said(item: Draft) -> Said:
    words = item.config.text("description") or item.config.text("comment")
    return Said(words.strip(), column_docs(item.columns))


def _with_version(model: Model, text: str, built: Built) -> Model:
    """Give a partition model its one version; it has a schema if every column has a type."""
    schema, schema_text = declared_schema(model.columns)
    mark = replace(model.fingerprint, schema=digest(schema_text) if schema_text else "")
    body = Body(
        query=model.query,
        fingerprint=mark,
        text=text,
        source=model.where.path,
        where=model.where,
        is_range=is_range(model.query),
    )
    built.findings += no_parameter_findings(body)
    version = Version(1, body, schema, schema_text)
    return replace(model, fingerprint=mark, versions=(version,))


def cycle_findings(
    edges: Mapping[str, Mapping[str, int]], paths: Mapping[str, str]
) -> list[Finding]:
    """Report one cycle, if there is any, with the place of every reference.

    Arrows point from a model to the one that reads it, as `penstock graph` draws them.
    """
    cycle = find_cycle(edges)
    if not cycle:
        return []
    lines = {reader: edges[reader][read] for read, reader in pairwise(cycle)}
    places = [Location(paths[name], lines[name]) for name in cycle[:-1]]
    sentence = f"{' → '.join(cycle)} ({', '.join(str(place) for place in places)})"
    hint = "a model cannot read what is built from it; take one of these references out"
    return [Finding(places[0], "dependency-cycle", sentence, hint)]


def _depend(name: str, item: Draft, book: Book, inputs: dict[InputName, int], built: Built) -> None:
    where = item.config.own.get("depends_on", item.where)
    found = _find(name, book)
    if found is None:
        sentence = f"depends_on: {name!r} is no model, seed or source"
        hint = book.model_hint(name.rpartition(".")[2])
        built.findings.append(Finding(where, "unknown-reference", sentence, hint))
    else:
        inputs.setdefault(found.input, where.line)


def _find(name: str, book: Book) -> Named | None:
    found = book.ref(name) or book.table(tuple(name.split(".")))
    return None if found.input.kind is InputKind.EXTERNAL else found
