"""Starting Spark: one JVM, quiet, as cheap as the measurements in docs/decisions show it can be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core.project import SparkSettings
from penstock.engine.jars import ensure_jars
from penstock.engine.java import require_java

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """Where the JVM of one run writes, and what it is given."""

    spark: SparkSettings
    warehouse: str
    log: Path


def launch(settings: LaunchSettings, environ: Mapping[str, str]) -> SparkSession:
    """Start the JVM with its output in the run's log; raise what is missing before it starts."""
    require_java(environ)
    jars = ensure_jars()
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415  # takes a second: only now
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    settings.log.parent.mkdir(parents=True, exist_ok=True)
    log4j = settings.log.with_suffix(".log4j2.properties")
    log4j.write_text(_LOG4J.format(log=settings.log), encoding="utf-8")
    conf = SparkConf(loadDefaults=False).setAll(list(spark_confs(settings, jars, log4j).items()))
    gateway = None
    if SparkContext._gateway is None:  # noqa: SLF001  # a JVM of this process is used again
        with settings.log.open("ab") as output:
            gateway = launch_gateway(conf=conf, popen_kwargs={"stdout": output, "stderr": output})
    log4j.unlink()
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def spark_confs(settings: LaunchSettings, jars: tuple[str, ...], log4j: Path) -> dict[str, str]:
    """Give every setting the JVM starts with; what the user configured wins over our defaults."""
    user = dict(settings.spark.conf)
    classpath = os.pathsep.join(jars)
    java = f"-Dlog4j2.configurationFile=file:{log4j} -XX:+UseSerialGC -Xshare:auto"
    if settings.spark.master.startswith("local"):
        java += " -Djava.net.preferIPv4Stack=true"
        user = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"} | user
        user = {"spark.sql.shuffle.partitions": str(2 * cores(settings.spark.master))} | user
    confs = _DEFAULTS | {"spark.sql.warehouse.dir": settings.warehouse} | user | _ALWAYS
    confs["spark.master"] = settings.spark.master
    confs["spark.driver.memory"] = settings.spark.driver_memory
    extra = user.get("spark.driver.extraJavaOptions", "")
    confs["spark.driver.extraJavaOptions"] = f"{java} {extra}".strip()
    if settings.spark.master.startswith("local"):
        confs["spark.driver.extraClassPath"] = classpath
    else:
        confs["spark.jars"] = ",".join(jars)
    return confs


def cores(master: str) -> int:
    """Give how many threads a local master runs.

    >>> cores("local[3]")
    3
    """
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1
