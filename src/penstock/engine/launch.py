"""Starting Spark: one JVM, quiet, as cheap as the measurements in docs/decisions show it can be."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core.errors import EnvironmentMissingError
from penstock.core.project import SparkSettings
from penstock.engine.java import archive_path, ensure_jars, require_java
from penstock.engine.jvm import JVM

if TYPE_CHECKING:
    from types import FrameType

    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""

_ALWAYS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}

# Settings of the user win over these.
_DEFAULTS = {
    "spark.app.name": "penstock",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "4MB",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
}


_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_ARCHIVE = re.compile(r"-XX:(SharedArchiveFile|ArchiveClassesAtExit)=")
_CODE_CACHE = re.compile(r"-XX:ReservedCodeCacheSize=")
_MORE_OPTIONS = "spark.driver.defaultJavaOptions"
_OPTIONS_FROM_OUTSIDE = (
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "SPARK_SUBMIT_OPTS",
)
CODE_CACHE = "-XX:ReservedCodeCacheSize=256m"
"""A run of six steps fills what one compiler is given, 48 MB; a JVM then gets slow, or dies."""
_FEW_CORES = 2


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """Where the JVM of one run writes, and what it is given."""

    spark: SparkSettings
    warehouse: str
    log: Path


def launch(settings: LaunchSettings, environ: Mapping[str, str]) -> SparkSession:
    """Start the JVM with its output in the run's log; raise what is missing before it starts."""
    java = require_java(environ)
    jars = ensure_jars()
    from pyspark import SparkConf, SparkContext  # takes a second: only now
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    # It prints every refused query to the terminal, stack trace and all; the error is ours to tell.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    settings.log.parent.mkdir(parents=True, exist_ok=True)
    log4j = settings.log.with_suffix(".log4j2.properties")
    log4j.write_text(_LOG4J.format(log=settings.log), encoding="utf-8")
    outside = " ".join(environ.get(name, "") for name in _OPTIONS_FROM_OUTSIDE)
    parts = JvmParts(jars, log4j, archive_path(java, jars, environ), outside)
    conf = SparkConf(loadDefaults=False).setAll(list(spark_confs(settings, parts).items()))
    gateway = None
    if SparkContext._gateway is None:  # noqa: SLF001  # a JVM of this process is used again
        gateway = _gateway(conf, settings.log)
    log4j.unlink()
    before = signal.getsignal(signal.SIGINT)
    try:
        spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        if not JVM.is_lost(error):
            raise
        JVM.forget()
        raise _did_not_start(settings.log) from error
    if signal.getsignal(signal.SIGINT) is not before:
        _interrupt_anyway()
    return spark


def _interrupt_anyway() -> None:
    """Let Ctrl-C interrupt also where PySpark, which cancels jobs first, meets a dead JVM."""
    theirs = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        try:
            if callable(theirs) and not JVM.has_ended():
                theirs(number, frame)
        except Exception as error:
            raise KeyboardInterrupt from error
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)


def _gateway(conf: SparkConf, log: Path) -> JavaGateway:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    with log.open("ab") as output:
        try:
            made = launch_gateway(conf=conf, popen_kwargs={"stdout": output, "stderr": output})
        except PySparkRuntimeError as error:
            raise _did_not_start(log) from error
    JVM.started(made.proc, log)
    return made


def _did_not_start(log: Path) -> EnvironmentMissingError:
    return EnvironmentMissingError(
        "spark-did-not-start",
        f"Spark's JVM ended before it was ready; what it said is in {log}",
        hint="penstock doctor",
    )


@dataclass(frozen=True, slots=True)
class JvmParts:
    """What the JVM starts with; the archive need not exist.

    `outside` are the options that the environment gives every JVM.
    """

    jars: tuple[str, ...]
    log4j: Path
    archive: Path
    outside: str = ""


def spark_confs(settings: LaunchSettings, parts: JvmParts) -> dict[str, str]:
    """Give every setting the JVM starts with; what the user configured wins over our defaults."""
    user = dict(settings.spark.conf)
    is_local = settings.spark.master.startswith("local")
    if is_local:
        user = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"} | user
        user = {"spark.sql.shuffle.partitions": str(2 * cores(settings.spark.master))} | user
    confs = _DEFAULTS | {"spark.sql.warehouse.dir": settings.warehouse} | user | _ALWAYS
    confs["spark.master"] = settings.spark.master
    confs["spark.driver.memory"] = settings.spark.driver_memory
    confs[_JAVA_OPTIONS] = java_options(settings, parts)
    if is_local:
        more = user.get(_CLASS_PATH)
        confs[_CLASS_PATH] = os.pathsep.join((*parts.jars, *([more] if more else [])))
    else:
        theirs = user.get("spark.jars")
        confs["spark.jars"] = ",".join((*parts.jars, *([theirs] if theirs else [])))
    return confs


def java_options(settings: LaunchSettings, parts: JvmParts) -> str:
    """Give the JVM's options; the user's come last, so that they win.

    One or two cores gain from the serial collector; with more the JVM chooses. The archive fits
    only the class path that it was made with.
    """
    spark = settings.spark
    theirs = spark.conf.get(_JAVA_OPTIONS, "")
    ours = [f"-Dlog4j2.configurationFile=file:{parts.log4j}"]
    given = " ".join((theirs, spark.conf.get(_MORE_OPTIONS, ""), parts.outside))
    if not _CODE_CACHE.search(given):
        ours.append(CODE_CACHE)
    if spark.master.startswith("local"):
        ours.append("-Djava.net.preferIPv4Stack=true")
        if cores(spark.master) <= _FEW_CORES and not _COLLECTOR.search(theirs):
            ours.append("-XX:+UseSerialGC")
        if parts.archive.is_file() and not (_ARCHIVE.search(theirs) or _CLASS_PATH in spark.conf):
            ours.append(f"-XX:SharedArchiveFile={parts.archive}")
    return " ".join((*ours, theirs)).strip()


def cores(master: str) -> int:
    """Give how many threads a local master runs.

    >>> cores("local[3]")
    3
    """
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1
