"""A private PostgreSQL server for one session of tests: a folder of its own, one local socket."""

import os
import shutil
import subprocess
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

from contracts.store_cases import LEASE, OURS
from fakes.clock import FixedClock
from penstock.state.open import open_store

FINDER = Path(__file__).resolve().parents[2] / "scripts" / "ensure-postgres"
USER = "penstock"
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")
TEMPLATE = "migrated"


def programs():
    """Give the folder of the server's programs; None where there is none, or no driver."""
    try:
        import psycopg  # noqa: F401  # only whether it is there
    except ImportError:
        return None
    found = subprocess.run([FINDER], capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


class Server:
    """Makes databases: copies of one that the migrations made."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{USER}@/{name}?host={self._socket}"

    def migrate(self):
        """Make the database that others are copies of."""
        self.run("postgres", f"CREATE DATABASE {TEMPLATE}")
        open_store(self.url(TEMPLATE), identity=OURS, clock=FixedClock(), lease=LEASE).close()

    def copy(self, identity) -> str:
        """Give the name of a new database, a store of its own."""
        name = f"d{uuid.uuid4().hex}"
        self.run("postgres", f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        own = (uuid.uuid4().hex, identity.project, identity.target)
        self.run(name, "UPDATE project SET store_id = %s, name = %s, target = %s", own)
        return name

    def drop(self, name: str):
        self.run("postgres", f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, database: str, sql: str, values=()):
        import psycopg

        place = f"host={self._socket} user={USER} dbname={database}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(sql, values or None)


@contextmanager
def started(folder: Path):
    """Start a server and give it; it ends with the block, and nothing of it stays."""
    place = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path is at most 107 bytes
    user = "nobody" if os.geteuid() == 0 else None  # a server refuses to be root
    if user:
        shutil.chown(place, user)
    options = {"user": user, "cwd": place, "stdout": subprocess.DEVNULL, "env": {"LC_ALL": "C"}}
    cluster = place / "cluster"
    initdb = [folder / "initdb", "-D", cluster, "-U", USER, "-A", "trust", "-E", "UTF8", "-N"]
    subprocess.run(initdb, check=True, **options)
    settings = [part for each in QUICK for part in ("-c", each)]
    with (place / "log").open("wb") as log:
        server = subprocess.Popen(
            [folder / "postgres", "-D", cluster, "-k", place, *settings], stderr=log, **options
        )
    try:
        _await(Server(place), server, place / "log")
        yield Server(place)
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(30)
        server.kill()
        server.wait()
        shutil.rmtree(place, ignore_errors=True)


def _await(made: Server, server: subprocess.Popen, log: Path):
    import time

    import psycopg

    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            made.migrate()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
