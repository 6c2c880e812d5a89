"""Choosing implementations: the one place that knows which store, log and engine are real."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.clock import SystemClock
from penstock.app.faults import fault_from
from penstock.app.shop import Shop
from penstock.core.ports import Clock, Store
from penstock.core.project import Project
from penstock.core.step import Intent
from penstock.core.token import write_fence
from penstock.engine.delta_log import DeltaLog
from penstock.engine.delta_places import DeltaPlaces
from penstock.engine.fences import DeltaFences
from penstock.engine.folders import DiskFolders
from penstock.engine.launch import LaunchSettings
from penstock.engine.spark_engine import SparkEngine
from penstock.project.load import load_project
from penstock.state.lease import is_gone

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession


@dataclass(frozen=True, slots=True)
class Where:
    """Which project, for which target, with which variables."""

    root: Path
    target: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def open_project(where: Where) -> Project:
    """Load the project; raise `ProjectError` with all findings."""
    return load_project(
        where.root, target=where.target, vars=where.variables, environ=dict(os.environ)
    )


def open_shop(where: Where, spark: SparkSession | None = None) -> Shop:
    """Load the project and wire it; nothing is opened or started yet."""
    return wired(open_project(where), SystemClock(), spark)


def wired(project: Project, clock: Clock, spark: SparkSession | None = None) -> Shop:
    """Wire a loaded project with real parts."""
    environ = dict(os.environ)
    fault = fault_from(environ)
    run_id = clock.new_id()
    log_path = Path(project.root, ".penstock", "logs", f"{run_id}.log")
    stores = Stores(project, clock, environ)
    settings = LaunchSettings(project.target.spark, project.target.warehouse, log_path)
    engine = SparkEngine(settings, environ, stores.signature, fault, spark)
    return Shop(
        project=project,
        log=DeltaLog(),
        places=DeltaPlaces(),
        folders=DiskFolders(),
        fences=DeltaFences(),
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
    )


def elsewhere(shop: Shop, warehouse: str) -> Shop:
    """Give the same shop with a Spark that starts with another warehouse and is its own to stop."""
    engine = shop.engine
    moved = engine.elsewhere(warehouse) if isinstance(engine, SparkEngine) else engine
    return replace(shop, engine=moved)


def apart(shop: Shop, project: Project, clock: Clock) -> Shop:
    """Wire another project on the same Spark, with a store in memory that nobody else sees."""
    from penstock.state.memory.store import MemoryStore

    store = MemoryStore(clock, project.lease)
    engine = shop.engine
    if isinstance(engine, SparkEngine):
        engine = engine.signing(lambda: (version(), store.archive.store_id(), project.name))
    return replace(
        shop,
        project=project,
        clock=clock,
        engine=engine,
        open_reading=lambda: store,
        open_writing=lambda: store,
        has_state=lambda: True,
        run_id="",
        _reading=None,
        _writing=None,
    )


@dataclass(slots=True)
class Stores:
    """Opening the state store: for reading an empty memory where no database is yet."""

    project: Project
    clock: Clock
    environ: Mapping[str, str]
    _opened: Store | None = None

    def exists(self) -> bool:
        """Whether there is a database."""
        from penstock.state.open import store_exists

        return store_exists(self.project.target.state)

    def open_reading(self) -> Store:
        """Open the database, or an empty memory if there is none."""
        from penstock.state.memory.store import MemoryStore

        if self.exists():
            return self.open_writing()
        return MemoryStore(self.clock, self.project.lease)

    def open_writing(self) -> Store:
        """Open the database; make it if there is none."""
        from penstock.state.open import Identity, open_store

        if self._opened is None:
            self._opened = open_store(
                self.project.target.state,
                identity=Identity(self.project.name, self.project.target.name, version()),
                clock=self.clock,
                lease=self.project.lease,
                fault=fault_from(self.environ),
            )
        return self._opened

    def signature(self) -> tuple[str, str, str]:
        """Give what commits are signed with: penstock's version, the store's id, the project."""
        return version(), self.open_writing().archive.store_id(), self.project.name

    def fence_token(self, intent: Intent) -> str:
        """Give the token of a commit that fences a step."""
        return write_fence(intent, *self.signature())


def version() -> str:
    """Give the version of the installed penstock."""
    return metadata.version("penstock")
