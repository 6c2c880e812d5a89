"""The workshop: one project with everything a use case works with, wired once."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.engine_ports import Engine
from penstock.core.ports import Clock, Fault, Fences, Folders, Log, Places, Store
from penstock.core.project import Project
from penstock.core.records import Holder, Lease
from penstock.core.step import Intent
from penstock.state.lease import process_of

OpenStore = Callable[[], Store]


@dataclass(slots=True)
class Shop:
    """What use cases are given. Stores open on first use; `reading` never creates one.

    `reading` answers from an empty memory when no database is there yet; `writing` makes it.
    `run_id` is the id of the run that this command may become, and the name of its log.
    """

    project: Project
    log: Log
    places: Places
    folders: Folders
    fences: Fences
    engine: Engine
    clock: Clock
    fault: Fault
    open_reading: OpenStore
    open_writing: OpenStore
    has_state: Callable[[], bool]
    is_gone: Callable[[Lease], bool]
    fence_token: Callable[[Intent], str]
    environ: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    log_path: str = ""
    _reading: Store | None = None
    _writing: Store | None = None

    @property
    def reading(self) -> Store:
        """The store for commands that only look."""
        if self._writing is not None:
            return self._writing
        if self._reading is None:
            self._reading = self.open_reading()
        return self._reading

    @property
    def writing(self) -> Store:
        """The store for commands that write."""
        if self._writing is None:
            self._writing = self.open_writing()
        return self._writing

    @property
    def written_log(self) -> str:
        """Where the output of Spark went; "" if this command started none."""
        return self.log_path if Path(self.log_path).is_file() else ""

    def holder(self, run: str) -> Holder:
        """Say who this process is."""
        pid = os.getpid()
        return Holder(run, socket.gethostname(), pid, user_name(), process_of(pid))

    def close(self) -> None:
        """Let go of databases and end the Spark that was started."""
        self.engine.stop()
        for store in (self._reading, self._writing):
            if store is not None:
                store.close()


def user_name() -> str:
    """Give the name of the user, or "unknown" where the system has none for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def parse_moment(text: str) -> dt.datetime:
    """Read an ISO-8601 time; without an offset it is UTC. Raises `ValueError`."""
    moment = dt.datetime.fromisoformat(text)
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
