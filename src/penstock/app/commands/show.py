"""The use cases `list`, `show` and `graph`: models, their details and their inputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from penstock.app.planning.selection import selected_models
from penstock.app.request import ModelsRequest
from penstock.app.services.files import write_below
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.checks.check import Check
from penstock.core.errors import UsageError
from penstock.core.facts import TableFacts
from penstock.core.masking import mask
from penstock.core.model import Body, ColumnDoc, Fingerprint, Model
from penstock.core.names import InputKind, InputName, shown_name
from penstock.core.partitions.partition import Grain
from penstock.core.project import Project, exposures_of, hook_lines
from penstock.core.records import Execution, ModelRecord
from penstock.plan.resolve import due_partitions, resolve
from penstock.project.first_pass import parse_user_query

if TYPE_CHECKING:
    from penstock.plan.values import Reason

_EXECUTIONS = 5
COMPILED = (".penstock", "target", "compiled")
"""The folder that `compile` writes to."""


_OTHERS = {
    "seed": "penstock graph --format json shows seeds",
    "source": "penstock graph --format json shows sources",
    "test": "penstock show MODEL shows its checks",
    "unit_test": "penstock test --json shows unit tests",
}
"""Kinds of things that dbt lists and `list` does not."""


def list_models(
    services: Services, request: ModelsRequest, kinds: Sequence[str] = ()
) -> tuple[Model, ...]:
    """Return the selected models in topological order; with `kinds` only `model` or `snapshot`."""
    wanted = {word for text in kinds for word in text.split()}
    for word in sorted(wanted - {"model", "snapshot", "all"}):
        hint = _OTHERS.get(word, "model, snapshot, all")
        raise UsageError("bad-value", f"list shows models, and no {word!r}", hint=hint)
    names = selected_models(services, request.select, request.exclude, services.clock.now())
    models = [services.project.models[name] for name in names]
    if not wanted or "all" in wanted:
        return tuple(models)
    return tuple(model for model in models if resource_type(model) in wanted)


def resource_type(model: Model) -> str:
    """Return what dbt calls a model."""
    return "snapshot" if model.keeps_history else "model"


@dataclass(frozen=True, slots=True)
class ModelDetail:
    """One model in full. `record` is None before its first run, `version` without a table.

    `columns` are those of its table, if it exists. `versions` are its dated generations, one line
    each, with their descriptions; `sql` is that of the requested day. `checks` are paired with the
    number of their version, 0 if the model has no versions.
    """

    model: Model
    uri: str
    columns: tuple[ColumnDoc, ...]
    inputs: tuple[InputName, ...]
    sql: str
    fingerprint: Fingerprint
    drift: Reason
    version: int | None
    record: ModelRecord | None
    executions: tuple[Execution, ...]
    versions: tuple[str, ...]
    checks: tuple[tuple[int, Check], ...]
    hooks: tuple[str, ...] = ()
    """Its hooks and grants, one line each."""
    exposures: tuple[str, ...] = ()
    """The exposures that read it."""


@in_one_state
def show(services: Services, name: str, date: str | None = None) -> ModelDetail:
    """Find one model by its name or its table's name; start no JVM and write nothing.

    With `date`, the SQL is that of the partition containing the day; raises
    `no-version-for-partition`.
    """
    from penstock.app.observation.project_state import survey  # `list` does without

    run_timestamp = services.clock.now()
    try:
        day = None if date is None else dt.date.fromisoformat(date)
    except ValueError:
        raise UsageError(
            "bad-value", f"--date {date!r} is not a date", hint="--date 2024-12-31"
        ) from None
    project_state = survey(services, [named_model(services, name).name], run_timestamp)
    model = project_state.project.models[named_model(services, name).name]
    body = _body(model, run_timestamp, day)
    uri = "" if model.is_view else services.project.uri_of(model.table)
    facts = services.log.facts(uri) if uri else None
    sets = [(each.number, each.checks) for each in model.versions] or [(0, model.checks)]
    return ModelDetail(
        model=model,
        uri=uri,
        columns=_columns(model, facts),
        inputs=tuple(i for i in model.inputs if i.kind is not InputKind.THIS),
        sql=_code(services.project, model, body),
        fingerprint=body.fingerprint if body else model.fingerprint,
        drift=project_state.verdict(model.name).reason,
        version=facts.version if facts else None,
        record=project_state.records.get(model.name),
        executions=services.reading.records.history(model.name, _EXECUTIONS),
        versions=tuple(_versions(model)),
        checks=tuple((version, each) for version, checks in sets for each in checks.all),
        hooks=hook_lines(services.project, model),
        exposures=exposures_of(services.project, model.name),
    )


def _body(model: Model, run_timestamp: dt.datetime, date: dt.date | None) -> Body | None:
    """Return the SQL of a day; by default that of the newest partition."""
    if not model.versions:
        return None
    within, run_date = due_partitions(model, run_timestamp), run_timestamp.date()
    if date is not None and model.grid.grain in (Grain.WHOLE, Grain.RANGE):
        run_date = date
    elif date is not None:
        within = (model.grid.holding(date, date),)
    segments = resolve(model, run_date, within)
    if date is not None and not segments:
        hint = "give a version an earlier effective_from"
        sentence = f"no version of {model.name} is for {date}"
        raise UsageError("no-version-for-partition", sentence, hint=hint)
    return segments[-1].body if segments else model.versions[-1].body


def _code(project: Project, model: Model, body: Body | None) -> str:
    return body.query.noted(body.text) if body else project.shown_sql(model)


def _versions(model: Model) -> Iterator[str]:
    for version in model.versions:
        for body in version.bodies:
            since = f" from {body.effective_from}" if body.effective_from else ""
            back = f", partitions from {body.backfill_since}" if body.backfill_since else ""
            said = " ".join(text for text in (body.description, body.reason) if text)
            source = body.source if body.source.endswith(".sql") else "inline"
            messages = f": {said}" if said else ""
            yield f"{body.fingerprint.label}{since}{back} ({source}){messages}"


def _columns(model: Model, facts: TableFacts | None) -> tuple[ColumnDoc, ...]:
    if facts is None:
        return model.columns
    said = {column.name.lower(): column.description for column in model.columns}
    return tuple(
        ColumnDoc(c.name, said.get(c.name.lower(), ""), c.type) for c in facts.schema.columns
    )


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """The code of one model without templates, and the file that has it."""

    name: str
    file: str
    sql: str


def compile_models(services: Services, request: ModelsRequest) -> tuple[CompiledModel, ...]:
    """Write the code of the selected models to files, as `show` prints it; start no JVM."""
    now, project = services.clock.now(), services.project
    found = []
    for name in selected_models(services, request.select, request.exclude, now):
        model = project.models[name]
        body = _body(model, now, None)
        sql = mask(_code(project, model, body)).strip()
        folder = PurePosixPath(*COMPILED, PurePosixPath(model.where.path).parent)
        file = str(folder / f"{name}{'.py' if model.function else '.sql'}")
        write_below(project.root, file, f"{sql}\n")
        found.append(CompiledModel(name, file, sql))
    return tuple(found)


def compile_query(services: Services, sql: str) -> tuple[CompiledModel, ...]:
    """Return a query without templates, with the names of tables."""
    project = services.project
    query = parse_user_query(project, sql, services.environ)
    names = {name: shown_name(str(project.table_of(name))) for name in query.inputs}
    return (CompiledModel("", "", mask(query.shown_sql(names)).strip()),)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A table in the graph, or an exposure. `kind` is model, seed, source, external or exposure.

    `strategy` is that of a model, `version` the one for the run date; 0 for other kinds.
    """

    table: str
    name: str
    kind: str
    strategy: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges between their tables, each sorted; an edge starts at the input."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


def graph(services: Services, request: ModelsRequest) -> Graph:
    """Return the graph of the selected models with the sources and seeds that they read."""
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
    for exposure in project.exposures.values():
        used = [InputName(InputKind.MODEL, name) for name in exposure.models]
        used += [InputName(InputKind.SOURCE, name) for name in exposure.sources]
        tables = [table for each in used if (table := str(project.table_of(each))) in nodes]
        node = GraphNode(f"exposure:{exposure.name}", exposure.name, "exposure")
        nodes |= {node.table: node} if tables else {}
        edges |= {(table, node.table) for table in tables}
    return Graph(tuple(nodes[table] for table in sorted(nodes)), tuple(sorted(edges)))


def _model_node(model: Model, run_timestamp: dt.datetime) -> GraphNode:
    segments = resolve(model, run_timestamp.date(), due_partitions(model, run_timestamp))
    now = segments[-1].body.fingerprint if segments else model.fingerprint
    return GraphNode(str(model.table), model.name, "model", model.shown_strategy, now.version)


def _node(project: Project, name: InputName) -> GraphNode:
    table = str(project.table_of(name))
    if name.kind is not InputKind.MODEL:
        return GraphNode(table, name.name, str(name.kind))
    known = project.models.get(name.name)
    if known is None:
        return GraphNode(table, name.name, "seed")
    return GraphNode(table, name.name, "model", known.shown_strategy)
