"""Processes that start at once: forked from one that has loaded all that a command loads."""

from __future__ import annotations

import atexit
import subprocess
import tempfile
from multiprocessing import get_context
from pathlib import Path

from fakes.attached import run

_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "penstock.ui.cli.main",
        *("alembic.command", "alembic.config", "deltalake", "jinja2", "pyarrow", "pydantic"),
        *("pyspark.sql", "rich.console", "sqlalchemy", "sqlglot", "yaml"),
    ]
)


class Forked:
    """A command on another's JVM, with as much of `Popen` as `Command` asks of it."""

    def __init__(self, root: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self._output = Path(file.name)
        given = (str(root), words, environ, file.name)
        self._process = _SERVER.Process(target=run, args=given, daemon=True)
        self._process.start()
        atexit.register(self.kill)  # one that is stopped would be waited for until it is woken

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for the end; give what was printed."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("penstock", timeout or 0)
        output = self._output.read_text(encoding="utf-8")
        self._output.unlink(missing_ok=True)
        return output, None
