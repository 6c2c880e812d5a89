"""Java for Spark: the installation, the jars, and the archive of classes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from penstock.core.errors import EnvironmentMissingError, install_hint
from penstock.core.masking import mask

NEEDED = 17
_VERSION = re.compile(r'version "(\d+)')
_INSTALL = (
    ("apt-get", "sudo apt-get install -y openjdk-17-jre-headless"),
    ("dnf", "sudo dnf install -y java-17-openjdk-headless"),
    ("brew", "brew install openjdk@17"),
    ("apk", "sudo apk add openjdk17-jre-headless"),
)


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java; `output` is its version message: version, such as 17, and build."""

    executable: str
    version: int
    output: str = ""


def find_java(environ: Mapping[str, str]) -> Java | None:
    """Return the Java that Spark will use: JAVA_HOME first, then PATH; None if there is none."""
    home = environ.get("JAVA_HOME")
    found = f"{Path(home, 'bin/java')}" if home else shutil.which("java", path=environ.get("PATH"))
    if not found or not os.access(found, os.X_OK):
        return None
    result = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    text = result.stderr + result.stdout
    version = _VERSION.search(text)
    return Java(found, int(version[1]), text) if version else None


def is_whole(java: Java) -> bool:
    """Return whether it has the module that Spark needs and that reduced builds lack."""
    command = [java.executable, "--list-modules"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "jdk.incubator.vector" in result.stdout


def how_to_install() -> str:
    """Return the command that installs Java on this system."""
    for tool, command in _INSTALL:
        if shutil.which(tool):
            return f"install it with: {command}"
    where = "" if sys.platform.startswith(("linux", "darwin")) else " for Windows"
    return f"install a Java 17 runtime{where} and set JAVA_HOME to it"


def require_java(environ: Mapping[str, str]) -> Java:
    """Return a Java that is new enough, or raise `java-missing`."""
    java, needs = find_java(environ), f"Spark needs Java {NEEDED} or newer"
    if java is not None and java.version >= NEEDED:
        return java
    code, sentence = "java-missing", f"{needs} and none was found"
    if java is not None:
        code, sentence = "java-too-old", f"{needs}; {java.executable} is {java.version}"
    raise EnvironmentMissingError(code, sentence, hint=how_to_install())


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
    """Return the versions of pyspark and delta-spark, or raise `spark-missing`."""
    if util.find_spec("pyspark") is None or util.find_spec("delta") is None:
        raise EnvironmentMissingError(
            "spark-missing",
            "pyspark and delta-spark are not installed",
            hint=f"install them with: {install_hint('spark')}",
        )
    return metadata.version("pyspark"), metadata.version("delta-spark")


def cached_jars(ivy: Path | None = None) -> tuple[str, ...]:
    """Return the jars of this delta-spark in Ivy's cache, () unless all of them are there."""
    _, delta = spark_versions()
    folder = (ivy or ivy_home()) / "jars"
    # One jar of each name: other versions of Delta may have left theirs in the cache.
    found = folder.glob("io.unitycatalog_*.jar")
    catalogs = sorted(found, key=lambda jar: [int(each) for each in re.findall(r"\d+", jar.stem)])
    newest = {jar.stem.rpartition("-")[0]: jar for jar in catalogs}
    jars = sorted(map(str, (*folder.glob(f"io.delta_*-{delta}.jar"), *newest.values())))
    needed = (f"delta-spark_4.2_2.13-{delta}.jar", f"delta-storage-{delta}.jar")
    whole = all(any(jar.endswith(name) for jar in jars) for name in needed)
    return tuple(jars) if whole else ()


def ivy_home() -> Path:
    """Return the folder of Spark's Ivy cache."""
    return Path.home() / ".ivy2.5.2"


def ensure_jars() -> tuple[str, ...]:
    """Return the Delta jars, from Maven Central if needed, or raise `jars-unreachable`."""
    if jars := cached_jars():
        return jars
    why = fetch([coordinate()], _EXCLUDED)
    jars = cached_jars()
    if why or not jars:
        raise unreachable_error(f"the Delta jars ({coordinate()})", why)
    return jars


def fetch(coordinates: Sequence[str], excluded: Sequence[str]) -> str:
    """Let Ivy fetch jars into its cache; return why they could not be had, "" if they were."""
    asked = (",".join(coordinates), ",".join(excluded), str(ivy_home()))
    command = [sys.executable, "-c", _RESOLVE, *asked]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not result.returncode:
        return ""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    return mask(lines[-1])[:300] if lines else "Ivy says nothing"


def unreachable_error(what: str, why: str) -> EnvironmentMissingError:
    """Return the error of jars that could not be fetched."""
    sentence = f"{what} could not be fetched: {why}"
    hint = "check the network and run 'penstock doctor --fix'"
    return EnvironmentMissingError("jars-unreachable", sentence, hint=hint)


def coordinate() -> str:
    """Return the Maven coordinate of the installed delta-spark."""
    return f"io.delta:delta-spark_4.2_2.13:{spark_versions()[1]}"


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


def archive_path(java: Java, jars: tuple[str, ...], environ: Mapping[str, str]) -> Path:
    """Return the path of the archive for this Java, Spark and jars, even if it does not exist."""
    spark = util.find_spec("pyspark")
    identity = "\n".join((java.output, str(spark and spark.origin), *jars))
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    caches = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches, "penstock", f"session-{key}.jsa")


def make_archive(path: Path) -> bool:
    """Run a small session with every kind of statement and keep the classes that it loaded.

    Takes half a minute and some 200 MB. The file is written completely or not at all; without it,
    sessions only start slower.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="training-") as folder:
        made = Path(folder, path.name)
        command = [sys.executable, "-m", "penstock.engine.training", str(made)]
        try:
            subprocess.run(command, capture_output=True, check=False, timeout=600)
        except subprocess.TimeoutExpired:
            return False
        if not made.is_file():
            return False
        made.replace(path)
    return True
