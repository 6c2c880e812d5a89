"""The Delta jars: resolved once by Ivy, then taken from its cache, also offline."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata, util
from pathlib import Path

from penstock.core.errors import EnvironmentMissingError

_COORDINATE = "io.delta:delta-spark_4.2_2.13:{version}"
_NUMBER = re.compile(r"\d+")
# Spark ships these in newer versions; fetching them again only costs time.
_EXCLUDED = (
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.hadoop:hadoop-client-api",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-annotations",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.apache.logging.log4j:log4j-api",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.parquet:parquet-hadoop",
    "org.slf4j:slf4j-api",
    "com.github.luben:zstd-jni",
    "org.roaringbitmap:RoaringBitmap",
    "io.airlift:aircompressor",
)


def spark_versions() -> tuple[str, str]:
    """Give the versions of pyspark and delta-spark, or raise `spark-missing`."""
    if util.find_spec("pyspark") is None or util.find_spec("delta") is None:
        raise EnvironmentMissingError(
            "spark-missing",
            "pyspark and delta-spark are not installed",
            hint="install them with: pip install 'penstock[spark]'",
        )
    return metadata.version("pyspark"), metadata.version("delta-spark")


def cached_jars(ivy: Path | None = None) -> tuple[str, ...]:
    """Give the jars of this delta-spark that lie in Ivy's cache, () unless all of them do."""
    _, delta = spark_versions()
    folder = (ivy or ivy_home()) / "jars"
    ours = folder.glob(f"io.delta_*-{delta}.jar")
    jars = sorted(map(str, (*ours, *_newest(folder.glob("io.unitycatalog_*.jar")))))
    needed = (f"delta-spark_4.2_2.13-{delta}.jar", f"delta-storage-{delta}.jar")
    whole = all(any(jar.endswith(name) for jar in jars) for name in needed)
    return tuple(jars) if whole else ()


def _newest(jars: Iterable[Path]) -> Iterable[Path]:
    """Leave one jar of each name: other versions of Delta may have left theirs in the cache."""
    best: dict[str, Path] = {}
    for jar in sorted(jars, key=lambda jar: [int(n) for n in _NUMBER.findall(jar.stem)]):
        best[jar.stem.rpartition("-")[0]] = jar
    return best.values()


def ivy_home() -> Path:
    """Give the folder of Spark's Ivy cache."""
    return Path.home() / ".ivy2.5.2"


def ensure_jars(ivy: Path | None = None) -> tuple[str, ...]:
    """Give the Delta jars, fetching them from Maven Central if this is the first time.

    Raises `jars-unreachable` when they can be neither found nor fetched.
    """
    home = ivy or ivy_home()
    jars = cached_jars(home)
    if jars:
        return jars
    told = subprocess.run(
        [sys.executable, "-c", _RESOLVE, coordinate(), ",".join(_EXCLUDED), str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    jars = cached_jars(home)
    if told.returncode or not jars:
        last = next((line for line in reversed(told.stderr.splitlines()) if line.strip()), "")
        raise EnvironmentMissingError(
            "jars-unreachable",
            f"the Delta jars ({coordinate()}) could not be fetched: {last[:300]}",
            hint="check the network and run 'penstock doctor --fix'",
        )
    return jars


def coordinate() -> str:
    """Give the Maven coordinate that belongs to the installed delta-spark."""
    return _COORDINATE.format(version=spark_versions()[1])


# A throw-away JVM: Ivy runs before the session starts, so this ends without one.
_RESOLVE = """
import sys
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
conf = SparkConf(loadDefaults=False)
conf.set("spark.jars.packages", sys.argv[1]).set("spark.jars.excludes", sys.argv[2])
conf.set("spark.jars.ivy", sys.argv[3])
conf.set("spark.driver.extraJavaOptions", "-XX:ReservedCodeCacheSize=256m")
launch_gateway(conf)
"""
