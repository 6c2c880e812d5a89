"""The use case `query`: run a user's SQL over the project's current tables."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from penstock.app.checking.flags import staging_root
from penstock.app.observation.observe import ObservedTables, pin_source
from penstock.app.preparing.pins import limits_read, source_read, tombstone_column
from penstock.app.services.catalog_sources import find_places
from penstock.app.services.services import Services
from penstock.core.errors import TableError, UsageError
from penstock.core.names import InputKind, InputName, shown_name
from penstock.core.ports.engine import ExportForm, QueryResult
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.core.sessions.package import SessionPackage
from penstock.core.steps.inputs import CatalogRead, DeltaRead, Read
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.first_pass import parse_user_query
from penstock.strategies.relations import BoundQuery, bind_query, query_tables


def query(services: Services, sql: str, limit: int) -> QueryResult:
    """Run a query and return at most `limit` rows.

    Tables are read at their newest version when the query starts, views as their queries, and file
    sources as they are. Every name is checked before Spark starts. A note tells which tables of a
    catalog are read without a version, because their logs cannot be found.
    """
    bound = _bound(services, sql)
    return services.engine.query(bound.relations, bound.sql, limit)


def frame(services: Services, sql: str) -> object:
    """Return the DataFrame of a query without running it."""
    bound = _bound(services, sql)
    return services.engine.frame(bound.relations, bound.sql)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file with the rows of a query; "" is the screen."""

    file: str
    form: ExportForm
    rows: int


def export(
    services: Services, sql: str, limit: int | None, form: ExportForm, path: Path | BinaryIO
) -> ExportedFile:
    """Write the rows of a query to a file, or to an open stream.

    A file is replaced atomically: rows are written to a sibling file first.
    """
    if not isinstance(path, Path):
        bound = _bound(services, sql)
        rows = services.engine.export(bound.relations, bound.sql, limit, form, path)
        return ExportedFile("", form, rows)
    with replaced_file(path) as file:
        rows = export(services, sql, limit, form, file).rows
    return ExportedFile(str(path), form, rows)


def form_of(form: str | None, path: Path | None) -> ExportForm | None:
    """Return the requested format, or that of the file extension; None for the screen's format.

    Raises `UsageError` if the name determines no format, and for Parquet on the screen.
    """
    if form is None and path is not None:
        form = path.suffix.lower().removeprefix(".")
        if form not in list(ExportForm):
            sentence = f"the name of {path} says no format"
            raise UsageError("bad-value", sentence, hint=f"--format {', '.join(ExportForm)}")
    if form == ExportForm.PARQUET and path is None:
        sentence = "--format parquet needs --output"
        raise UsageError("option-conflict", sentence, hint="--output rows.parquet")
    return ExportForm(form) if form else None


@contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """Open a sibling file that replaces this one at the end; raise `bad-output` if it cannot."""
    target = Path(os.path.realpath(path))  # a link stays one
    if target.exists() and not target.is_file():
        sentence = f"{path} is not a file that can be replaced"
        raise UsageError("bad-output", sentence, hint="leave --output out, and rows are printed")
    half = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with half.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, half)
        half.replace(target)
    except OSError as error:
        sentence = f"{path} cannot be written: {error.strerror or error}"
        hint = "name a file in a folder that is there, with room for it"
        raise UsageError("bad-output", sentence, hint=hint) from error
    finally:
        half.unlink(missing_ok=True)


def _bound(services: Services, sql: str) -> BoundQuery:
    return bound_now(services, parse_user_query(services.project, sql, services.environ))


def bound_now(services: Services, parsed: Query) -> BoundQuery:
    """Bind a query to the current state of everything it reads; raise `not-built-yet`."""
    project = services.project
    reads: dict[InputName, Read] = {}
    names = query_tables(project, parsed.inputs)
    by_name = [each for each in names if _is_by_name(project, each)]
    for name in names:
        model = project.models.get(name.name)
        if name.kind is InputKind.MODEL and model is not None and model.is_view:
            reads |= limits_read(services, name)
        elif name not in by_name:
            reads[name] = _read(services, name)
    find_places(services, (each.name for each in by_name))  # this starts Spark
    reads |= {name: _read_by_name(services, name) for name in by_name}
    unpinned = [read.name for read in reads.values() if isinstance(read, CatalogRead)]
    if unpinned:
        are = "is" if len(unpinned) == 1 else "are"
        services.note(f"{', '.join(unpinned)} {are} read without a version: no Delta log was found")
    return bind_query(project, parsed, reads, services.clock.now())


def _is_by_name(project: Project, name: InputName) -> bool:
    return name.kind is InputKind.SOURCE and project.sources[name.name].in_catalog


def _read_by_name(services: Services, name: InputName) -> Read:
    """Return how to read a source that only a catalog names: at its newest version, if known."""
    source = services.project.sources[name.name]
    try:
        head = services.log.head(source.path) if source.path else None
    except (TableError, OSError):  # Spark may have the right to read it
        head = None
    return DeltaRead(source.path, head.version) if head else CatalogRead(shown_name(name.name))


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
        if (kept := _read_failing_rows(services, name)) is not None:
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
    return DeltaRead(uri, head.version, tombstone_column(services, name))


def _read_failing_rows(services: Services, name: InputName) -> Read | None:
    """Return a table of rows that failed checks: a quarantine, or what `store_failures` keeps."""
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
