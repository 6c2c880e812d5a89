"""Model files with their settings, linked to models; and cycles between models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.findings import Finding, Location
from penstock.core.history import HistorySettings, SystemColumns
from penstock.core.model import Body, Model, Source, Version
from penstock.core.names import (
    NAMES_HINT,
    InputKind,
    InputName,
    TableName,
    maps_columns,
    refused_by_delta,
)
from penstock.core.project import Target
from penstock.core.query import Query, TemplateQuery, mentioned
from penstock.core.strategy import Layout, OnSchemaChange, Strategy
from penstock.project.checks.scene import WrittenChecks, written_in_header, written_in_yaml
from penstock.project.contracts import constraint_checks, contract_of
from penstock.project.files.discovery import check_name, model_name
from penstock.project.files.parsed import READS_CODE, SqlFile
from penstock.project.files.values import Plain, digest, mapping_of, switch_of, texts_of
from penstock.project.input_ranges.inputs import Declared
from penstock.project.model_versions import ModelVersion
from penstock.project.outside import is_outside
from penstock.project.settings.check_keys import CHECK_KEYS
from penstock.project.settings.config import lift, merged, shown_config
from penstock.project.settings.project import Settings, YamlEntry, column_docs, defaults_for
from penstock.project.settings.snapshot import check_outputs, system_columns_of
from penstock.project.settings.strategy import (
    StrategyConfig,
    declared_schema,
    layout_of,
    strategy_of,
)
from penstock.project.sql.bodies import (
    fingerprint_of_settings,
    is_range,
    no_parameter_findings,
    parameter_findings,
)
from penstock.project.sql.names import Named, NameResolver, QueryOwner, link
from penstock.project.sql.outputs import mixes_rows
from penstock.project.sql.template_lines import line_of

SNAPSHOTS = "snapshots"
_SYSTEM = "system_columns"


@dataclass(slots=True)
class Draft:
    """One model before linking. `stem` is another name for ref(): that of its file without .sql.

    `written` is its table without the schema prefix, `entry` its entry in a YAML file, `path` the
    folder of its table if it is outside the warehouse, `version` the one that it is of a model.
    """

    name: str
    where: Location
    stem: str
    file: SqlFile
    config: StrategyConfig
    table: TableName
    written: TableName
    entry: YamlEntry | None = None
    findings: list[Finding] = field(default_factory=list)
    path: str = ""
    version: ModelVersion | None = None

    @property
    def enabled(self) -> bool:
        """Whether the model is part of the project."""
        return bool(switch_of(self.config.settings.get("enabled", True)))

    @property
    def immutable(self) -> bool | None:
        """Whether SQL that has built partitions is fixed; None uses the project's setting."""
        return None

    @property
    def owner(self) -> str:
        """The owner of its table, for messages."""
        return f"model {self.name}"

    @property
    def system_columns(self) -> SystemColumns | None:
        """The columns with the validity interval of a row's version."""
        is_history = self.config.text("materialized") == "snapshot"
        return system_columns_of(self.config) if is_history else None

    @property
    def reference(self) -> Named:
        """Its name in `ref`."""
        return Named(InputName(InputKind.MODEL, self.name), self.table)

    @property
    def place(self) -> str:
        """The place of its definition, for messages: a file, or a line of a YAML file."""
        is_file = self.where == Location(self.file.path)
        return self.file.path if is_file else str(self.where)

    @property
    def is_incremental(self) -> bool:
        """Whether readers may read only its new rows."""
        return False

    def link(self, resolver: NameResolver) -> Built:
        """Resolve every setting and every name."""
        return model_of(self, resolver)

    def made_source(self, resolver: NameResolver, target: Target) -> Source | None:
        """Return the undeclared source that it reads, if it may name one."""
        del resolver, target
        return None

    def checks(self, fill: Callable[[Plain], Plain]) -> tuple[WrittenChecks, ...]:
        """Return the checks of its files."""
        written = [written_in_header(self.file)]
        if self.version:
            written += self.version.checks(fill)
        elif self.entry:
            written.append(written_in_yaml(self.entry.file, self.entry.path, fill))
        found = tuple(each for each in written if each is not None)
        of_contract = constraint_checks(self.entry, self.config, found) if self.entry else None
        return (*found, *((of_contract,) if of_contract else ()))


def draft(
    file: SqlFile,
    entry: YamlEntry | None,
    settings: Settings,
    version: ModelVersion | None = None,
) -> Draft:
    """Combine the settings of a SQL file: its header, then YAML, then defaults.

    An entry of `snapshots:` is a separate model, and `file` its query.
    """
    if version:
        entry = version.entry
    if entry and entry.path[0] == SNAPSHOTS:
        name = stem = entry.name
        where = Location(entry.file.path, entry.where.line)
    else:
        name, where = version.name if version else model_name(file.path), Location(file.path)
        stem = file.path.rpartition("/")[2].removesuffix(".sql")
    config = _config(name, file, entry, settings)
    folder = file.path.rpartition("/")[0] or "."
    usual = settings.name if folder in settings.folders else folder.rpartition("/")[2]
    written = TableName(config.text("schema") or usual, config.text("alias") or name)
    table = TableName(settings.target.schema_prefix + written.schema, written.table)
    result = Draft(name, where, stem, file, config, table, written, entry, version=version)
    plain = f"{version.base}_v{version.number}" if version else name
    named = (("model", plain), ("schema", written.schema), ("table", written.table))
    for what, word in named:
        bad = check_name(what, word, config.where if word != name else where)
        said_elsewhere = (what == "table" and word == name) or word == settings.name
        if bad and not said_elsewhere:
            result.findings.append(bad)
    return result


def _config(
    name: str, file: SqlFile, entry: YamlEntry | None, settings: Settings
) -> StrategyConfig:
    header_at = Location(file.path, file.config_line)

    def header_place(*path: str) -> Location:
        return Location(file.path, line_of(file.key_lines, path, file.config_line))

    def beside_place(*path: str) -> Location:
        return entry.file.key_place(*entry.path, "config", *path) if entry else header_at

    layers = defaults_for(settings.defaults, file.path, settings.folders)
    lowest = [lift(layer, lambda *_: header_at).values for layer in layers]
    beside = lift(entry_settings(entry.tree) if entry else {}, beside_place)
    said = {key: value for key, value in file.config.items() if key not in CHECK_KEYS}
    header = lift(said, header_place)
    values = merged([*lowest, beside.values, header.values])
    own = {**beside.places, **header.places}
    if "tags" in own:
        both = (*texts_of(header.values.get("tags")), *texts_of(beside.values.get("tags")))
        values["tags"] = list(dict.fromkeys(both))
    if entry and entry.path[0] == SNAPSHOTS:
        values["materialized"] = "snapshot"
    if values.get("materialized") == "snapshot":
        columns = merged([{_SYSTEM: settings.system_columns}, values])[_SYSTEM]
        values |= {_SYSTEM: columns} if columns else {}
    where = header_at if file.config or not entry else beside_place()
    described = entry.tree.get("columns") if entry else None
    docs = column_docs(values.get("columns") if described is None else described)
    findings = [*beside.findings, *header.findings]
    return StrategyConfig(values, own, where, name, findings, docs)


def entry_settings(tree: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the settings of a model in a YAML entry."""
    config = dict(mapping_of(tree.get("config")))
    if tree.get("description"):
        config.setdefault("description", tree["description"])
    tags = (*texts_of(tree.get("tags")), *texts_of(config.get("tags")))
    if tags:
        config["tags"] = list(tags)
    for key in ("group", "access"):
        if tree.get(key):
            config.setdefault(key, tree[key])
    if tree.get("meta"):
        config["meta"] = {**mapping_of(config.get("meta")), **mapping_of(tree["meta"])}
    return config


@dataclass(slots=True)
class Built:
    """A model (None if its file is broken), the lines of its parents, and findings."""

    strategy: Strategy
    model: Model | None = None
    parents: dict[str, int] = field(default_factory=dict)
    declared: tuple[Declared, ...] = ()
    """The ranges declared in `depends_on`."""
    findings: list[Finding] = field(default_factory=list)


def model_of(item: Draft, resolver: NameResolver) -> Built:
    """Resolve every setting and every name of a model."""
    config, file, strategy = item.config, item.file, strategy_of(item.config)
    description = (config.text("description") or config.text("comment")).strip()
    layout = layout_of(config, strategy)
    built = Built(strategy, findings=config.findings)
    if not file.branches:
        return built
    _check_columns(item, strategy, layout)
    branches = file.branches if strategy.is_incremental else file.branches[:1]
    linked = link(branches, resolver, QueryOwner(file.path, item.reference))
    config.findings += linked.findings
    has_partition = strategy.partitioning is not None
    config.findings += parameter_findings(branches, file.path, has_partition=has_partition)
    inputs = _with_dependencies(item, dict(linked.inputs), resolver)
    is_whole = len(inputs) == len(linked.inputs)  # most models: `depends_on` adds nothing
    kinds = (InputKind.MODEL, InputKind.THIS) if strategy.is_view else (InputKind.MODEL,)
    built.parents = {each.name: line for each, line in inputs.items() if each.kind in kinds}
    built.model = Model(
        name=item.name,
        table=item.table,
        where=item.where,
        strategy=strategy,
        query=_with_reads(item, linked.query, () if is_whole else tuple(inputs), resolver),
        fingerprint=replace(
            fingerprint_of_settings(strategy, layout, description, config.columns),
            sql=digest(linked.display),
            canonical=digest(linked.query.canonical),
        ),
        depends_on=tuple(sorted(name for name in built.parents if name in resolver.built)),
        layout=layout,
        on_schema_change=config.word("on_schema_change", OnSchemaChange.APPEND),
        columns=config.columns,
        contract=contract_of(config, item.entry),
        description=description,
        tags=config.texts("tags"),
        config=shown_config({"materialized": "view", **config.settings}),
    )
    if has_partition:
        built.model = _with_version(built.model, linked.display, built)
    return built


def _with_reads(
    item: Draft, query: Query, inputs: tuple[InputName, ...], resolver: NameResolver
) -> Query:
    """Return a query with its inputs, if given, and with what its template reads."""
    query = replace(query, inputs=inputs) if inputs else query
    reads, reader = list[TemplateQuery](), QueryOwner(item.file.path, item.reference)
    for each in item.file.queries:
        text = link([each.branch], resolver, reader).query.text
        tables = mentioned(text)
        for name in (name for name in tables if name.kind is InputKind.EXTERNAL):
            sentence = f"the template reads rows of {name.name}, which is not declared"
            hint = "declare it as a source, so that its changes are seen"
            where = Location(item.file.path, each.line)
            finding = Finding(where, READS_CODE, sentence, hint)
            item.config.findings.append(finding)
        reads.append(TemplateQuery(each.key, text, tables, each.line, each.is_ordered))
    return replace(query, reads=tuple(reads), waits=item.file.waits) if reads else query


def _check_columns(item: Draft, strategy: Strategy, layout: Layout) -> None:
    """Report errors in the columns of the query, as far as its text names them."""
    if strategy.history is not None:
        check_outputs(strategy.history, item.config, item.file)
        mixing = mixes_rows(item.file.branches[0].text) if strategy.history.change_feed else ""
        if mixing:
            what = f"change_feed needs a query whose rows each come from one row; it has {mixing}"
            hint = "take change_feed out, or build that query as a table and read it here"
            item.config.report("change_feed", "option-conflict", what, hint)
        _check_end(item.config, strategy.history)
    if strategy.is_view or maps_columns(layout.properties):
        return
    for column in item.file.branches[0].outputs.columns:
        refused = refused_by_delta(column.name)
        if refused:
            where = Location(item.file.path, column.line)
            sentence = f"Delta refuses the name of column {column.name!r}: it has {refused}"
            item.config.findings.append(Finding(where, "column-name", sentence, NAMES_HINT))


def _check_end(config: StrategyConfig, history: HistorySettings) -> None:
    """Report an end of current versions that is not the same in every run."""
    text = config.text("dbt_valid_to_current").strip()
    if not history.columns.current_end:
        return
    from penstock.project.sql.canonical import is_constant  # imports sqlglot

    if not is_constant(text):
        sentence = f"dbt_valid_to_current {text!r} is not SQL for one fixed time"
        config.report("dbt_valid_to_current", "bad-value", sentence, "to_date('9999-12-31')")


def _with_dependencies(
    item: Draft, inputs: dict[InputName, int], resolver: NameResolver
) -> dict[InputName, int]:
    """Add the inputs in `depends_on` to those of the query."""
    where = item.config.own.get("depends_on", item.where)
    for name in (n for n in item.config.texts("depends_on") if not is_outside(n)):
        found = resolver.ref(name) or resolver.table(tuple(name.split(".")))
        if found.input.kind is InputKind.EXTERNAL:
            sentence = f"depends_on: {name!r} is not a model, seed or source"
            hint = resolver.model_hint(name.rpartition(".")[2])
            item.config.findings.append(Finding(where, "unknown-reference", sentence, hint))
        else:
            inputs.setdefault(found.input, where.line)
    return inputs


def _with_version(model: Model, text: str, built: Built) -> Model:
    """Add its one version to a partitioned model; it has a schema if every column has a type."""
    schema, schema_text = declared_schema(model.columns)
    checksums = replace(model.fingerprint, schema=digest(schema_text) if schema_text else "")
    query, where = model.query, model.where
    body = Body(query, checksums, text, where.path, where, is_range=is_range(query))
    built.findings += no_parameter_findings(body)
    version = Version(1, body, schema, schema_text)
    return replace(model, fingerprint=checksums, versions=(version,))
