"""The use case `docs generate`: one static site of the project, its tables and its runs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from penstock.app.commands.sync import plan_sync
from penstock.app.planning.make_plan import make_plan, run_timestamp_of
from penstock.app.planning.selection import selected_models
from penstock.app.read_requests import ServeRequest, SiteRequest
from penstock.app.request import RunRequest, SyncRequest
from penstock.app.services.services import Services, in_one_state
from penstock.app.services.wire import (
    SystemClock,
    open_services,
    place_of,
    version,
    wired,
    without_records,
)
from penstock.app.site.cache import SiteCache
from penstock.app.site.documents import (
    FoundText,
    Notice,
    ProjectDocument,
    RunDocument,
    RunsDocument,
    SearchDocument,
)
from penstock.app.site.files import BUNDLE, chunk_text, require_bundle, require_ours, write_site
from penstock.app.site.models import (
    MOST_EVALUATIONS,
    Shapes,
    model_document,
    package_parts,
    slow_tasks,
    with_queries,
)
from penstock.app.site.overview import (
    RUNS_IN_A_FILE,
    notice_of,
    project_document,
    run_document,
)
from penstock.app.site.partitions import partitions_document
from penstock.app.site.reading import SiteInputs, read_site, without_state
from penstock.core.errors import PenstockError, ProjectError, StateError, UsageError
from penstock.core.findings import Finding
from penstock.core.project import Project
from penstock.plan.values import Plan

_CACHE = Path(".penstock", "cache", "site.json")
_LOGS_AT_ONCE = 8
_SETTINGS = "penstock.yml"
"""Without it, tables would be looked for in the wrong places."""
AnySite = SiteRequest | ServeRequest
Chunk = tuple[str, object]
"""The name of a file of data, and its document."""


@dataclass(frozen=True, slots=True)
class SiteReport:
    """A site that was written: its first page, how many models it shows, its size in bytes."""

    page: str
    models: int
    runs: int
    bytes: int
    errors: tuple[Notice, ...] = ()
    """What the site lacks and why: errors of the project, or a state that cannot be opened."""

    def _repr_html_(self) -> str:
        """Return a link to the first page, for notebooks."""
        uri = Path(self.page).resolve().as_uri()
        return f'<a href="{uri}">{self.models:,} models, {self.runs:,} runs</a>'


@dataclass(frozen=True, slots=True)
class SiteData:
    """All data of a site: the project, then a file for each model and for 100 runs."""

    project: ProjectDocument
    chunks: tuple[Chunk, ...]


def docs_generate(request: SiteRequest) -> SiteReport:
    """Write the site; start no JVM, and write neither tables nor records.

    A project with errors is shown as far as it can be read, and without its state if that cannot be
    opened. Raises `site-not-ours` for a folder with other files, `site-not-built` without the front
    end.
    """
    output = Path(request.project, request.output)
    require_ours(output)
    require_bundle()
    with _without_collection():
        return _generate(request, output)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect no garbage: values of a project have no cycles, and a search takes a tenth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what was made counts as old, or all is searched now
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _generate(request: SiteRequest, output: Path) -> SiteReport:
    services, findings = _open(request)
    with closing(services):
        found = read_data(services, request, findings)
        generation = services.clock.new_id().replace("-", "")
        try:
            size = write_site(output, generation, [("project", found.project), *found.chunks])
        except OSError as error:
            raise UsageError(
                "bad-output",
                f"{output} cannot be written: {error.strerror or error}",
                hint="name a folder in which you may write, with room for the site",
            ) from error
    project = found.project
    errors = tuple(each for each in project.notices if each.is_error)
    page = str(output / "index.html")
    return SiteReport(page, len(project.models), len(project.runs), size, errors)


def open_site(request: ServeRequest) -> tuple[Path, Callable[[], Mapping[str, str]]]:
    """Return the folder of the pages, and what reads their data, for a server.

    Raises `site-not-built` without the front end. Reading raises for a project that cannot be read.
    """
    require_bundle()
    return BUNDLE, partial(_contents, request)


def _contents(request: ServeRequest) -> Mapping[str, str]:
    """Return the files of data by name."""
    services, findings = _open(request)
    with closing(services):
        found = read_data(services, request, findings)
        chunks = (("project", found.project), *found.chunks)
        return {name: chunk_text(name, document) for name, document in chunks}


def _open(request: AnySite) -> tuple[Services, tuple[Finding, ...]]:
    """Open the project, or what can be read of one with errors."""
    where = place_of(request)
    try:
        return open_services(where), ()
    except ProjectError as error:
        lost = any(each.is_error and each.where.path == _SETTINGS for each in error.findings)
        if lost or not isinstance(error.project, Project):
            raise
        return wired(error.project, SystemClock()), error.findings


def read_data(services: Services, request: AnySite, findings: tuple[Finding, ...] = ()) -> SiteData:
    """Return the data of a site; without records if the state cannot be opened."""
    notices = tuple(map(notice_of, findings))
    try:
        return _read(services, request, notices)
    except StateError as error:
        bare = without_records(services)
        place = str(error.where or "penstock.yml")
        notice = Notice(error.code, place, error.sentence, error.hint, is_error=True)
        return _read(bare, request, (notice, *notices), has_state=False)


@in_one_state
def _read(
    services: Services, request: AnySite, notices: tuple[Notice, ...], *, has_state: bool = True
) -> SiteData:
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    names = selected_models(services, request.select, request.exclude, run_timestamp)
    cache = SiteCache(Path(services.project.root, _CACHE), version())
    inputs = read_site(services, names, run_timestamp, cache, request)
    inputs = inputs if has_state else without_state(inputs)
    nodes = (*names, *map(inputs.node, inputs.project.sources))
    with ThreadPoolExecutor(_LOGS_AT_ONCE if cache.is_new(len(names)) else 1) as reading:
        tables = dict(zip(nodes, reading.map(inputs.shape_of, nodes), strict=True))
    shapes = with_queries(inputs, tables)
    if cache.is_new(len(names)):
        cache.compute_ahead(slow_tasks(inputs, shapes))
    runs = tuple(run_document(inputs, each) for each in inputs.runs)
    plans = _plans(services, str(request.project), inputs) if inputs.has_state else {}
    project = project_document(inputs, shapes, plans, runs, notices)
    chunks = tuple(_chunks(inputs, shapes, runs))
    cache.save()
    return SiteData(project, chunks)


def _chunks(inputs: SiteInputs, shapes: Shapes, runs: tuple[RunDocument, ...]) -> Iterator[Chunk]:
    """Yield the documents of models, runs and the search."""
    checks = inputs.services.reading.checks
    wanted = {
        name: MOST_EVALUATIONS * len(model.all_checks)
        for name in inputs.names
        if (model := inputs.model(name)).all_checks
    }
    checked, found = checks.newest_of(wanted), list[FoundText]()
    packages = {name: package_parts(inputs, name) for name in inputs.project.packages}
    for number, name in enumerate(inputs.names):
        page = model_document(inputs, name, shapes, checked.get(name, ()))
        page = replace(page, package=packages.get(_package(inputs, name), ()))
        yield f"model-{number}", page
        yield f"partitions-{number}", partitions_document(inputs, name)
        found += _texts(inputs, name, [each.name for each in page.columns])
    for place in range(0, len(runs), RUNS_IN_A_FILE):
        part = runs[place : place + RUNS_IN_A_FILE]
        yield f"runs-{place // RUNS_IN_A_FILE}", RunsDocument(part)
    yield "search", SearchDocument((*found, *_source_texts(inputs)))


def _package(inputs: SiteInputs, name: str) -> str:
    package = inputs.project.package_of(name)
    return package.name if package else ""


def _texts(inputs: SiteInputs, name: str, columns: list[str]) -> Iterator[FoundText]:
    model = inputs.model(name)
    yield FoundText(name, "model", name, str(model.table))
    yield from (FoundText(name, "column", each, "") for each in columns)
    yield from (FoundText(name, "tag", tag, "") for tag in model.tags)
    if model.description:
        yield FoundText(name, "description", name, model.description)
    code = model.function.text if model.function else inputs.project.shown_sql(model)
    if code:
        yield FoundText(name, "code", name, code)


def _source_texts(inputs: SiteInputs) -> Iterator[FoundText]:
    for name, source in inputs.project.sources.items():
        node = inputs.node(name)
        yield FoundText(node, "source", name, source.description)
        yield from (FoundText(node, "column", each.name, "") for each in source.columns)


def _plans(services: Services, project: str, inputs: SiteInputs) -> dict[str, Plan]:
    """Return what the next `run` and `sync` would do; without one that cannot be planned."""
    found, state = dict[str, Plan](), inputs.state
    as_of = state.run_timestamp
    with suppress(PenstockError):
        asked = RunRequest(project, as_of=as_of)
        found[inputs.command("run")] = make_plan(services, asked, state).plan
    with suppress(PenstockError):
        asked_sync = SyncRequest(project, as_of=as_of)
        found[inputs.command("sync")] = plan_sync(services, asked_sync, state).plan
    return found
