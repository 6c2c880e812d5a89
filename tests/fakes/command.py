"""`penstock` in a process of its own, which can be stopped, woken, interrupted and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fakes import attached
from fakes.forked import Forked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
_ON_ANOTHERS_JVM = (sys.executable, "-P", attached.__file__)  # -P: its folder holds no modules
_PATIENCE_SECONDS = 180
_LOOK_AGAIN_SECONDS = 0.05

_ALIVE: set[int] = set()
"""Processes in the JVM of the tests; what they hold there must stay."""

Found = TypeVar("Found")


class Command:
    """`penstock WORDS` in a project's folder, with what it prints.

    With a session of `spark` it is forked, and works in that session's JVM, which outlives it;
    without one it starts and takes down a JVM of its own, which costs ten seconds more.
    """

    def __init__(
        self,
        root: Path,
        *words: str,
        spark: SparkSession | None = None,
        fault: str = "",
        within: tuple[str, ...] = (),
    ) -> None:
        environ = os.environ | ({"PENSTOCK_FAULT": fault} if fault else {})
        if spark:
            environ |= attached.address(spark)
        self._spark = spark
        self._process: subprocess.Popen[str] | Forked
        if spark and not within:
            self._process = Forked(root, words, dict(environ))
        else:
            self._process = subprocess.Popen(
                [*within, *program(spark), *words],
                cwd=root,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        if spark:
            _ALIVE.add(self.pid)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def jvm(self) -> int:
        """Give the number of the JVM that the process started."""
        found = [
            int(child)
            for task in Path(f"/proc/{self.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        (java,) = [each for each in found if Path(f"/proc/{each}/comm").read_text() == "java\n"]
        return java

    def wait_until(self, what: Callable[[], Found]) -> Found:
        """Wait for something that happens while the process lives."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not (found := what()):
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < end
            time.sleep(_LOOK_AGAIN_SECONDS)
        return found

    def wait_until_stopped(self) -> None:
        """Wait for the fault point that stops the process."""
        self.wait_until(lambda: state_of(self.pid) == "T")

    def send(self, sent: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self.pid, sent)

    def kill_jvm(self) -> None:
        """Kill the process's Java with SIGKILL, and wait until it is gone."""
        pid = self.jvm()
        os.kill(pid, signal.SIGKILL)
        wait_until_gone(pid)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._process.kill()
        self._process.communicate()
        self._sweep()

    def ended(self) -> tuple[int, str]:
        """Let the process go on, if it was stopped, to its end; give its exit code and output."""
        with suppress(ProcessLookupError):  # it may have ended by itself
            self.send(signal.SIGCONT)
        try:
            output, _ = self._process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            self._process.kill()
        self._sweep()
        return self._process.returncode, output

    def _sweep(self) -> None:
        """Drop what the process left in the JVM: with one of its own it would be gone."""
        if self._spark is None:
            return
        if self._process.returncode == -signal.SIGKILL:
            self._spark.catalog.clearCache()
        _ALIVE.discard(self.pid)
        if all(state_of(each) in ("Z", "") for each in _ALIVE):
            attached.drop_strangers(self._spark)


def kill_at(fault: str, root: Path, *words: str, spark: SparkSession | None = None) -> None:
    """Run a command until its fault point kills it."""
    code, output = Command(root, *words, spark=spark, fault=fault).ended()
    assert code == -signal.SIGKILL, output


def program(spark: SparkSession | None) -> tuple[str, ...]:
    """Give how `penstock` is called: the way a user does, or attached to a session's JVM."""
    return _ON_ANOTHERS_JVM if spark else (PENSTOCK,)


def state_of(pid: int) -> str:
    """Give the letter of a process's state: T stopped, Z ended and not waited for, "" gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return ""


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while state_of(pid) not in ("Z", ""):
        assert time.monotonic() < end
        time.sleep(_LOOK_AGAIN_SECONDS)
