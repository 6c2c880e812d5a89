"""`list`, `show` and `graph`: the models, one model in full, and the dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of, instant, printed
from penstock.app.flags import FlagSpec, Name
from penstock.app.request import CommandRequest, ModelsRequest
from penstock.core.beside.exposures import Access
from penstock.core.graph import ordered
from penstock.core.masking import mask, mask_value
from penstock.core.model import Model, kind_of
from penstock.core.names import InputKind
from penstock.core.records import Execution, ModelRecord
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.tables import one_line, section, table, table_section
from penstock.ui.render.values import CODE, facts, moment, params_text, seconds

if TYPE_CHECKING:
    from penstock.app.commands.show import CompiledModel, Graph, GraphNode, ModelDetail

_WRITTEN = "rows_written bytes_written"
_DEEPEST = 40  # levels of a drawn tree
_CHECK = "phase name type severity description tags meta where"


def list_text(models: Sequence[Model]) -> str:
    """Return one row per model, in topological order."""
    if not models:
        return "no models"
    several = any(each.params for each in models)
    rows = []
    for m in models:
        params, tags = [params_text(m.params) or "-"] * several, ",".join(m.tags) or "-"
        rows.append([m.name, str(m.table), m.shown_strategy, *params, tags, m.where.path])
    names = "name table strategy params tags file" if several else "name table strategy tags file"
    return table(names.split(), rows, first=("name", "strategy"))


def _dbt_lines(models: Sequence[Model]) -> str:
    """Return one JSON document per line with the keys of dbt's `ls`."""
    return "\n".join(printed(_node_of(model), indent=None) for model in models)


def _node_of(model: Model) -> Json:
    return {
        "name": model.name,
        "resource_type": "snapshot" if model.keeps_history else "model",
        "original_file_path": model.where.path,
        "alias": model.table.table,
        "tags": [*model.tags],
        "config": {key: mask_value(key, text) for key, text in sorted(model.config.items())},
        "depends_on": {"nodes": _upstream(model)},
    }


def _selector_of(model: Model) -> str:
    return ".".join([*PurePosixPath(model.where.path).parts[1:-1], model.name])


LISTINGS: dict[str, Callable[[Sequence[Model]], str]] = {
    "name": lambda models: "\n".join(each.name for each in models),
    "path": lambda models: "\n".join(each.where.path for each in models),
    "selector": lambda models: "\n".join(map(_selector_of, models)),
    "json": _dbt_lines,
}
"""The texts of `list --output`."""


def compiled_text(models: Sequence[CompiledModel]) -> str:
    """Return the files that were written; of a single model its SQL."""
    if len(models) == 1:
        return models[0].sql
    return "\n".join(f"wrote {each.file}" for each in models) or "no models"


def compiled_document(models: Sequence[CompiledModel]) -> Json:
    """Return each model with its file and its SQL."""
    return {"models": [document_of(each, "model=name file sql") for each in models]}


def show_text(detail: ModelDetail) -> str:
    """Return the facts, columns, inputs, settings, code and last executions of a model."""
    model = detail.model
    columns = [[c.name, c.type or "-", c.description] for c in detail.columns]
    watermarks = detail.record.watermarks if detail.record else ()
    blocks = [
        "\n".join(_head(detail)),
        table_section("Columns", ["name", "type", "description"], columns),
        section("Versions", [mask(line) for line in detail.versions]),
        section("Inputs", [f"{name}  ({name.kind})" for name in detail.inputs]),
        _checks(detail),
        section("Hooks", [mask(line) for line in detail.hooks]),
        section("Config", [f"{k}: {mask_value(k, v)}" for k, v in sorted(model.config.items())]),
        section("Watermarks", [f"{each.key}  {each.value}" for each in watermarks]),
        section(CODE[kind_of(model)], mask(detail.sql).strip().splitlines()),
        _executions(detail.executions),
    ]
    return "\n\n".join(block for block in blocks if block)


def _head(detail: ModelDetail) -> Iterator[str]:
    model = detail.model
    yield f"{model.name}  {model.shown_strategy}  {model.table}"
    if model.description:
        yield f"  {model.description}"
    record, fingerprint = detail.record, detail.fingerprint
    rows = {
        "file": str(model.where),
        "tags": ", ".join(model.tags),
        "params": params_text(model.params),
        "group": model.group,
        "access": "" if model.access is Access.PROTECTED else str(model.access),
        "exposures": ", ".join(detail.exposures),
        "path": mask(detail.uri),
        "state": mask(str(detail.drift)),
        "version": "" if detail.version is None else str(detail.version),
        "last run": moment(record.executed_at) if record and record.executed_at else "",
        kind_of(model): f"{fingerprint.sql[:12]}, meaning {fingerprint.canonical[:12]}",
    }
    yield from facts(rows, 9)


def _checks(detail: ModelDetail) -> str:
    """Return one line per check; with several versions, with its version."""
    several = len({version for version, _ in detail.checks}) > 1
    header = ["version"] * several + ["phase", "name", "type", "severity", "tags", "description"]
    rows = [
        [str(version)] * several
        + [str(check.phase), check.name, check.type, str(check.severity)]
        + [", ".join(check.tags), one_line(mask(check.description))]
        for version, check in detail.checks
    ]
    return table_section("Checks", header, rows)


def _executions(executions: tuple[Execution, ...]) -> str:
    rows = [
        [
            moment(one.executed_at),
            one.fingerprint.sql[:6],
            str(one.status),
            "" if one.rows_written is None else f"{one.rows_written:,}",
            seconds(one.duration_ms / 1000),
            one.triggered_by,
        ]
        for one in executions
    ]
    header = ["executed_at", "sql_checksum", "status", "rows", "took", "triggered_by"]
    return table_section("Last runs", header, rows, right=["rows", "took"])


def list_document(models: Sequence[Model]) -> Json:
    """Return the models in topological order, with the models and seeds that each reads."""
    return {"models": [{**_model(model), "upstream": _upstream(model)} for model in models]}


def _upstream(model: Model) -> list[str]:
    mapped = [m.input for version in model.versions for b in version.bodies for m in b.inputs]
    read = {each.name for each in (*model.inputs, *mapped) if each.kind is InputKind.MODEL}
    return sorted(read.union(model.depends_on) - {model.name})


def _model(model: Model) -> dict[str, Json]:
    names = "strategy=shown_strategy tags path=where.path description" + " params" * bool(
        model.params
    )
    kind = {"kind": kind_of(model)}
    return {**document_of(model, "model=name table"), **kind, **document_of(model, names)}


def show_document(detail: ModelDetail) -> Json:
    """Return one model in full."""
    record = detail.record
    return {
        **_model(detail.model),
        **document_of(detail, "where=model.where uri? version versions config=model.config"),
        **document_of(detail, "columns[name type? description]"),
        "checks": [
            {"version": version or None, **document_of(check, _CHECK)}
            for version, check in detail.checks
        ],
        "hooks": [mask(line) for line in detail.hooks],
        **document_of(detail, "exposures group=model.group? access=model.access"),
        **document_of(detail, "inputs[kind name] sql fingerprint[sql canonical settings layout]"),
        **document_of(detail.drift, "state detail? also"),
        "record": _record(record) if record else None,
        "executions": [_execution(one) for one in detail.executions],
    }


def _record(record: ModelRecord) -> Json:
    return {
        **document_of(record, "status step? commit_version settled_version"),
        "inputs": [{"input": name, "version": str(pin)} for name, pin in record.pins.items()],
        "watermarks": {m.key: document_of(m.value, "type value=text") for m in record.watermarks},
        "executed_at": instant(record.executed_at),
        "duration": record.duration_ms / 1000,
        **document_of(record, f"{_WRITTEN} error=failure.code"),
    }


def _execution(one: Execution) -> Json:
    return {
        **document_of(one, f"step executed_at status sql_checksum=fingerprint.sql {_WRITTEN}"),
        "duration": one.duration_ms / 1000,
        **document_of(one, "triggered_by executed_by error=failure.code"),
    }


def tree_text(graph: Graph) -> str:
    """Draw a tree per root, separated by blank lines; a repeated node has no children.

    Roots are tables without inputs among the others. The larger subtree comes first, then the name
    decides. Below `_DEEPEST`, a tree continues as a separate one, because lines grow with depth.
    """
    read_by: dict[str, list[str]] = {node.table: [] for node in graph.nodes}
    for read, reader in graph.edges:
        read_by[read].append(reader)
    weight = _weights(read_by)
    for readers in read_by.values():
        readers.sort(key=lambda table: (-weight[table], table))
    readers_of_any = {reader for _, reader in graph.edges}
    seen: set[str] = set()
    names = {node.table: _node_label(node) for node in graph.nodes}
    roots = [node.table for node in graph.nodes if node.table not in readers_of_any]
    trees, roots = [], [*reversed(roots)]
    while roots:
        root, deeper = roots.pop(), list[str]()
        if root in seen:  # cut in one branch, and drawn in a shorter one
            continue
        trees.append([names[root], *_children(root, read_by, names, seen, deeper)])
        roots += reversed(deeper)
    return "\n\n".join("\n".join(lines) for lines in trees)


def _weights(read_by: Mapping[str, list[str]]) -> dict[str, int]:
    """Return how many tables each table reaches, including itself; the graph has no cycle."""
    bits = {read: 1 << number for number, read in enumerate(read_by)}
    for read in ordered(read_by):  # readers first
        for reader in read_by[read]:
            bits[read] |= bits[reader]
    return {read: each.bit_count() for read, each in bits.items()}


def _node_label(node: GraphNode) -> str:
    return f"{node.table} (v{node.version})" if node.version else node.table


def _children(
    root: str,
    read_by: Mapping[str, list[str]],
    names: Mapping[str, str],
    visited: set[str],
    deeper: list[str],
) -> Iterator[str]:
    """Yield the lines below a root; tables that are too deep are added to `deeper`."""
    left = [(root, "    ", iter(read_by[root]))]
    visited.add(root)
    while left:
        table, indent, children = left[-1]
        child = next(children, None)
        if child is None:
            left.pop()
            continue
        is_last = child == read_by[table][-1]
        is_cut = len(left) == _DEEPEST and child not in visited and bool(read_by[child])
        yield f"{indent}│"
        yield f"{indent}{'└' if is_last else '├'}── {names[child]}{' …' * is_cut}"
        if is_cut:
            deeper += [child] * (child not in deeper)
        elif child not in visited:
            visited.add(child)
            below = indent + ("    " if is_last else "│   ") + "    "
            left.append((child, below, iter(read_by[child])))


_SHAPES = {"model": ('["{}"]', "box"), "exposure": ('(["{}"])', "ellipse")}
"""The shapes of nodes in Mermaid and Graphviz; those of other tables are cylinders."""


def mermaid_text(graph: Graph) -> str:
    """Return a Mermaid flowchart."""
    ids = {node.table: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["graph LR"]
    for node in graph.nodes:
        shape = _SHAPES.get(node.kind, ('[("{}")]', ""))[0]
        label = _node_label(node).replace('"', "#quot;")
        lines.append(f"    {ids[node.table]}{shape.format(label)}")
    lines += [f"    {ids[read]} --> {ids[reader]}" for read, reader in graph.edges]
    return "\n".join(lines)


def dot_text(graph: Graph) -> str:
    """Return a Graphviz digraph."""
    lines = ["digraph penstock {", "    rankdir=LR;"]
    for node in graph.nodes:
        shape = _SHAPES.get(node.kind, ("", "cylinder"))[1]
        label = f", label={_dot(_node_label(node))}" if node.version else ""
        lines.append(f"    {_dot(node.table)} [shape={shape}{label}];")
    lines += [f"    {_dot(read)} -> {_dot(reader)};" for read, reader in graph.edges]
    return "\n".join([*lines, "}"])


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def graph_document(graph: Graph) -> Json:
    """Return nodes and edges; an edge starts at the input."""
    edges = [{"from": read, "to": reader} for read, reader in graph.edges]
    return {**document_of(graph, "nodes[table name kind strategy? version?]"), "edges": edges}


DRAWINGS: dict[str, Callable[[Graph], str]] = {
    "tree": tree_text,
    "mermaid": mermaid_text,
    "dot": dot_text,
    "json": lambda graph: printed(graph_document(graph)),
}
Day = Annotated[
    str | None, FlagSpec("The SQL of the partition that holds this date.", ("--date",), "D")
]
Form = Annotated[
    str, FlagSpec("Output format.", ("--format",), choices=("tree", "mermaid", "dot", "json"))
]


Kinds = Annotated[
    Sequence[str],
    FlagSpec("Only these: model, snapshot.", ("--resource-type", "--resource-types"), "TYPE"),
]
Printed = Annotated[
    str, FlagSpec("What to print of each model.", ("--output",), choices=("table", *LISTINGS))
]


@command("penstock list --select tag:daily\npenstock list --output name")
def list_command(
    output: CommandOutput, request: ModelsRequest, kinds: Kinds = (), form: Printed = "table"
) -> None:
    """List the models.

    One row per model, upstreams first.
    """
    from penstock.app.commands.show import list_models

    models, text = ask(request, list_models, request, tuple(kinds)), LISTINGS.get(form, list_text)
    output.print(models, text, list_document, is_code=form in LISTINGS)


Inline = Annotated[
    str | None, FlagSpec("Print this query without its templates.", ("--inline",), "SQL")
]


@command("penstock compile\npenstock compile --select users_clean")
def compile_command(output: CommandOutput, request: ModelsRequest, inline: Inline = None) -> None:
    """Write the SQL of models without templates.

    One file per model under .penstock/target/compiled; a single model is also printed. Starts no
    Spark.
    """
    from penstock.app.commands.show import compile_models, compile_query

    if inline is not None:
        found = ask(request, compile_query, inline)
    else:
        found = ask(request, compile_models, request)
    output.print(found, compiled_text, compiled_document, is_code=True)


@command("penstock show users_clean\npenstock show daily_user_stats --date 2024-12-02")
def show_command(
    output: CommandOutput, request: CommandRequest, model: Name, date: Day = None
) -> None:
    """Show everything about one model.

    Its columns, versions, inputs, settings, resolved SQL, state, watermarks and last runs.
    """
    from penstock.app.commands.show import show

    output.print(ask(request, show, model, date), show_text, show_document, is_code=True)


@command("penstock graph --format mermaid --select +daily_user_stats")
def graph_command(output: CommandOutput, request: ModelsRequest, form: Form = "tree") -> None:
    """Draw the dependency graph.

    Sources and models without upstreams are the roots. A node that appears again is drawn without
    its children.
    """
    from penstock.app.commands.show import graph

    output.print(ask(request, graph, request), DRAWINGS[form], graph_document, is_code=True)
