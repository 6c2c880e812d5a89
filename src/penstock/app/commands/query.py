"""The use case `query`: a user's SQL over the project's tables as they are now."""

from __future__ import annotations

from penstock.app.preparing.run_context import tombstones_of
from penstock.app.services.services import Services
from penstock.core.errors import TableError, UsageError
from penstock.core.model import Source
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import QueryResult
from penstock.core.project import Project
from penstock.core.query import shown_name
from penstock.core.steps.inputs import CatalogRead, DeltaRead, FilesRead, Read
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.late import parse_user_query
from penstock.strategies.relations import bind_query, leaves_of


def query(services: Services, sql: str, limit: int) -> QueryResult:
    """Run a query and give at most `limit` rows.

    Tables are read at the version that is newest when the query starts, views are their queries,
    sources of files are what lies there now. Every name is checked before Spark starts.
    """
    project = services.project
    parsed = parse_user_query(project, sql)
    reads = {
        name: _read(services, name)
        for name in leaves_of(project, parsed.inputs)
        if not _is_view(project, name)
    }
    bound = bind_query(project, parsed, reads, services.clock.now())
    return services.engine.query(bound.relations, bound.sql, limit)


def _is_view(project: Project, name: InputName) -> bool:
    model = project.models.get(name.name)
    return name.kind is InputKind.MODEL and model is not None and model.is_view


def _read(services: Services, name: InputName) -> Read:
    match name.kind:
        case InputKind.MODEL:
            return _table(services, name)
        case InputKind.SOURCE:
            return _source(services, services.project.sources[name.name])
        case _:
            if not services.project.target.catalog:
                raise _unknown(services.project, name)
            return CatalogRead(shown_name(name.name))


def _table(services: Services, name: InputName) -> Read:
    uri = services.project.uri_of(services.project.table_of(name))
    head = services.log.head(uri)
    if head is None:
        command = _builder(services.project, name)
        raise TableError(
            "not-built-yet",
            f"{name} has no table at {uri}",
            hint=f"penstock {command} --select {name}",
        )
    return DeltaRead(uri, head.version, tombstones_of(services, name))


def _builder(project: Project, name: InputName) -> str:
    if name.name in project.seeds:
        return "seed"
    return project.models[name.name].strategy.command


def _source(services: Services, source: Source) -> Read:
    if not source.path:
        return CatalogRead(shown_name(str(source.table)))
    if source.is_delta:
        head = services.log.head(source.path)
        if head is None:
            sentence = f"source {source.table} has no Delta table: {source.path}"
            raise TableError("source-missing", sentence, where=source.where)
        return DeltaRead(source.path, head.version)
    columns = tuple((column.name, column.type) for column in source.columns if column.type)
    files = services.log.listing(source).files
    return FilesRead(source.format, source.path, files, source.options, columns)


def _unknown(project: Project, name: InputName) -> UsageError:
    models = {each.name: each.table for each in project.models.values()}
    models |= {each.name: each.table for each in project.seeds.values()}
    known = [*models, *map(str, models.values()), *project.sources]
    hint = did_you_mean(name.name, known) or f"there are: {some_of(map(str, models.values()))}"
    return UsageError("unknown-table", f"no model, seed or source is called {name}", hint=hint)
