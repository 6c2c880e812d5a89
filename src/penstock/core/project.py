"""A loaded project: the content of its files, without tables or records."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock.core.beside.exposures import Exposure, ModelGroup
from penstock.core.beside.hooks import Hook, Hooks, shown_grants
from penstock.core.checks.check import CheckSettings
from penstock.core.entities.entity import Entity, EntityEnvironment, WholeTable
from penstock.core.findings import Finding, Location
from penstock.core.graph import reach
from penstock.core.masking import Json, is_secret_key
from penstock.core.model import MODEL_COLUMNS, Fingerprint, Model, Seed, Source
from penstock.core.names import InputKind, InputName, TableName, quoted, shown_name
from penstock.core.query import TemplateRows, at, substitute
from penstock.core.sessions.package import SessionPackage
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.storage import StoreAccess


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How to start the Spark session of a target, and how long its JVM waits afterwards."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    conf: Mapping[str, str] = field(default_factory=dict)
    keep_warm: dt.timedelta = dt.timedelta()


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """How long a silent run keeps its targets, and how often a running one renews them."""

    length: dt.timedelta = dt.timedelta(seconds=60)
    heartbeat: dt.timedelta = dt.timedelta(seconds=10)


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_LONG = 8  # characters of a text that can be a secret
_HEADERS = ("Authorization", "authorization", "Cookie", "cookie")
STATE_PATIENCE = dt.timedelta(minutes=5)
"""Long enough for a server to restart or fail over."""


@dataclass(frozen=True, slots=True)
class Target:
    """An environment: its warehouse, its state, its Spark.

    `warehouse` is an absolute path or a URI; `state` is an SQLAlchemy URL. With a `catalog` the
    tables are registered in that Spark catalog under their names; their folders stay the same.
    `places` are the folders of tables outside the warehouse, by their names in lower case.
    `storage` configures the access to object stores, by prefix.
    """

    name: str
    warehouse: str
    state: str
    spark: SparkSettings = SparkSettings()
    catalog: str = ""
    schema_prefix: str = ""
    places: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, StoreAccess] = field(default_factory=dict)

    def uri_of(self, table: TableName) -> str:
        """Return the folder of a table, also with a catalog, so that its log is found."""
        usual = f"{self.warehouse.rstrip('/')}/{table.schema}/{table.table}"
        return self.places.get(table.folded, usual)


@dataclass(frozen=True, slots=True)
class Receivers:
    """Other programs that receive events of runs."""

    openlineage: bool = False
    """Whether the project asks for OpenLineage events."""
    namespace: str = ""
    """The namespace of jobs, "" for the default."""
    transport: Mapping[str, Json] = field(default_factory=dict, repr=False)
    """The `transport` of the OpenLineage client; empty for its own configuration."""
    webhook: str = field(default="", repr=False)
    """The URL that is called after a run that did not succeed."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What messages must not show: the webhook, also without its server, and credentials."""
        path = "/" + self.webhook.partition("://")[2].partition("/")[2]
        sections = (self.transport.get(name) for name in ("auth", "custom_headers"))
        keys = [pair for each in sections if isinstance(each, Mapping) for pair in each.items()]
        credentials = (str(text) for name, text in keys if is_secret_key(name) or name in _HEADERS)
        return tuple(each for each in (self.webhook, path, *credentials) if len(each) >= _LONG)


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """One selector: a method with a value, and how many levels of parents and children.

    None means no level, "" all levels. `whole_build` is `@`: children and everything they need.
    """

    text: str
    method: str
    value: str
    up: str | None = None
    down: str | None = None
    whole_build: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """One term, or the union or intersection of `parts`; without the models of `without`."""

    where: Location
    term: SelectorTerm | None = None
    parts: tuple[Selection, ...] = ()
    is_intersection: bool = False
    without: tuple[Selection, ...] = ()

    @property
    def terms(self) -> Iterator[SelectorTerm]:
        """Its terms, in any depth."""
        if self.term is not None:
            yield self.term
        for each in (*self.parts, *self.without):
            yield from each.terms


@dataclass(frozen=True, kw_only=True)
class ProjectSettings:
    """The settings of penstock.yml for one target."""

    name: str
    target: Target
    targets: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("models",)
    vars: Mapping[str, Json] = field(default_factory=dict)
    threads: int = 4
    lease: LeaseSettings = LeaseSettings()
    state_patience: dt.timedelta = STATE_PATIENCE
    max_partitions: int | None = None
    """The greatest number of partitions of one sync, None for no limit."""
    checks: CheckSettings = CheckSettings()
    receivers: Receivers = Receivers()


@dataclass(frozen=True, kw_only=True)
class Project(ProjectSettings, ShownInNotebooks):
    """The whole project for one target."""

    _rows = "models"
    _columns = MODEL_COLUMNS
    _lines = "findings"

    root: str
    models: Mapping[str, Model]
    sources: Mapping[str, Source]
    seeds: Mapping[str, Seed] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """Warnings; errors are raised."""
    entities: Mapping[str, Entity] = field(default_factory=dict)
    """All entities by their models, including disabled ones."""
    environment: EntityEnvironment = EntityEnvironment()
    """The common settings of entity documents."""
    packages: Mapping[str, SessionPackage] = field(default_factory=dict)
    hooks: Hooks = Hooks()
    """SQL that runs before the first step of a run and after its last."""
    exposures: Mapping[str, Exposure] = field(default_factory=dict)
    groups: Mapping[str, ModelGroup] = field(default_factory=dict)
    selectors: Mapping[str, Selection] = field(default_factory=dict)
    """The selections of selectors.yml by name."""
    template_rows: Mapping[str, TemplateRows] = field(default_factory=dict)
    """The rows that templates read, by the keys of their queries."""
    refused_rows: Mapping[str, Finding] = field(default_factory=dict)
    """The errors of files with these rows: their templates are taken as without them."""
    deferred: Mapping[str, str] = field(default_factory=dict)
    """The folders of models and seeds that are read from another target, and never written."""

    @cached_property
    def locations(self) -> tuple[str, ...]:
        """The places of tables that are written, then of sources and what entities read."""
        sources = (source.path for source in self.sources.values())
        folders = (
            str(each.bronze.path)
            for each in self.entities.values()
            if not isinstance(each.bronze, WholeTable)
        )
        return (*self.written, *sources, self.environment.root, *folders)

    @property
    def written(self) -> tuple[str, ...]:
        """The places of tables that are written, the warehouse first."""
        own = (each.path for each in self.entities.values() if each.path)
        return (self.target.warehouse, *self.target.places.values(), *own)

    @cached_property
    def checked_views(self) -> frozenset[str]:
        """The views that have checks."""
        return frozenset(n for n, m in self.models.items() if m.is_view and m.all_checks)

    @cached_property
    def views_of_tables(self) -> frozenset[str]:
        """The views that a table reads, including nested ones."""
        models = self.models
        read = {
            name: {each.name for each in m.inputs if each.kind is InputKind.MODEL}.union(
                m.depends_on
            )
            for name, m in models.items()
        }
        reached = reach((name for name in models if not models[name].is_view), read)
        return frozenset(name for name in reached if name in models and models[name].is_view)

    def package_of(self, name: str) -> SessionPackage | None:
        """Return the session package that builds a table, or whose tag a model has."""
        model = self.models.get(name)
        if not self.packages or model is None:
            return None
        for each in self.packages.values():
            if each.tag in model.tags or any(own.name == name for own in each.models):
                return each
        return None

    def models_of(self, package: str) -> tuple[str, ...]:
        """Return the tables of a session package, and the models with its tag."""
        own = ((name, self.package_of(name)) for name in self.models if package in self.packages)
        return tuple(name for name, each in own if each is not None and each.name == package)

    def table_of(self, name: InputName, this: Model | None = None) -> TableName:
        """Return the table of an input; seeds count like models."""
        match name.kind:
            case InputKind.MODEL:
                found = self.models.get(name.name) or self.seeds[name.name]
                return found.table
            case InputKind.SOURCE:
                return self.sources[name.name].table
            case InputKind.THIS:
                if this is None:
                    raise KeyError("`this` outside of a model")
                return this.table
            case InputKind.EXTERNAL:
                schema, _, table = name.name.rpartition(".")
                return TableName(schema, table)

    def uri_of(self, table: TableName) -> str:
        """Return the folder of a table."""
        return self.target.uri_of(table)

    def sql_of(self, table: TableName) -> str:
        """Return SQL for a table that penstock writes: its folder, or its name in the catalog."""
        if self.target.catalog:
            return f"{quoted(self.target.catalog)}.{table.sql}"
        return f"delta.{quoted(self.uri_of(table))}"

    def outside(self, fingerprint: Fingerprint) -> str:
        """Return the text behind a checksum of settings, if a model depends on files."""
        known = {each.fingerprint.settings: each.outside for each in self.models.values()}
        return known.get(fingerprint.settings, "")

    def shown_sql(self, model: Model) -> str:
        """Return a model's code for users: the text that `sql_checksum` hashes.

        Tables in SQL have their names; a function is its text. A text that waits begins with a
        comment, which is not hashed.
        """
        if model.function is not None:
            return model.function.text
        names = {n: shown_name(str(self.table_of(n, model))) for n in model.query.inputs}
        return model.query.noted(model.query.shown_sql(names))

    def view_sql(self, model: Model, present: Mapping[InputName, str]) -> str:
        """Return the SQL of a catalog's view; `present` excludes tombstones, if there are any.

        A table of another target is named by its folder.
        """
        names = {n: shown_name(str(self.table_of(n, model))) for n in model.query.inputs}
        others = {n: self.deferred[n.name] for n in names if is_deferred(self, n)}
        names |= {n: f"delta.{quoted(uri)}" for n, uri in others.items()}
        return model.query.written(names, present)


def is_deferred(project: Project, name: InputName) -> bool:
    """Return whether an input is a table of another target."""
    return name.kind is InputKind.MODEL and name.name in project.deferred


def read_uri(project: Project, name: InputName) -> str:
    """Return the folder from which a model or seed is read: its table, or another target's."""
    if is_deferred(project, name):
        return project.deferred[name.name]
    return project.uri_of(project.table_of(name))


def hook_sql(project: Project, text: str, model: Model | None, run_timestamp: dt.datetime) -> str:
    """Return a hook's SQL: each table by its folder, or by its name in the catalog.

    Inside quotes it is the name that users know.
    """

    def with_names(quoted_text: re.Match[str]) -> str:
        return substitute(
            quoted_text[0], lambda name, _: shown_name(str(project.table_of(name, model)))
        )

    named = _QUOTED.sub(with_names, text)
    return at(substitute(named, lambda name, _: _sql_of_input(project, name, model)), run_timestamp)


def _sql_of_input(project: Project, name: InputName, model: Model | None) -> str:
    source = project.sources.get(name.name) if name.kind is InputKind.SOURCE else None
    if source is None:
        table = project.table_of(name, model)
        is_elsewhere = is_deferred(project, name)
        return f"delta.{quoted(read_uri(project, name))}" if is_elsewhere else project.sql_of(table)
    if source.path and not source.in_catalog:
        return f"{source.format}.{quoted(source.path)}"
    catalog = project.target.catalog
    return f"{quoted(catalog)}.{source.table.sql}" if catalog else source.table.sql


def shown_hook(project: Project, hook: Hook, model: Model | None = None) -> str:
    """Return a hook for users: tables have their names."""
    return hook.display({n: shown_name(str(project.table_of(n, model))) for n in hook.inputs})


def hook_lines(project: Project, model: Model | None = None) -> tuple[str, ...]:
    """Return the hooks of a model and its grants, or those of runs, one line each."""
    hooks, of = (project.hooks, " the run") if model is None else (model.hooks, "")
    lines = [f"before{of}: {shown_hook(project, each, model)}" for each in hooks.before]
    lines += [f"after{of}: {shown_hook(project, each, model)}" for each in hooks.after]
    if model is not None and model.grants is not None and project.target.catalog:
        lines.append(shown_grants(model.grants))
    return tuple(lines)


def exposures_of(project: Project, name: str) -> tuple[str, ...]:
    """Return the names of the exposures that read a model."""
    return tuple(each.name for each in project.exposures.values() if name in each.models)
