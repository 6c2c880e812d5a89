"""Java for Spark: finding one and its jars; the JVM of this process, and whether it lives."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from penstock.core.errors import EnvironmentMissingError, PenstockError, SparkDiedError
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
    """A Java that was found; `output` is all that it says of its version, 17, and of its build."""

    executable: str
    version: int
    output: str = ""


def find_java(environ: Mapping[str, str]) -> Java | None:
    """Give the Java that Spark will use: JAVA_HOME first, then PATH; None if there is none."""
    home = environ.get("JAVA_HOME")
    found = f"{Path(home, 'bin/java')}" if home else shutil.which("java", path=environ.get("PATH"))
    if not found or not os.access(found, os.X_OK):
        return None
    result = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    text = result.stderr + result.stdout
    version = _VERSION.search(text)
    return Java(found, int(version[1]), text) if version else None


def is_whole(java: Java) -> bool:
    """Whether it has the module that Spark needs and that reduced builds leave out."""
    command = [java.executable, "--list-modules"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "jdk.incubator.vector" in result.stdout


def how_to_install() -> str:
    """Give the command that installs Java on this system."""
    for tool, command in _INSTALL:
        if shutil.which(tool):
            return f"install it with: {command}"
    where = "" if sys.platform.startswith(("linux", "darwin")) else " for Windows"
    return f"install a Java 17 runtime{where} and set JAVA_HOME to it"


def require_java(environ: Mapping[str, str]) -> Java:
    """Give a Java that is new enough, or raise `java-missing` (case J9)."""
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
    # One jar of each name: other versions of Delta may have left theirs in the cache.
    found = folder.glob("io.unitycatalog_*.jar")
    catalogs = sorted(found, key=lambda jar: [int(each) for each in re.findall(r"\d+", jar.stem)])
    newest = {jar.stem.rpartition("-")[0]: jar for jar in catalogs}
    jars = sorted(map(str, (*folder.glob(f"io.delta_*-{delta}.jar"), *newest.values())))
    needed = (f"delta-spark_4.2_2.13-{delta}.jar", f"delta-storage-{delta}.jar")
    whole = all(any(jar.endswith(name) for jar in jars) for name in needed)
    return tuple(jars) if whole else ()


def ivy_home() -> Path:
    """Give the folder of Spark's Ivy cache."""
    return Path.home() / ".ivy2.5.2"


def ensure_jars() -> tuple[str, ...]:
    """Give the Delta jars, fetched from Maven Central at first, or raise `jars-unreachable`."""
    if jars := cached_jars():
        return jars
    asked = (coordinate(), ",".join(_EXCLUDED), str(ivy_home()))
    command = [sys.executable, "-c", _RESOLVE, *asked]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    jars = cached_jars()
    if result.returncode or not jars:
        last = next((line for line in reversed(result.stderr.splitlines()) if line.strip()), "")
        raise EnvironmentMissingError(
            "jars-unreachable",
            f"the Delta jars ({coordinate()}) could not be fetched: {mask(last)[:300]}",
            hint="check the network and run 'penstock doctor --fix'",
        )
    return jars


def coordinate() -> str:
    """Give the Maven coordinate that belongs to the installed delta-spark."""
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
    """Give where the archive of this Java, this Spark and these jars lies, or would lie."""
    spark = util.find_spec("pyspark")
    identity = "\n".join((java.output, str(spark and spark.origin), *jars))
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    caches = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches, "penstock", f"session-{key}.jsa")


def make_archive(path: Path) -> bool:
    """Run a small session of every kind of statement and keep the classes that it loaded.

    Takes half a minute and some 200 MB. The file appears whole or, which costs only time, not.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="training-") as folder:
        made = Path(folder, path.name)
        command = [sys.executable, "-m", "penstock.engine.launch", str(made)]
        try:
            subprocess.run(command, capture_output=True, check=False, timeout=600)
        except subprocess.TimeoutExpired:
            return False
        if not made.is_file():
            return False
        made.replace(path)
    return True


_HEAD_BYTES, _TAIL_BYTES = 1 << 20, 3 << 20
_SHOWN = 160
_MORE_CODE = (
    "give the target more room: conf: {spark.driver.extraJavaOptions: "
    "-XX:ReservedCodeCacheSize=512m}"
)
_MORE_MEMORY = "raise driver_memory of the target's spark, or lower --threads"
_SIGNS = {
    rb"Out of space in CodeCache[^\r\n]*": _MORE_CODE,
    rb"Code(?:Cache|Heap '[^'\n]{1,40}') is full\. Compiler has been disabled": _MORE_CODE,
    rb"java\.lang\.OutOfMemoryError[^\r\n]*": _MORE_MEMORY,
    rb"There is insufficient memory for the Java Runtime Environment": _MORE_MEMORY,
    rb"A fatal error has been detected by the Java Runtime Environment": (
        "the log names the file in which Java describes it; another version of Java may help"
    ),
}


@dataclass(frozen=True, slots=True)
class Sign:
    """Something in a log that a healthy JVM does not say, how often, and what helps."""

    says: str
    times: int
    hint: str


def signs_in(log: Path) -> tuple[Sign, ...]:
    """Find the signs in a log; of a large one only its first and its last megabytes are read."""
    try:
        with log.open("rb") as file:
            content = file.read(_HEAD_BYTES)
            size = file.seek(0, 2)
            file.seek(max(len(content), size - _TAIL_BYTES))
            content += b"\n" + file.read(_TAIL_BYTES)
    except OSError:
        return ()
    found = ((re.findall(pattern, content), hint) for pattern, hint in _SIGNS.items())
    return tuple(
        Sign(lines[0].decode("utf-8", "replace").strip()[:_SHOWN], len(lines), hint)
        for lines, hint in found
        if lines
    )


def warnings_of(log: Path) -> tuple[str, ...]:
    """Word the signs in a run's log, each with what helps."""
    return tuple(
        f"spark-in-trouble: Spark's log says '{sign.says}'"
        + (f" ({sign.times} times)" if sign.times > 1 else "")
        + f": {log}; {sign.hint}"
        for sign in signs_in(log)
    )


def newest_with_signs(folder: Path) -> tuple[Path, tuple[Sign, ...]] | None:
    """Give the newest of the last five logs that has a sign; logs are named in their order."""
    logs = sorted(folder.glob("*.log"), reverse=True)[:5]
    found = ((log, signs_in(log)) for log in logs)
    return next((each for each in found if each[1]), None)


def copy_masked(source: int, log: Path) -> threading.Thread:
    """Write what comes through a pipe to a log without secrets, line by line, until its end."""

    def copy() -> None:
        with open(source, "rb") as lines, log.open("ab", buffering=0) as file:
            for line in lines:
                file.write(mask(line.decode("utf-8", "replace")).encode())

    copying = threading.Thread(target=copy, name="penstock-log", daemon=True)
    copying.start()
    return copying


_PATIENCE_SECONDS = 10.0
_LAST_WORDS_SECONDS = 1.0
_KILLED_BY_SYSTEM = -9
_RUN_AGAIN = "what was committed is kept; run again"
_OUT_OF_MEMORY = (
    "systems kill what takes too much memory: lower driver_memory of the target's spark, "
    "or --threads, and run again"
)


class StartedJvm:
    """The one JVM of this process; knows nothing of one that somebody else started."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._copying: threading.Thread | None = None

    def started(
        self, process: subprocess.Popen[bytes], log: Path, copying: threading.Thread | None = None
    ) -> None:
        """Remember the process, its log, and who writes there what it says."""
        self._process, self._log, self._copying = process, log, copying

    def has_ended(self) -> bool:
        """Whether the JVM was started and is no more."""
        return self._process is not None and self._process.poll() is not None

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error comes from a JVM that is gone.

        One that closes its connections is ending: it is waited for, and killed if it stays, so
        that nothing can be committed behind the answer.
        """
        if isinstance(error, PenstockError):
            return isinstance(error, SparkDiedError)
        if self._process is None:
            return _is_cut_off(error)
        if not self.has_ended() and _is_cut_off(error):
            try:
                self._process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        return self.has_ended()

    def lost(self) -> SparkDiedError:
        """Give the error that says how the JVM ended and where its log is."""
        if self._process is None or self._log is None:
            return SparkDiedError("spark-died", "Spark's JVM does not answer", hint=_RUN_AGAIN)
        code = self._process.poll()
        killed = code is not None and code < 0
        how = f"was killed (signal {-(code or 0)})" if killed else f"ended (exit code {code})"
        if self._copying is not None and code is not None:
            self._copying.join(_LAST_WORDS_SECONDS)
        hint = _OUT_OF_MEMORY if code == _KILLED_BY_SYSTEM else _RUN_AGAIN
        if signs := signs_in(self._log):
            how += f" after saying '{signs[0].says}'"
            hint = f"{signs[0].hint}; then run again"
        sentence = f"Spark's JVM {how}; its log is {self._log}"
        return SparkDiedError("spark-died", sentence, hint=hint)

    def let_go(self, release: Callable[[], object]) -> None:
        """Let go of something in the JVM; where the JVM is gone it is gone as well."""
        if self.has_ended():
            return
        try:
            release()
        except Exception as error:
            if not self.is_lost(error):
                raise

    def forget(self) -> None:
        """Let this process start another JVM in place of the one that is gone."""
        self._process = self._log = None
        if "pyspark" not in sys.modules:
            return
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        # Stopping what PySpark holds of the JVM would ask the JVM, and there is no public way else.
        context = SparkContext._active_spark_context  # noqa: SLF001
        if server := getattr(context, "_accumulatorServer", None):
            server.shutdown()
        SparkContext._active_spark_context = None  # noqa: SLF001
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


def _is_cut_off(error: BaseException) -> bool:
    """Whether an error says that the connection to a JVM broke."""
    if isinstance(error, ConnectionError):
        return True
    if "py4j" not in sys.modules:
        return False
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

    if not isinstance(error, Py4JError) or isinstance(error, Py4JJavaError):
        return False
    # Of a call that Java refused Py4J tells the trace, of an answer that never came nothing.
    unanswered = "error occurred while calling" in str(error) and "Trace:" not in str(error)
    return unanswered or isinstance(error, Py4JNetworkError)


def silence_py4j() -> None:
    """Keep Py4J from printing the stack of every call that met a dead JVM: the error is told.

    It writes to the root logger and to its own, whose records no filter of the root sees.
    """
    for name in ("", "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


JVM = StartedJvm()
