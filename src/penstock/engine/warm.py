"""A JVM that outlives its command: when two commands match, how to take it, how to leave it.

Only the process with its classes and its compiled code stays. Each command starts and stops its own
Spark in it, so the next one sees no tables or settings of the previous one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core.project import SparkSettings
from penstock.engine import keeper
from penstock.engine.java import cached_jars, spark_versions
from penstock.engine.jvm import JVM, UNTOLD, LogCopy, signs_in
from penstock.engine.keeper import JvmAddress, JvmCard, WarmJvm

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

PER_CONTEXT = {
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Settings of a Spark for few rows; like the warehouse, they are not part of a JVM's key."""
_VOLATILE = re.compile(
    "PWD|OLDPWD|SHLVL|_|COLUMNS|LINES|TERM(_.*)?|COLORTERM|WINDOWID|TMUX.*|PS1|SSH_(CLIENT|TTY"
    "|CONNECTION)|SPARK_AUTH_SOCKET_TIMEOUT|SPARK_BUFFER_SIZE|PENSTOCK_(TARGET|FAULT)"
)
"""Variables that differ between terminals, those that PySpark sets itself, and ours."""
_LOADS = re.compile(r"(?i)classpath|jars|files|archives|extrajavaoptions")
"""Settings that name files which Java or Python load."""
_FOLDERS = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_OF_SYSTEM = ("/proc/self/limits", "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/pid")
_LEFT: list[subprocess.Popen[bytes]] = []
"""Children that outlive their work here; they are waited for later."""
_OF_PY4J = ("t", "j", "GATEWAY_SERVER")
_CATALOGS, _OURS = "spark.sql.catalogImplementation", "in-memory"
_GREETING_SECONDS = 2
_MUCH_MEMORY = 512 << 20


class TakenJvm:
    """A JVM that another command started, with the interface of a `Popen`.

    The end of its output marks its own end; its exit code is unknown.
    """

    def __init__(self, jvm: WarmJvm, copying: LogCopy) -> None:
        """Hold its standard input: it lives as long as this process."""
        self.pid, self._copying = jvm.pid, copying
        self.stdin = os.fdopen(jvm.stdin, "wb", buffering=0)

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return UNTOLD if self._copying.is_over else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raise `TimeoutExpired` like a `Popen`."""
        self._copying.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("java", timeout or 0.0)
        return UNTOLD

    def kill(self) -> None:
        """Kill it; while its output is open, its process id cannot belong to another process."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.stdin.close()


@dataclass(frozen=True, slots=True)
class WarmPlace:
    """Where the JVM of a project's target waits, and what it must match."""

    path: Path
    key: str
    root: str
    target: str
    seconds: float


def warm_place(spark: SparkSettings, root: str, target: str) -> WarmPlace | None:
    """Return the place of a JVM with these settings; None if no JVM stays alive."""
    is_local = re.fullmatch(r"local(\[.*\])?", spark.master)
    is_hive = spark.conf.get(_CATALOGS, _OURS) != _OURS  # a JVM keeps the lock of a metastore
    is_able = hasattr(os, "getuid") and "PYSPARK_GATEWAY_PORT" not in os.environ
    is_watched = not os.environ.get("CI")  # where nobody types the next command, nothing stays
    if not (spark.keep_warm and root and is_local and is_able and is_watched) or is_hive:
        return None
    home = keeper.folder(os.environ, make=True)
    if home is None:
        return None
    name = hashlib.sha256(f"{root}\0{target}".encode()).hexdigest()[:16]
    key = hashlib.sha256("\0".join(_alike(spark)).encode("utf-8", "surrogateescape")).hexdigest()
    seconds = spark.keep_warm.total_seconds()
    return WarmPlace(keeper.socket_path(home, name), key, root, target, seconds)


def _alike(spark: SparkSettings) -> Iterator[str]:
    """Return everything that two commands must share: each command brings the rest."""
    confs = {key: value for key, value in spark.conf.items() if key not in PER_CONTEXT}
    environ = {key: text for key, text in os.environ.items() if not _VOLATILE.fullmatch(key)}
    yield repr((spark.master, spark.driver_memory, sorted(confs.items()), sorted(environ.items())))
    yield repr((spark_versions(), sys.executable, str(Path.cwd()), os.getgroups(), cached_jars()))
    for system in map(Path, _OF_SYSTEM):
        with suppress(OSError):
            yield str(system.readlink()) if system.is_symlink() else system.read_text()
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "")
    folders = (os.environ.get(name, "") for name in _FOLDERS)
    inside = (each for folder in filter(None, folders) for each in Path(folder).glob("*"))
    named = (each for value in confs.values() for each in re.split("[,:;]", value))
    yield from _stamps((java, *sorted(inside), *map(Path, named)))
    for key, value in sorted(confs.items()):
        if _LOADS.search(key):
            yield from _stamps(_loaded(value))


def _loaded(value: str) -> Iterator[Path]:
    """Return the files that a setting loads, including wildcards and nested folders."""
    for place in map(Path, filter(None, re.split("[,:;]", value))):
        with suppress(OSError, ValueError):
            for each in sorted(place.parent.glob(place.name)):
                yield from sorted(each.rglob("*")) if each.is_dir() else (each,)


def _stamps(files: Iterable[Path]) -> Iterator[str]:
    """Return values that change when files are changed or replaced."""
    for each in files:
        with suppress(OSError, ValueError):
            found = each.stat()
            yield f"{each} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def attach(place: WarmPlace, log: Path) -> JavaGateway | None:
    """Take the waiting JVM and connect to it; return None if none matches or answers."""
    jvm = keeper.take(place.path, place.key)
    if jvm is None:
        return None
    copying = LogCopy(jvm.output, log)
    copying.start()
    process = TakenJvm(jvm, copying)
    JVM.started(process, log, copying)
    try:
        _greet(jvm)
        gateway = _gateway(jvm)
    except Exception:  # noqa: BLE001  whatever is wrong with it, another one is started
        give_up()
        return None
    gateway.proc = process
    return gateway


def give_up() -> None:
    """Release a JVM that is not usable."""
    JVM.kill()
    JVM.forget()


def _greet(jvm: WarmJvm) -> None:
    """Raise if the JVM does not answer in time: PySpark itself would wait forever."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    asked = GatewayParameters(
        port=jvm.port, auth_token=jvm.secret, read_timeout=_GREETING_SECONDS, auto_close=True
    )
    greeting = JavaGateway(gateway_parameters=asked)
    try:
        greeting.jvm.System.currentTimeMillis()
    finally:
        greeting.close()


def _gateway(jvm: WarmJvm) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway

    address = {"PYSPARK_GATEWAY_PORT": str(jvm.port), "PYSPARK_GATEWAY_SECRET": jvm.secret}
    os.environ.update(address)
    try:
        return launch_gateway()
    finally:
        for name in address:
            del os.environ[name]


def keep(place: WarmPlace) -> None:
    """Leave the JVM of this process, whose Spark was stopped, to the next command.

    A JVM whose log shows problems ends with this process, as does one that cannot be left.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001  has no public name
    if gateway is None or JVM.log is None or signs_in(JVM.log):
        return
    asked = gateway.gateway_parameters
    address = JvmAddress(place.key, asked.port, asked.auth_token)
    try:
        _clean(gateway)
        if JVM.copying is not None and leave(place, address, gateway.proc, JVM.copying):
            gateway.close()
            JVM.forget()
    except Exception:  # noqa: BLE001  what cannot be left ends as if nobody had tried
        give_up()


def _clean(gateway: JavaGateway) -> None:
    """Clear the JVM's caches of files, and the objects that Python held."""
    from py4j.java_gateway import JavaObject

    java = gateway.jvm
    java.org.apache.spark.sql.delta.DeltaLog.clearCache()
    java.org.apache.hadoop.fs.FileSystem.closeAll()
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001  as PySpark does
    stays = java.java.util.ArrayList()
    for name in _OF_PY4J:
        stays.add(name)
    server.getGateway().getBindings().keySet().retainAll(stays)
    if java.java.lang.Runtime.getRuntime().totalMemory() > _MUCH_MEMORY:
        java.java.lang.System.gc()  # it gives back what it does not need


def leave(
    place: WarmPlace,
    address: JvmAddress,
    process: subprocess.Popen[bytes] | TakenJvm,
    copying: LogCopy,
) -> bool:
    """Pass both ends of a JVM to a keeper; return False if another waits there or it has ended."""
    listener = keeper.listening(place.path)
    if listener is None:
        return False
    with listener:
        if process.stdin is None or not copying.leave():
            return False
        card = JvmCard(place.root, place.target, process.pid, time.time() + place.seconds)
        ends = (listener.fileno(), process.stdin.fileno(), copying.source)
        reading, writing = os.pipe()
        os.write(writing, keeper.orders(card, address, ends))
        os.close(writing)
        # Neither a folder of the project's nor a terminal is held by it.
        made = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
            cwd="/",
            start_new_session=True,
        )
        os.close(reading)
    children = (made, process) if isinstance(process, subprocess.Popen) else (made,)
    _LEFT[:] = [*(each for each in _LEFT if each.poll() is None), *children]
    process.stdin.close()
    os.close(copying.source)
    return True
