"""A Hive metastore server over PostgreSQL, out of the jars that PySpark ships."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from contracts.postgres_server import USER, programs, started
from penstock.engine.java import fetch, ivy_home

DRIVER = "org.postgresql:postgresql:42.7.7"
_PATIENCE_SECONDS = 120
_MODEL = "org.apache.hadoop.hive.metastore.model"
_CLASSES = ("Table", "Partition", "TablePrivilege", "TableColumnPrivilege", "TableColumnStatistics")


def free_port() -> int:
    """Return a port of this machine that is free now."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def driver() -> str:
    """Return the jar of the PostgreSQL driver; fetch it if it is missing."""
    folder = ivy_home() / "jars"
    if not list(folder.glob("org.postgresql_postgresql-*.jar")):
        why = fetch([DRIVER], [])
        assert not why, why
    return str(max(folder.glob("org.postgresql_postgresql-*.jar")))


@contextmanager
def metastore(folder: Path) -> Iterator[str]:
    """Start the server, and give its URI."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(found, free_port()) as database:
        database.run("postgres", "CREATE DATABASE metastore")
        port = free_port()
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:postgresql://127.0.0.1:{database.port}/metastore",
            "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
            "javax.jdo.option.ConnectionUserName": USER,
            "javax.jdo.option.ConnectionPassword": "",
            "datanucleus.schema.autoCreateAll": "true",
            # made when first needed, privileges would wait for the table that they belong to
            "datanucleus.autoStartMechanism": "Classes",
            "datanucleus.autoStartClassNames": ",".join(f"{_MODEL}.M{each}" for each in _CLASSES),
            "hive.metastore.schema.verification": "false",
            "hive.async.log.enabled": "false",
            "hive.metastore.warehouse.dir": f"{folder}/hive",
        }
        jars = f"{Path(pyspark.__file__).with_name('jars')}/*{os.pathsep}{driver()}"
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        words = [part for pair in settings.items() for part in ("--hiveconf", "=".join(pair))]
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        with (folder / "metastore.log").open("wb") as log:
            server = subprocess.Popen(
                [java, "-Xmx256m", "-cp", jars, main, "-p", str(port), *words],
                stdout=log,
                stderr=log,
            )
        try:
            _await(server, port, folder / "metastore.log")
            yield f"thrift://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


def _await(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end and server.poll() is None:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 1)):
            return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])
