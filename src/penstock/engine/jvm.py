"""The JVM of this process: its output, and whether it is alive."""

from __future__ import annotations

import io
import logging
import os
import re
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.core.errors import PenstockError, SparkDiedError
from penstock.core.masking import mask

_CHUNK = 1 << 16
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
    """Something in a log that a healthy JVM does not print, how often, and a remedy."""

    says: str
    times: int
    hint: str


def signs_in(log: Path) -> tuple[Sign, ...]:
    """Return the signs in a log; of a large one only the first and last megabytes are read."""
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
    """Return a warning for each sign in a run's log, with its remedy."""
    return tuple(
        f"spark-in-trouble: Spark's log says '{sign.says}'"
        + (f" ({sign.times} times)" if sign.times > 1 else "")
        + f": {log}; {sign.hint}"
        for sign in signs_in(log)
    )


def newest_with_signs(folder: Path) -> tuple[Path, tuple[Sign, ...]] | None:
    """Return the newest of the last five logs that has a sign; logs are sorted by name."""
    logs = sorted(folder.glob("*.log"), reverse=True)[:5]
    found = ((log, signs_in(log)) for log in logs)
    return next((each for each in found if each[1]), None)


def _private(path: str, flags: int) -> int:
    """Open a file; a new one is readable only by its owner."""
    return os.open(path, flags, 0o600)


class LogCopy(threading.Thread):
    """Copies a pipe to a log without secrets, line by line, until its end."""

    def __init__(self, source: int, log: Path) -> None:
        """Store the file descriptor to read from; it is closed at its end."""
        super().__init__(name="penstock-log", daemon=True)
        self.source, self._log, self.is_over = source, log, False
        self._woken, self._wake = os.pipe()

    def run(self) -> None:
        """Copy until the end, or until `leave`."""
        rest = b""
        log = self._log
        with open(log, "ab", 0, opener=_private) as file, selectors.DefaultSelector() as waiting:
            for each in (self.source, self._woken):
                waiting.register(each, selectors.EVENT_READ)
            while self.source in {key.fd for key, _ in waiting.select()}:
                chunk = os.read(self.source, _CHUNK)
                if not chunk:
                    self.is_over = True
                    break
                whole, newline, rest = (rest + chunk).rpartition(b"\n")
                lines = io.BytesIO(whole + newline)
                file.writelines(mask(line.decode("utf-8", "replace")).encode() for line in lines)
            file.write(mask(rest.decode("utf-8", "replace")).encode())
        for each in (self._woken, self.source) if self.is_over else (self._woken,):
            os.close(each)

    def leave(self) -> bool:
        """Copy the available text, keep the source open; return False if it is at its end."""
        os.close(self._wake)
        self.join()
        return not self.is_over


_PATIENCE_SECONDS = 10.0
_LAST_WORDS_SECONDS = 1.0
_KILLED_BY_SYSTEM = -9
_RUN_AGAIN = "what was committed is kept; run again"
_OUT_OF_MEMORY = (
    "systems kill what takes too much memory: lower driver_memory of the target's spark, "
    "or --threads, and run again"
)


UNTOLD = 256
"""The exit code of a process that is not our child."""


class JvmProcess(Protocol):
    """The common interface of a `Popen` and of a JVM that another command started."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit code; None while it is alive."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""

    def kill(self) -> None:
        """End it now."""


class StartedJvm:
    """The one JVM of this process; not one that other code started.

    `is_trusted` is true until work in it was interrupted, because that work may still continue.
    """

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._process: JvmProcess | None = None
        self.log: Path | None = None
        self.copying: LogCopy | None = None
        self.is_trusted = True

    def started(self, process: JvmProcess, log: Path, copying: LogCopy | None = None) -> None:
        """Remember the process, its log, and who writes there what it says."""
        self._process, self.log, self.copying = process, log, copying
        self.is_trusted = True

    def has_ended(self, *, soon: bool = False) -> bool:
        """Return whether the JVM was started and has ended; with `soon` it is given time to end."""
        if soon and self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_SECONDS)
        return self._process is not None and self._process.poll() is not None

    def is_lost(self, error: BaseException) -> bool:
        """Return whether an error comes from a JVM that has ended.

        A JVM that closes its connections is ending: wait for it, and kill it if it stays, so that
        it cannot commit after the answer.
        """
        if isinstance(error, PenstockError):
            return isinstance(error, SparkDiedError)
        if self._process is None:
            return _is_cut_off(error)
        if not self.has_ended() and _is_cut_off(error):
            try:
                self._process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.has_ended()

    def lost(self) -> SparkDiedError:
        """Return the error that says how the JVM ended and where its log is."""
        if self._process is None or self.log is None:
            return SparkDiedError("spark-died", "Spark's JVM does not answer", hint=_RUN_AGAIN)
        code = self._process.poll()
        killed = code is not None and code < 0
        how = f"was killed (signal {-(code or 0)})" if killed else f"ended (exit code {code})"
        if code == UNTOLD:
            how = "ended"
        if self.copying is not None and code is not None:
            self.copying.join(_LAST_WORDS_SECONDS)
        hint = _OUT_OF_MEMORY if code in (_KILLED_BY_SYSTEM, UNTOLD) else _RUN_AGAIN
        if signs := signs_in(self.log):
            how += f" after saying '{signs[0].says}'"
            hint = f"{signs[0].hint}; then run again"
        sentence = f"Spark's JVM {how}; its log is {self.log}"
        return SparkDiedError("spark-died", sentence, hint=hint)

    def kill(self) -> None:
        """End it now, if it lives."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_PATIENCE_SECONDS)

    def let_go(self, release: Callable[[], object]) -> None:
        """Release an object in the JVM; if the JVM is gone, the object is too."""
        if self.has_ended():
            return
        try:
            release()
        except Exception as error:
            if not self.is_lost(error):
                raise

    def forget(self) -> None:
        """Let this process start another JVM in place of the one that is gone."""
        self._process = self.log = self.copying = None
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
    """Return whether an error means that the connection to a JVM broke."""
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
    """Stop Py4J from printing the stack of every failed call: the error is reported anyway.

    It writes to the root logger and to its own, whose records no filter of the root sees.
    """
    for name in ("", "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_is_not_py4j)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


class _NumpyAlone:
    """A PySpark converter that is called only for numpy values: it imports pandas."""

    def __init__(self, theirs: Any) -> None:  # noqa: ANN401  Py4J has no types
        """Wrap one of the converters."""
        self.convert, self._can_convert = theirs.convert, theirs.can_convert

    def can_convert(self, value: object) -> bool:
        """Return whether the value is a numpy value of a supported kind."""
        rooms = {each.__module__.partition(".")[0] for each in type(value).__mro__}
        return "numpy" in rooms and bool(self._can_convert(value))


def numpy_alone() -> None:
    """Pass numbers to Java without importing pandas, which takes a third of a second."""
    from py4j.protocol import INPUT_CONVERTER
    from pyspark.sql import types  # it registers them

    theirs = types.NumpyScalarConverter, types.NumpyArrayConverter
    INPUT_CONVERTER[:] = [
        _NumpyAlone(each) if isinstance(each, theirs) else each for each in INPUT_CONVERTER
    ]


def end_behind(server: Any) -> None:  # noqa: ANN401  one of two kinds of PySpark's
    """Stop waiting for a server that checks only every half second whether to end."""
    end = server.shutdown
    server.shutdown = lambda: threading.Thread(target=end, daemon=True).start()


JVM = StartedJvm()
