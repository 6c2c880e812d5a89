"""Choose implementations: the one place that knows the real store, log and engine."""

from __future__ import annotations

import datetime as dt
import os
import secrets
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from penstock.app.read_requests import DataDiffRequest
from penstock.app.request import CommandRequest, WorkRequest
from penstock.app.services.catalog_sources import with_places
from penstock.app.services.files import write_names
from penstock.app.services.services import Services
from penstock.core.errors import DISTRIBUTION, StateError
from penstock.core.masking import Json
from penstock.core.ports.engine import Waiting
from penstock.core.ports.ports import Clock, Fault, Folders, Log, Store, inert
from penstock.core.project import Project
from penstock.core.steps.step import Intent
from penstock.core.steps.token import write_fence
from penstock.core.storage import StoreAccess, bucket_and_key, is_s3
from penstock.engine.disk.buckets import BUCKETS
from penstock.engine.disk.disks import DiskFolders
from penstock.engine.launch import LaunchSettings
from penstock.engine.log.delta_log import DeltaLog, DeltaRows
from penstock.engine.log.fences import DeltaFences
from penstock.engine.log.places import DeltaPlaces
from penstock.engine.spark_engine import SparkEngine
from penstock.project.first_pass import NOTHING_GIVEN, GivenParts
from penstock.project.load import load_project, load_with_rows
from penstock.state.lease import Identity, StoreContext, is_gone

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession


class SystemClock:
    """Time of this machine, UTC; ids are UUIDv7 (RFC 9562), ascending within one process."""

    def __init__(self) -> None:
        """Start without a previous id."""
        self._lock = threading.Lock()
        self._last = 0

    def now(self) -> dt.datetime:
        """See `Clock.now`."""
        return dt.datetime.now(dt.UTC)

    def new_id(self) -> str:
        """See `Clock.new_id`; two ids of one millisecond still sort by creation."""
        with self._lock:
            stamp = max(int(self.now().timestamp() * 1000) << 12, self._last + 1)
            self._last = stamp
        millis, counter = stamp >> 12, stamp & 0xFFF
        value = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(uuid.UUID(int=value))


_A_MOMENT = 0.2
OWN_FOLDER = ".penstock"
POINTS = (
    "after-begin",
    "during-staging",
    "after-evaluating",
    "after-checks",
    "before-commit",
    "after-commit",
    "during-finish",
    "after-finish",
    "after-hook",
    "after-rows",
)


def fault_from(environ: Mapping[str, str]) -> Fault | None:
    """Return the fault that `PENSTOCK_FAULT` requests."""
    asked = environ.get("PENSTOCK_FAULT", "")
    if not asked:
        return None
    *stop, point, count = (asked if asked.count(":") else f"{asked}:1").split(":")
    sent = signal.SIGSTOP if stop == ["stop"] else signal.SIGKILL
    lock, left = threading.Lock(), [int(count)]

    def fault(passed: str) -> None:
        with lock:
            if passed != point:
                return
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), sent)
                time.sleep(_A_MOMENT)  # a thread may go on for an instant before all are stopped

    return fault


@dataclass(frozen=True, slots=True)
class Where:
    """A project, target, variables, what a script passes in, and a target that is read too."""

    root: Path
    target: str | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    parts: GivenParts = NOTHING_GIVEN
    reads: str = ""


def open_project(where: Where) -> Project:
    """Load the project, and write its names for shells; raise `ProjectError` with all findings."""
    project = _load(where)
    write_names(project, dt.datetime.now(dt.UTC).date())
    return project


def _load(where: Where) -> Project:
    """Load the project, with the rows that its templates have read in earlier runs."""
    environ = dict(os.environ)

    def load(parts: GivenParts) -> Project:
        target, variables = where.target, where.variables
        found = load_project(
            where.root, target=target, vars=variables, environ=environ, parts=parts
        )
        return with_places(found)

    loaded = load(where.parts)
    if not any(model.query.reads for model in loaded.models.values()):
        return loaded
    stores = Stores(loaded, SystemClock(), environ)
    try:
        with closing(stores.open_reading()) as store:
            rows = store.notes.template_rows()
    except StateError:  # whoever needs the state will be told
        return loaded
    return load_with_rows(load, replace(where.parts, rows=rows), loaded) if rows else loaded


def open_tables() -> tuple[Log, Folders]:
    """Return what reads tables and folders where no project is."""
    return DeltaLog(), DiskFolders()


def open_services(where: Where, spark: SparkSession | None = None) -> Services:
    """Load and wire the project without opening or starting anything."""
    project = open_project(where)
    is_known = where.reads in project.targets
    read = _load(replace(where, target=where.reads)) if is_known else None
    return wired(project, SystemClock(), spark, Others(where, read))


def place_of(request: CommandRequest) -> Where:
    """Return the project of a request."""
    reads = request.from_ if isinstance(request, DataDiffRequest) else _deferred(request)
    return Where(Path(request.project), request.target, request.variables or {}, reads=reads)


def _deferred(request: CommandRequest) -> str:
    return getattr(request, "defer_to", None) or getattr(request, "source", None) or ""


def open_request(request: CommandRequest) -> closing[Services]:
    """Open the services of a request; close databases and Spark at the end."""
    spark = request.spark if isinstance(request, WorkRequest) else None
    where = place_of(request)
    services = open_services(where, spark)
    services.defer_to = _deferred(request)
    services.compared_with = getattr(request, "state", None) or services.defer_to
    return closing(services)


Answer = TypeVar("Answer")
Asked = TypeVar("Asked", bound=CommandRequest)


def ask(request: Asked, use_case: Callable[[Services, Asked], Answer]) -> Answer:
    """Return the answer of a use case to a request."""
    with open_request(request) as services:
        return use_case(services, request)


@dataclass(frozen=True, slots=True)
class Others:
    """How the other targets of a project are loaded; `read` is one whose tables steps read."""

    where: Where
    read: Project | None = None

    def load(self, name: str) -> Project:
        """Return the project for a target; raise `unknown-target`."""
        if self.read is not None and self.read.target.name == name:
            return self.read
        return _load(replace(self.where, target=name))


def wired(
    project: Project,
    clock: Clock,
    spark: SparkSession | None = None,
    others: Others | None = None,
) -> Services:
    """Wire a loaded project with the real implementations."""
    others = others or Others(Where(Path(project.root)))
    environ = dict(os.environ)
    fault = fault_from(environ)
    _close_to_others(Path(project.root, OWN_FOLDER))
    run_id = clock.new_id()
    log_path = Path(project.root, OWN_FOLDER, "logs", f"{run_id}.log")
    stores = Stores(project, clock, environ)
    BUCKETS.use(project.target.storage)
    launch = _launch_settings(project, others, log_path)
    settings = launch(lambda what: services.waiting(what))  # noqa: PLW0108  a command sets it later
    engine = SparkEngine(settings, environ, stores.signature, fault or inert, spark)
    services = Services(
        project=project,
        log=DeltaLog(Path(project.root, ".penstock", "cache", "files.json")),
        places=DeltaPlaces(),
        folders=DiskFolders(),
        fences=DeltaFences(),
        kept_rows=DeltaRows(),
        engine=engine,
        clock=clock,
        fault=fault,
        open_reading=stores.open_reading,
        open_writing=stores.open_writing,
        has_state=stores.exists,
        is_gone=is_gone,
        fence_token=stores.fence_token,
        environ=environ,
        run_id=run_id,
        log_path=str(log_path),
        other_target=partial(_other_target, project, clock, others),
        reload=partial(_load, others.where),
    )
    return services


def _launch_settings(
    project: Project, others: Others, log_path: Path
) -> Callable[[Waiting], LaunchSettings]:
    """Return the settings of the project's Spark; they lack how it shows what it waits for."""
    target = project.target
    place = target.spark, target.warehouse, log_path, str(project.root), target.name
    return partial(LaunchSettings, *place, **reached(project, others.read))


def _other_target(project: Project, clock: Clock, others: Others, name: str) -> Services:
    """Wire another target, for its records and tables; nothing there is written."""
    if name == project.target.name:
        return wired(project, clock, None, others)
    loaded = others.load(name)
    services = wired(loaded, clock, None, others)
    BUCKETS.use({**loaded.target.storage, **project.target.storage})
    return services


class Reached(TypedDict):
    """What the engine needs to know about buckets."""

    storage: Mapping[str, StoreAccess] | None
    written: tuple[str, ...]


def reached(project: Project, read: Project | None = None) -> Reached:
    """Return how to connect to the buckets of a project, and one location of tables in each.

    Tables of the target `read` are read too; where both have settings, those of the project win.
    """
    projects = (project,) if read is None else (read, project)
    storage = {prefix: each for one in projects for prefix, each in one.target.storage.items()}
    has_some = any(is_s3(place) for one in projects for place in one.locations)
    written = {bucket_and_key(uri)[0]: uri for uri in reversed(project.written) if is_s3(uri)}
    return {"storage": storage if storage or has_some else None, "written": (*written.values(),)}


def _close_to_others(folder: Path) -> None:
    """Remove other users' access to `.penstock` and its databases, which older versions allowed.

    Files that belong to another user, or cannot be changed, stay as they are.
    """
    for path in (folder, *folder.glob("state*.db*")):
        with suppress(OSError):
            if path.stat().st_mode & 0o077 and (path == folder or path.is_file()):
                path.chmod(0o700 if path == folder else 0o600)


def elsewhere(services: Services, warehouse: str) -> Services:
    """Return the same services with a separate Spark on another warehouse."""
    engine = services.engine
    moved = engine.elsewhere(warehouse) if isinstance(engine, SparkEngine) else engine
    return replace(services, engine=moved)


def apart(services: Services, project: Project, clock: Clock) -> Services:
    """Wire another project on the same Spark, with a separate store in memory."""
    from penstock.state.memory import MemoryStore

    store = MemoryStore(clock, project.lease)
    engine = services.engine
    if isinstance(engine, SparkEngine):
        engine = engine.signing(lambda: (version(), store.archive.store_id(), project.name))
    return replace(
        services,
        project=project,
        clock=clock,
        engine=engine,
        open_reading=lambda: store,
        open_writing=lambda: store,
        has_state=lambda: True,
        run_id="",
        _reading=None,
    )


def without_records(services: Services) -> Services:
    """Return the same services over a project that has no records yet."""
    from penstock.state.memory import MemoryStore

    store = MemoryStore(services.clock, services.project.lease)
    return replace(services, open_reading=lambda: store, has_state=lambda: False, _reading=None)


@dataclass(slots=True)
class Stores:
    """Opens the state store; for reading, an empty store in memory if there is no database yet."""

    project: Project
    clock: Clock
    environ: Mapping[str, str]
    _store: Store | None = None
    _store_id: str = ""

    def exists(self) -> bool:
        """Return whether a database exists; it is then open, on the connection to use."""
        from penstock.state.open import open_existing

        if self._store is None:
            self._store = open_existing(self.project.target.state, self.context())
        return self._store is not None

    def open_reading(self) -> Store:
        """Open the database, or an empty store in memory if there is none."""
        if self.exists() and self._store is not None:
            return self._store
        from penstock.state.memory import MemoryStore

        return MemoryStore(self.clock, self.project.lease)

    def open_writing(self) -> Store:
        """Open the database; create it if it does not exist."""
        from penstock.state.open import open_in

        if self._store is None:
            self._store = open_in(self.project.target.state, self.context())
        if not self._store_id:
            self._store_id = self._store.archive.store_id()
        return self._store

    def context(self) -> StoreContext:
        """Return what a store knows about its project and this process."""
        identity = Identity(self.project.name, self.project.target.name, version())
        fault = fault_from(self.environ) or inert
        return StoreContext(identity, self.clock, self.project.lease, fault, is_gone)

    def signature(self) -> tuple[str, str, str]:
        """Return the signature of commits: penstock's version, the store's id, the project."""
        self.open_writing()  # a commit does not wait for a store that is away
        return version(), self._store_id, self.project.name

    def fence_token(self, intent: Intent) -> str:
        """Return the token of a commit that fences a step."""
        return write_fence(intent, *self.signature())


def version() -> str:
    """Return the version of the installed penstock."""
    return metadata.version(DISTRIBUTION)
