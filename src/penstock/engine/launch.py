"""Start Spark: one quiet JVM, with the settings that docs/decisions measured as cheapest."""

from __future__ import annotations

import os
import re
import shlex
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from penstock.core.errors import EnvironmentMissingError
from penstock.core.masking import REDACTED, mask, mask_value
from penstock.core.ports.engine import Waiting
from penstock.core.project import SparkSettings
from penstock.core.storage import StoreAccess
from penstock.engine.connectors import bucket_jars, bucket_settings
from penstock.engine.java import archive_path, ensure_jars, require_java, spark_versions
from penstock.engine.jvm import JVM, LogCopy, end_behind, numpy_alone
from penstock.engine.warm import WarmPlace, attach, give_up

if TYPE_CHECKING:
    from types import FrameType

    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = Console
appender.file.name = file
appender.file.target = SYSTEM_ERR
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""
"""The target of all JVM output: this process, which writes the log without secrets."""

SUBSTITUTION = "spark.sql.variable.substitute"
"""With this setting, Spark replaces `${name}` in any SQL, even inside literals."""
ALWAYS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    SUBSTITUTION: "false",
}

# Settings of the user win over these.
_DEFAULTS = {
    "spark.app.name": "penstock",
    "spark.ui.enabled": "false",
    "spark.redaction.regex": REDACTED,
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.databricks.delta.snapshotPartitions": "2",
    # what Delta knows of a table takes almost 3 MB, and it would keep that of 10,000 for an hour
    "spark.databricks.delta.delta.log.cacheSize": "100",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "4MB",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
}

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_MORE_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_ARCHIVE = re.compile(r"-XX:(SharedArchiveFile|ArchiveClassesAtExit)=")
_OPTIONS_FROM_OUTSIDE = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
CODE_CACHE = "-XX:ReservedCodeCacheSize=256m"
"""A run of six steps fills the 48 MB of a single compiler; the JVM then slows down, or crashes."""
_FEW_CORES = 2
QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_LAST_CLASS_PATH = "SPARK_DIST_CLASSPATH"


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """The log of one run's JVM, its resources, and its owner if it may stay alive."""

    spark: SparkSettings
    warehouse: str
    log: Path
    root: str = ""
    target: str = ""
    waiting: Waiting = nullcontext
    storage: Mapping[str, StoreAccess] | None = None
    """How to connect to buckets; None for a project that uses none."""
    written: tuple[str, ...] = ()
    """One location of tables in each bucket that has some."""

    @property
    def whole_spark(self) -> SparkSettings:
        """The settings of Spark with those for buckets; what the user configured wins."""
        if self.storage is None:
            return self.spark
        conf = self.spark.conf
        return replace(self.spark, conf={**bucket_settings(self.storage, conf), **conf})

    @property
    def bucket_jars(self) -> tuple[str, ...]:
        """The jars for buckets; the first use fetches them.

        If they cannot be fetched and no table is in a bucket, models that read no bucket still run.
        """
        if self.storage is None:
            return ()
        try:
            return bucket_jars(self.spark.conf)
        except EnvironmentMissingError as error:
            if self.written or error.code != "jars-unreachable":
                raise
            return ()


def launch(
    settings: LaunchSettings, environ: Mapping[str, str], place: WarmPlace | None = None
) -> SparkSession:
    """Return a new Spark, with the JVM's output in the run's log.

    Takes the JVM that waits at the place, otherwise starts one; raises first if something is
    missing.
    """
    spark_versions()
    from pyspark import SparkContext  # takes a second: only now
    from pyspark.logger import PySparkLogger

    # They print refused queries to the terminal, stack trace and all; the error is ours to tell.
    for name in QUERY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    for folder in (settings.log.parent.parent, settings.log.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_first = SparkContext._gateway is None  # noqa: SLF001  has no public name
    if place is not None and is_first and (found := attach(place, settings.log)):
        parts = JvmParts(ensure_jars(), Path(), Path(), last_jars=settings.bucket_jars)
        try:
            return _session(spark_confs(settings, parts), found, settings.log)
        except Exception:  # noqa: BLE001  whatever is wrong with it, another one is started
            give_up()
    return _cold(settings, environ)


def _cold(settings: LaunchSettings, environ: Mapping[str, str]) -> SparkSession:
    java = require_java(environ)
    jars, last_jars = ensure_jars(), settings.bucket_jars
    from pyspark import SparkContext

    outside = " ".join(environ.get(name, "") for name in _OPTIONS_FROM_OUTSIDE)
    gateway = None
    with TemporaryDirectory(prefix="penstock-") as folder:  # ours alone, and gone when all is read
        archive = archive_path(java, jars, environ)
        parts = JvmParts(jars, Path(folder), archive, outside, last_jars)
        confs = spark_confs(settings, parts)
        if SparkContext._gateway is None:  # noqa: SLF001  # a JVM of this process is used again
            gateway = _gateway(parts, secret_options(settings), confs, settings.log)
    return _session(confs, gateway, settings.log)


def _session(confs: Mapping[str, str], gateway: JavaGateway | None, log: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    numpy_alone()
    conf = SparkConf(loadDefaults=False).setAll(list(confs.items()))
    before = signal.getsignal(signal.SIGINT)
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        end_behind(context._accumulatorServer)  # noqa: SLF001  has no public name
        spark = SparkSession(context)
    except Exception as error:
        if not JVM.is_lost(error):
            raise
        JVM.forget()
        raise _did_not_start(log) from error
    if signal.getsignal(signal.SIGINT) is not before:
        _interrupt_anyway()
    return spark


def _interrupt_anyway() -> None:
    """Let Ctrl-C interrupt even if PySpark, which first cancels jobs, meets a dead JVM."""
    theirs = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        JVM.is_trusted = False  # what is broken off may go on in it
        try:
            if callable(theirs) and not JVM.has_ended():
                theirs(number, frame)
        except Exception as error:
            raise KeyboardInterrupt from error
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)


def _gateway(
    parts: JvmParts, options: Sequence[str], confs: Mapping[str, str], log: Path
) -> JavaGateway:
    """Start the JVM; it reads secrets from files, because all users can see command lines."""
    from pyspark import SparkConf
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    secret = secret_confs(confs)
    _write(parts.log4j, _LOG4J)
    _write(parts.arguments, "\n".join(map(_argument, options)))
    _write(parts.properties, properties_text(secret))
    conf = SparkConf(loadDefaults=False)
    conf.setAll([(key, value) for key, value in confs.items() if key not in secret])
    before = {name: os.environ.get(name) for name in (_SUBMIT_ARGUMENTS, _LAST_CLASS_PATH)}
    if secret:
        file = f"--load-spark-defaults --properties-file {shlex.quote(str(parts.properties))}"
        os.environ[_SUBMIT_ARGUMENTS] = f"{file} {before[_SUBMIT_ARGUMENTS] or 'pyspark-shell'}"
    if parts.last_jars and _CLASS_PATH in confs:
        last = filter(None, (before[_LAST_CLASS_PATH], *parts.last_jars))
        os.environ[_LAST_CLASS_PATH] = os.pathsep.join(last)
    reading, writing = os.pipe()
    copying = LogCopy(reading, log)
    copying.start()
    try:
        # signals to our whole group are ours to hear first: they would kill it under its statement
        group = {"process_group": 0} if os.name == "posix" else {}
        kwargs = {"stdout": writing, "stderr": writing, **group}
        made = launch_gateway(conf=conf, popen_kwargs=kwargs)
    except PySparkRuntimeError as error:
        raise _did_not_start(log) from error
    finally:
        os.close(writing)
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})
    JVM.started(made.proc, log, copying)
    return made


def secret_confs(confs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that must stay hidden from other users."""
    return {key: value for key, value in confs.items() if mask_value(key, value) != value}


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


def _argument(option: str) -> str:
    """Return an option in the format of java argument files."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def properties_text(confs: Mapping[str, str]) -> str:
    r"""Return settings in the format of Java properties files.

    >>> properties_text({"a b": "c:\\d", "e": " f\n"})
    'a\\ b=c\\:\\\\d\ne=\\ f\\n\n'
    """
    lines = (map(_property, pair) for pair in confs.items())
    return "".join(f"{key}={value}\n" for key, value in lines)


def _property(text: str) -> str:
    plain = re.sub(r"[\\ :=#!]", r"\\\g<0>", text)
    return plain.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _did_not_start(log: Path) -> EnvironmentMissingError:
    return EnvironmentMissingError(
        "spark-did-not-start",
        f"Spark's JVM ended before it was ready; its output is in {log}",
        hint="penstock doctor",
    )


@dataclass(frozen=True, slots=True)
class JvmParts:
    """The start parameters of the JVM; `outside` are options from the environment for every JVM.

    `folder` has files that it reads when it starts.
    """

    jars: tuple[str, ...]
    folder: Path
    archive: Path
    outside: str = ""
    last_jars: tuple[str, ...] = ()
    """Jars behind Spark's own: in front, they would make the archive useless."""

    @property
    def log4j(self) -> Path:
        """The file with its log settings."""
        return self.folder / "log4j2.properties"

    @property
    def properties(self) -> Path:
        """The file with Spark settings that look secret."""
        return self.folder / "spark.properties"

    @property
    def arguments(self) -> Path:
        """The file with Java options that look secret."""
        return self.folder / "java.options"


def spark_confs(settings: LaunchSettings, parts: JvmParts) -> dict[str, str]:
    """Return every setting of the JVM; the user's configuration overrides our defaults."""
    user = settings.whole_spark.conf
    is_local = settings.spark.master.startswith("local")
    local = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * cores(settings.spark.master)),
        # files that are named one by one are asked for one by one, which a job does no faster here
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    }
    jars, separator = (_CLASS_PATH, os.pathsep) if is_local else ("spark.jars", ",")
    last = () if is_local else parts.last_jars  # of a local one, `_gateway` puts them last
    return {
        **_DEFAULTS,
        "spark.sql.warehouse.dir": settings.warehouse,
        **(local if is_local else {}),
        **user,
        **ALWAYS,
        "spark.master": settings.spark.master,
        "spark.driver.memory": settings.spark.driver_memory,
        **(
            {_MORE_JAVA_OPTIONS: more}
            if (more := _open_options(settings, _MORE_JAVA_OPTIONS))
            else {}
        ),
        _JAVA_OPTIONS: java_options(settings, parts),
        jars: separator.join(filter(None, (*parts.jars, *last, user.get(jars)))),
    }


def java_options(settings: LaunchSettings, parts: JvmParts) -> str:
    """Return the JVM's options; the user's come last, so that they take precedence.

    Few cores gain from the serial collector. The archive matches only the class path of its
    training.
    """
    spark = settings.spark
    theirs = _open_options(settings, _JAVA_OPTIONS)
    ours = [f"-Dlog4j2.configurationFile=file:{parts.log4j}"]
    more = _open_options(settings, _MORE_JAVA_OPTIONS)
    if not any("-XX:ReservedCodeCacheSize=" in each for each in (theirs, more, parts.outside)):
        ours.append(CODE_CACHE)
    if spark.master.startswith("local"):
        ours.append("-Djava.net.preferIPv4Stack=true")
        if cores(spark.master) <= _FEW_CORES and not _COLLECTOR.search(theirs):
            ours.append("-XX:+UseSerialGC")
        if parts.archive.is_file() and not (_ARCHIVE.search(theirs) or _CLASS_PATH in spark.conf):
            ours.append(f"-XX:SharedArchiveFile={parts.archive}")
    ours += [f"@{parts.arguments}"] * bool(secret_options(settings))
    return " ".join((*ours, theirs)).strip()


def secret_options(settings: LaunchSettings) -> list[str]:
    """Return the user's Java options that look secret."""
    texts = (settings.spark.conf.get(key, "") for key in (_MORE_JAVA_OPTIONS, _JAVA_OPTIONS))
    return [
        each for text in texts if mask(text) != text for each in _split(text) if mask(each) != each
    ]


def _open_options(settings: LaunchSettings, key: str) -> str:
    text = settings.spark.conf.get(key, "")
    if mask(text) == text:
        return text
    return shlex.join(each for each in _split(text) if mask(each) == each)


def _split(text: str) -> list[str]:
    """Split options as Spark does."""
    try:
        return shlex.split(text)
    except ValueError:  # a quote without its partner: the JVM will say so
        return text.split()


def cores(master: str) -> int:
    """Return the number of threads of a local master.

    >>> cores("local[3]")
    3
    """
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1
