"""The JVM that this process started: whether it still lives, and what is said when it does not."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import PenstockError, SparkDiedError

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


_PATIENCE_SECONDS = 10.0
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

    def started(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Remember the process and the log that it writes to."""
        self._process, self._log = process, log

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
    """Keep Py4J from printing the stack of every call that met a dead JVM: the error is told."""
    logging.getLogger().addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


JVM = StartedJvm()
