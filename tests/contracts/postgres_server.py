"""A private PostgreSQL server for one session of tests: a folder of its own, one local socket."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.state.schema import metadata

FINDER = Path(__file__).resolve().parents[2] / "scripts" / "ensure-postgres"
USER = "penstock"
QUICK = ("fsync=off", "full_page_writes=off")


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

    def __init__(self, folder: Path, place: Path, port: int = 0) -> None:
        self._folder = folder
        self.port = port  # of this machine; 0: only its socket
        self._place = place
        self._made = 0
        self._free = []
        self._running = None
        self._options = {"cwd": place, "stdout": subprocess.DEVNULL, "env": {"LC_ALL": "C"}}
        self._options["user"] = "nobody" if os.geteuid() == 0 else None  # a server refuses root

    def make(self) -> None:
        """Make the server's folder; it does not run yet."""
        self.own()
        cluster = self._place / "cluster"
        make = [self._folder / "initdb", "-D", cluster, "-U", USER, "-A", "trust", "-E", "UTF8"]
        subprocess.run([*make, "-N"], check=True, **self._options)

    def own(self) -> None:
        """Give the folder to the user as whom the server runs."""
        if self._options["user"]:
            shutil.chown(self._place, self._options["user"])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        address = ("listen_addresses=127.0.0.1", f"port={self.port}")
        asked = (*QUICK, *(address if self.port else ("listen_addresses=",)))
        settings = [part for each in asked for part in ("-c", each)]
        program = [self._folder / "postgres", "-D", self._place / "cluster", "-k", self._place]
        with (self._place / "log").open("ab") as log:
            self._running = subprocess.Popen([*program, *settings], stderr=log, **self._options)
        self._await()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends every session first, SIGQUIT ends at once and recovers later."""
        self._running.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(30)
        self._running.kill()
        self._running.wait()

    def copy_to(self, replica: "Server") -> None:
        """Start another server that follows this one; a commit waits until both have it."""
        replica.own()
        copy = [self._folder / "pg_basebackup", "-h", self._place, "-U", USER, "-R", "-c", "fast"]
        subprocess.run([*copy, "-D", replica._place / "cluster"], check=True, **self._options)
        replica.start()
        self.run("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.run("postgres", "SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Let a replica take the place of the server that it followed."""
        self.run("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''")
        self.run("postgres", "SELECT pg_promote()")

    @property
    def socket(self) -> str:
        return f"{self._place}/.s.PGSQL.5432"

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{USER}@/{name}?host={self._place}&port={self.port or 5432}"

    def take(self, identity) -> str:
        """Give the name of a database: a new one, that a store will migrate, or an empty one."""
        if not self._free:
            return self.new()
        name = self._free.pop()
        self.run(name, f"TRUNCATE {', '.join(metadata.tables)}")
        birth = (uuid.uuid4().hex, identity.project, identity.target, identity.penstock)
        self.run(name, "INSERT INTO project VALUES (%s, 1, %s, %s, %s)", birth)
        return name

    def new(self) -> str:
        """Give the name of a database in which nothing is."""
        self._made += 1
        self.run("postgres", f"CREATE DATABASE {self.newest}")
        return self.newest

    @property
    def newest(self) -> str:
        return f"store_{self._made}"

    def give_back(self, name: str) -> None:
        self._free.append(name)

    def run(self, database: str, sql: str, values=()):
        import psycopg

        place = f"host={self._place} port={self.port or 5432} user={USER} dbname={database}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(sql, values or None)

    def _await(self):
        import psycopg

        for _ in range(300):
            if self._running.poll() is not None:
                break
            try:
                self.run("postgres", "SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        log = (self._place / "log").read_text()
        raise RuntimeError(f"the server did not start: {log[-2000:]}")


@contextmanager
def replica_of(server: Server):
    """Start a server that follows another one and may take its place; it ends with the block."""
    place = Path(tempfile.mkdtemp(prefix="pg-"))
    replica = Server(server._folder, place)
    try:
        server.copy_to(replica)
        yield replica
    finally:
        replica.stop(signal.SIGTERM)
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def started(folder: Path, port: int = 0):
    """Start a server and give it; it ends with the block, and nothing of it stays."""
    place = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path is at most 107 bytes
    server = Server(folder, place, port)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop(signal.SIGTERM)
        shutil.rmtree(place, ignore_errors=True)
