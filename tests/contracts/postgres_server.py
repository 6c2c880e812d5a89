"""A private PostgreSQL server for one session of tests: a folder of its own, one local socket."""

import os
import shutil
import subprocess
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.state.tables import metadata

FINDER = Path(__file__).resolve().parents[2] / "scripts" / "ensure-postgres"
USER = "penstock"
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")


def programs():
    """Give the folder of the server's programs; None where there is none, or no driver."""
    try:
        import psycopg  # noqa: F401  # only whether it is there
    except ImportError:
        return None
    found = subprocess.run([FINDER], capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


class Server:
    """Hands out databases; one that was given back is emptied and handed out again."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._made = 0
        self._free = []

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{USER}@/{name}?host={self._socket}"

    def take(self, identity) -> str:
        """Give the name of a database: a new one, that a store will migrate, or an empty one."""
        if not self._free:
            self._made += 1
            name = f"store_{self._made}"
            self.run("postgres", f"CREATE DATABASE {name}")
            return name
        name = self._free.pop()
        self.run(name, f"TRUNCATE {', '.join(metadata.tables)}")
        birth = (uuid.uuid4().hex, identity.project, identity.target, identity.penstock)
        self.run(name, "INSERT INTO project VALUES (%s, 1, %s, %s, %s)", birth)
        return name

    def give_back(self, name: str) -> None:
        self._free.append(name)

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
        made = Server(place)
        _await(made, server, place / "log")
        yield made
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
            made.run("postgres", "SELECT 1")
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
