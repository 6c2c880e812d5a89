"""The use case `query`: a user's SQL over the project's tables as they are now."""

from __future__ import annotations

from penstock.app.checking.flags import staging_root
from penstock.app.observation.observe import ObservedTables, pin_source
from penstock.app.preparing.pins import limits_read, source_read, tombstones_of
from penstock.app.services.services import Services
from penstock.core.errors import TableError, UsageError
from penstock.core.names import InputKind, InputName, shown_name
from penstock.core.ports.engine import QueryResult
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.core.sessions.package import SessionPackage
from penstock.core.steps.inputs import CatalogRead, DeltaRead, Read
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.first_pass import parse_user_query
from penstock.strategies.relations import BoundQuery, bind_query, leaves_of


def query(services: Services, sql: str, limit: int) -> QueryResult:
    """Run a query and give at most `limit` rows.

    Tables are read at the version that is newest when the query starts, views are their queries,
    sources of files are what lies there now. Every name is checked before Spark starts.
    """
    bound = bound_now(services, parse_user_query(services.project, sql))
    return services.engine.query(bound.relations, bound.sql, limit)


def bound_now(services: Services, parsed: Query) -> BoundQuery:
    """Bind a query to everything it reads as it stands now; raises `not-built-yet`."""
    project = services.project
    reads: dict[InputName, Read] = {}
    for name in leaves_of(project, parsed.inputs):
        model = project.models.get(name.name)
        if name.kind is not InputKind.MODEL or model is None or not model.is_view:
            reads[name] = _read(services, name)
        else:
            reads |= limits_read(services, name)
    return bind_query(project, parsed, reads, services.clock.now())


def _read(services: Services, name: InputName) -> Read:
    project = services.project
    if name.kind is InputKind.SOURCE:
        view = ObservedTables.empty(services.clock.now())
        pin = pin_source(services, project.sources[name.name], view.listings)
        return source_read(project, name, pin, view)
    if name.kind is not InputKind.MODEL:
        exported = {str(each.manifest_table): each for each in project.packages.values()}
        if name.name in exported:
            return _read_manifest(services, exported[name.name])
        if (kept := _kept(services, name)) is not None:
            return kept
        if not project.target.catalog:
            raise _unknown(project, name)
        return CatalogRead(shown_name(name.name))
    uri = project.uri_of(project.table_of(name))
    head = services.log.head(uri)
    if head is None:
        is_seed = name.name in project.seeds
        command = "seed" if is_seed else project.models[name.name].strategy.command
        sentence = f"{name} has no table at {uri}"
        hint = f"penstock {command} --select {name}"
        raise TableError("not-built-yet", sentence, hint=hint)
    return DeltaRead(uri, head.version, tombstones_of(services, name))


def _kept(services: Services, name: InputName) -> Read | None:
    """Give a table of rows that failed checks: a quarantine, or what `store_failures` keeps."""
    schema, _, table = name.name.partition(".")
    if schema != services.project.checks.staging_schema or not table:
        return None
    uri = f"{staging_root(services)}/{table}"
    head = services.log.head(uri)
    return DeltaRead(uri, head.version) if head is not None else None


def _read_manifest(services: Services, package: SessionPackage) -> Read:
    uri = services.project.uri_of(package.manifest_table)
    head = services.log.head(uri)
    if head is None:
        sentence = f"the manifest of {package.name} was never exported"
        hint = f"penstock sessions manifest {package.name} --export"
        raise TableError("not-built-yet", sentence, hint=hint)
    return DeltaRead(uri, head.version)


def _unknown(project: Project, name: InputName) -> UsageError:
    models = {each.name: str(each.table) for each in project.models.values()}
    models |= {each.name: str(each.table) for each in project.seeds.values()}
    known = (*models, *models.values(), *project.sources)
    hint = did_you_mean(name.name, known) or f"there are: {some_of(models.values())}"
    return UsageError("unknown-table", f"no model, seed or source is called {name}", hint=hint)
