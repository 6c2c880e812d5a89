"""A command in a process of its own whose JVM is killed while it waits at a fault point."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_PENSTOCK = Path(sys.executable).with_name("penstock")
_PATIENCE_SECONDS = 90


class Command:
    """`penstock WORDS` in a project's folder, with what it prints."""

    def __init__(self, root: Path, *words: str, fault: str = "") -> None:
        asked = {"PENSTOCK_FAULT": fault} if fault else {}
        self._process = subprocess.Popen(
            [str(_PENSTOCK), *words],
            cwd=root,
            env=os.environ | asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_stopped(self) -> None:
        """Wait for the fault point that stops the process."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while _state_of(self._process.pid) != "T":
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)

    def kill_jvm(self) -> None:
        """Kill the process's Java with SIGKILL, and wait until it is gone."""
        pid = self._jvm()
        os.kill(pid, signal.SIGKILL)
        while _state_of(pid) not in ("Z", ""):
            time.sleep(0.02)

    def send(self, sent: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self._process.pid, sent)

    def ended(self) -> tuple[int, str]:
        """Let the process go on to its end; give its exit code and all it printed."""
        self.send(signal.SIGCONT)
        try:
            told, _ = self._process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            self._process.kill()
        return self._process.returncode, told

    def _jvm(self) -> int:
        pid = self._process.pid
        found = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        (java,) = [each for each in found if Path(f"/proc/{each}/comm").read_text() == "java\n"]
        return java


def _state_of(pid: int) -> str:
    """Give the letter of a process's state: T stopped, Z ended and not waited for, "" gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return ""
