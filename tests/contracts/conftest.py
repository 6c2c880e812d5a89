"""The stores that the suites run over; a new database joins by a param of `opened`."""

import shutil
import sqlite3
import uuid
from contextlib import closing

import pytest

from contracts.postgres_server import programs, started
from contracts.store_cases import HERE, LEASE, OURS, run
from fakes.clock import FixedClock
from penstock.state.lease import Identity, StoreContext
from penstock.state.memory import MemoryStore
from penstock.state.open import open_in, open_store


class World:
    """A clock, the processes that live on host-a, and a fault to set off."""

    def __init__(self):
        self.clock = FixedClock()
        self.alive = {11, 22}
        self.host = HERE.host
        self.fault = ""

    def is_gone(self, lease):
        """Only of the host that looks can it be known."""
        return lease.host == self.host and lease.pid not in self.alive

    def pass_(self, seconds):
        self.clock.advance(seconds=seconds)
        return self.clock.now()

    def strike(self, point: str):
        if point == self.fault:
            raise KeyboardInterrupt(point)


@pytest.fixture
def world():
    return World()


@pytest.fixture(scope="session")
def postgres():
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(folder) as server:
        yield server


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """A migrated SQLite file in which nothing is: making one costs more than most tests."""
    file = tmp_path_factory.mktemp("empty") / "state.db"
    open_store(f"sqlite:///{file}", identity=OURS, clock=FixedClock(), lease=LEASE).close()
    return file


def copied(empty, file, identity):
    """Give the URL of an empty state of its own that a process of this project made."""
    if not file.exists():
        shutil.copy(empty, file)
        born = (uuid.uuid4().hex, identity.project, identity.target, identity.penstock)
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("UPDATE project SET store_id=?, name=?, target=?, penstock=?", born)
    return f"sqlite:///{file}"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request, tmp_path):
    """Give the URL of a database by its name; None for the store in memory."""
    if request.param == "memory":
        yield lambda name, identity: None
    elif request.param == "sqlite":
        empty = request.getfixturevalue("empty")
        yield lambda name, identity: copied(empty, tmp_path / f"{name}.db", identity)
    else:
        server, made = request.getfixturevalue("postgres"), {}

        def url(name, identity):
            if name not in made:
                made[name] = server.take(identity)
            return server.url(made[name])

        yield url
        for name in made.values():
            server.give_back(name)


@pytest.fixture
def opened(place, world):
    stores = []

    def open_one(identity: Identity = OURS, name: str = "state"):
        outside = {"fault": world.strike, "is_gone": world.is_gone}
        # no server's clock: that of the test is the clock of all machines
        context = StoreContext(identity, world.clock, LEASE, *outside.values(), server_clock=False)
        url = place(name, identity)
        if url is None:
            store = MemoryStore(world.clock, LEASE, identity=identity, **outside)
        else:
            store = open_in(url, context)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened):
    store = opened()
    store.journal.start_run(run(HERE))
    return store
