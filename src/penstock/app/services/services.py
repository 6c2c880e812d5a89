"""One project with everything a use case needs, wired once."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from penstock.core.errors import (
    PenstockError,
    SparkDiedError,
    UnknownModelError,
    UsageError,
    interruption,
)
from penstock.core.facts import Head
from penstock.core.model import Model
from penstock.core.ports.engine import Engine, Waiting
from penstock.core.ports.ports import Clock, Fault, Fences, Folders, Log, Places, Store
from penstock.core.ports.sessions import KeptRows
from penstock.core.project import Project
from penstock.core.records import Holder, Lease, Run
from penstock.core.steps.step import Intent
from penstock.plan.resolve import dated_models
from penstock.project.files.values import did_you_mean, some_of
from penstock.state.lease import process_of
from penstock.state.patience import Patience, PatientStore

OpenStore = Callable[[], Store]
_SIGNAL_SECONDS = 1.0
OpenTarget = Callable[[str], "Services"]


def no_other_target(name: str) -> Services:
    """Raise `unknown-target`: the project has one target."""
    sentence, hint = f"no target is called {name!r}", "add it to targets in penstock.yml"
    raise UsageError("unknown-target", sentence, hint=hint)


def no_reload() -> Project:
    """Raise: the project was not loaded from files."""
    raise TypeError("this project cannot be loaded again")


@dataclass
class Services:
    """The dependencies of use cases."""

    project: Project
    log: Log
    """Reads Delta logs."""
    places: Places
    folders: Folders
    """Folders that penstock creates beside the tables."""
    fences: Fences
    kept_rows: KeptRows
    """Reads a few rows of tables that penstock keeps."""
    engine: Engine
    """Spark, which starts with the first step."""
    clock: Clock
    open_reading: OpenStore
    """Opens the store, or an empty store in memory if there is no database yet."""
    open_writing: OpenStore
    """Opens the store, and creates it if it does not exist."""
    has_state: Callable[[], bool]
    """Whether a database exists."""
    is_gone: Callable[[Lease], bool]
    """Whether the process that holds a lease is certain to have ended."""
    fence_token: Callable[[Intent], str]
    """Returns the token that a fence writes to a table's log."""
    fault: Fault | None = None
    """Called with the name of each point that a step reaches; tests end the process at one."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment."""
    run_id: str = ""
    """The id of the run that this command may start, and the name of its log."""
    log_path: str = ""
    note: Callable[[str], None] = lambda _: None
    """Receives messages to show immediately beside the answer."""
    other_target: OpenTarget = no_other_target
    """Opens the records of another target of the project."""
    reload: Callable[[], Project] = no_reload
    """Loads the project again, with what its templates have read since."""
    defer_to: str = ""
    """The target where models are read that are not built here."""
    compared_with: str = ""
    """The target that `state:modified` compares with."""
    waiting: Waiting = nullcontext
    """Shows what a command waits for, until the wait is over."""
    heads: Mapping[str, Head | None] = field(default_factory=dict)
    """The newest commits of tables, by location, if they were read a moment ago."""
    receiver_delay: float = 0.0
    """The seconds that this command has waited for receivers of events."""
    _reading: Store | None = None
    """The store, once it is open for reading."""
    _store_id: tuple[Store, str] | None = None
    """The id of the open store, read once."""
    _others: dict[str, Services] = field(default_factory=dict)
    """The other targets that were opened."""
    patience: Patience = field(init=False)
    """How long to wait for an unavailable store."""
    interrupted: threading.Event = field(init=False, default_factory=threading.Event)
    """Set once the user asked the run to end."""

    def __post_init__(self) -> None:
        """Set how long to wait for the store, from the project."""
        lease = self.project.lease
        lapse = (lease.length - lease.heartbeat).total_seconds()
        self.patience = Patience(self.project.state_patience.total_seconds(), lapse)

    @property
    def reading(self) -> Store:
        """The store for commands that only read."""
        if "writing" in vars(self):
            return self.writing
        if self._reading is None:
            self._reading = PatientStore(self.open_reading(), self.patience)
        return self._reading

    @cached_property
    def writing(self) -> Store:
        """The store for commands that write."""
        return PatientStore(self.patience.repeat(self.open_writing), self.patience)

    @property
    def store_id(self) -> str:
        """The id by which commits name this store."""
        store = self.reading
        if self._store_id is None or self._store_id[0] is not store:
            self._store_id = store, store.archive.store_id()
        return self._store_id[1]

    @property
    def written_log(self) -> str:
        """The log file of Spark; "" if this command did not start Spark."""
        return self.log_path if Path(self.log_path).is_file() else ""

    def holder(self, run: str) -> Holder:
        """Return the identity of this process."""
        pid = os.getpid()
        return Holder(run, socket.gethostname(), pid, user_name(), process_of(pid))

    def run_record(
        self, run: str, command: str, run_timestamp: dt.datetime, arguments: str = ""
    ) -> Run:
        """Return a record for a run of this process that begins now."""
        target, now = self.project.target.name, self.clock.now()
        return Run(run, command, arguments, target, run_timestamp, self.holder(run), now)

    def interrupt(self) -> None:
        """Make every step end soon: cancel Spark's jobs, and stop waiting for the store."""
        self.interrupted.set()
        self.patience.end()
        self.engine.cancel()

    def cause_of(self, error: PenstockError) -> PenstockError:
        """Return `interrupted` if Spark died from the same signal that ends this process.

        When a machine or container is shut down, Spark may get the signal before we do.
        """
        if isinstance(error, SparkDiedError) and self.interrupted.wait(_SIGNAL_SECONDS):
            return interruption(error.where)
        return error

    def close(self) -> None:
        """Close databases and stop the Spark that was started."""
        self.engine.stop()
        stores = [self.writing] if "writing" in vars(self) else []
        for store in (*stores, self._reading):
            if store is not None:
                store.close()
        for other in self._others.values():
            other.close()

    def target(self, name: str) -> Services:
        """Return the services of another target, which are closed with these."""
        if name not in self._others:
            self._others[name] = self.other_target(name)
        return self._others[name]


def user_name() -> str:
    """Return the name of the user, or "unknown" if the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


Asked = ParamSpec("Asked")
Given = TypeVar("Given")


def in_one_state(
    use_case: Callable[Concatenate[Services, Asked], Given],
) -> Callable[Concatenate[Services, Asked], Given]:
    """Make all reads of a use case see one state of the records.

    It starts no JVM and writes no records, because the state is held until it ends. If the store
    becomes unavailable in between, the use case starts again.
    """

    @wraps(use_case)
    def reading(services: Services, /, *args: Asked.args, **keywords: Asked.kwargs) -> Given:
        def once() -> Given:
            with store.one_state():
                return use_case(services, *args, **keywords)

        store = services.reading
        return services.patience.repeat(once)

    return reading


def newest(services: Services, uri: str, hint: int | None = None) -> Head | None:
    """Return the newest commit of a table, which may have been read a moment ago."""
    heads = services.heads
    return heads[uri] if uri in heads else services.log.head(uri, hint)


def dated_project(services: Services, run_timestamp: dt.datetime) -> Project:
    """Return the project with the SQL for a given time, and keep it in the services."""
    models = dated_models(services.project.models, run_timestamp.date())
    services.project = replace(services.project, models=models)
    return services.project


def named_model(services: Services, name: str) -> Model:
    """Return the model with that name, or with that table name; raise `unknown-model`."""
    models = services.project.models
    folded = name.lower()
    for model in models.values():
        if folded in (model.name.lower(), model.table.folded):
            return model
    names = some_of(models)
    raise UnknownModelError(
        "unknown-model",
        f"no model is called {name!r}",
        hint=did_you_mean(name, models) or (f"there are: {names}" if names else "there are none"),
    )
