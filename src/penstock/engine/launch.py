"""Starting Spark: one JVM, quiet, as cheap as the measurements in docs/decisions show it can be."""

from __future__ import annotations

import os
import re
import signal
import sys
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

ALWAYS = {
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
_OPTIONS_FROM_OUTSIDE = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
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
    """What the JVM starts with; `outside` are options from the environment, for every JVM."""

    jars: tuple[str, ...]
    log4j: Path
    archive: Path
    outside: str = ""


def spark_confs(settings: LaunchSettings, parts: JvmParts) -> dict[str, str]:
    """Give every setting the JVM starts with; what the user configured wins over our defaults."""
    user = settings.spark.conf
    is_local = settings.spark.master.startswith("local")
    local = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * cores(settings.spark.master)),
    }
    jars, separator = (_CLASS_PATH, os.pathsep) if is_local else ("spark.jars", ",")
    return {
        **_DEFAULTS,
        "spark.sql.warehouse.dir": settings.warehouse,
        **(local if is_local else {}),
        **user,
        **ALWAYS,
        "spark.master": settings.spark.master,
        "spark.driver.memory": settings.spark.driver_memory,
        _JAVA_OPTIONS: java_options(settings, parts),
        jars: separator.join(filter(None, (*parts.jars, user.get(jars)))),
    }


def java_options(settings: LaunchSettings, parts: JvmParts) -> str:
    """Give the JVM's options; the user's come last, so that they win.

    Few cores gain from the serial collector. The archive fits only the class path it was made with.
    """
    spark = settings.spark
    theirs = spark.conf.get(_JAVA_OPTIONS, "")
    ours = [f"-Dlog4j2.configurationFile=file:{parts.log4j}"]
    more = spark.conf.get("spark.driver.defaultJavaOptions", "")
    if not any("-XX:ReservedCodeCacheSize=" in each for each in (theirs, more, parts.outside)):
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


_ROWS = "SELECT id, CAST(id % 7 AS INT) AS k, CAST(id AS STRING) AS s FROM range(1000)"
_PROPERTIES = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
_CLAUSES = "WHEN MATCHED THEN UPDATE SET t.s = 'x' WHEN NOT MATCHED THEN INSERT *"


def train(archive: Path) -> None:
    """Do a little of all that runs do, then wait until the JVM has written the archive."""
    folder = archive.parent
    options = f"-XX:ArchiveClassesAtExit={archive} -XX:TieredStopAtLevel=1"
    spark = SparkSettings("local[2]", conf={"spark.driver.extraJavaOptions": options})
    settings = LaunchSettings(spark, str(folder / "warehouse"), folder / "log.txt")
    root = launch(settings, dict(os.environ))
    gateway = root.sparkContext._gateway  # noqa: SLF001  # to wait for its end
    session = root.newSession()
    table = f"delta.`{folder}/warehouse/s/t`"
    session.sql(_ROWS).write.csv(f"{folder}/csv", header=True)
    rows = session.read.csv(f"{folder}/csv", header=True, schema="id BIGINT, k INT, s STRING")
    rows.persist().createOrReplaceTempView("q")
    for statement in (
        f"CREATE OR REPLACE TABLE {table} USING delta {_PROPERTIES} AS SELECT * FROM q",
        f"INSERT INTO {table} BY NAME SELECT id + 1000 AS id, k, s FROM q",
        f"MERGE INTO {table} t USING q s ON t.id = s.id AND t.k = 1 {_CLAUSES}",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('a' = 'b')",
    ):
        session.sql(statement)
    reader = session.read.format("delta").option("versionAsOf", 1)
    reader.load(f"{folder}/warehouse/s/t").createOrReplaceTempView("t")
    session.sql(
        "SELECT k, count(*) AS n, max(timestamp_seconds(id)) AS m, avg(id) AS a FROM (SELECT t.*, "
        "count(*) OVER (PARTITION BY t.id) AS c FROM t LEFT JOIN q ON t.id <=> q.id) "
        "GROUP BY k ORDER BY n DESC LIMIT 5"
    ).collect()
    root.stop()
    if gateway is not None:
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    train(Path(sys.argv[1]))
