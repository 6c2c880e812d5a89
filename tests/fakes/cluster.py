"""A standalone cluster of Spark: a master and two workers, each a process of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from fakes.metastore import free_port

_PATIENCE_SECONDS = 60
_CLASS = "org.apache.spark.deploy"
_EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass
class Cluster:
    """The processes; `url` is the master's."""

    folder: Path
    port: int = field(default_factory=free_port)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start all of them, and wait until the master listens."""
        ports = ["--port", str(self.port), "--webui-port", str(free_port())]
        self._spawn("master.Master", "--host", "127.0.0.1", *ports)
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end:
            with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), 1)):
                break
            time.sleep(0.2)
        for number in range(2):
            work = ["--work-dir", str(self.folder / f"work{number}")]
            size = ["--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
            self._spawn("worker.Worker", "--host", "127.0.0.1", *work, *size, self.url)

    def executors(self, worker: int) -> list[int]:
        """Return the numbers of the executors that a worker has started."""
        mine = str(self.folder / f"work{worker}").encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_one = _EXECUTOR in (each / "cmdline").read_bytes()
                if is_one and os.fsencode((each / "cwd").readlink()).startswith(mine):
                    found.append(int(each.name))
        return found

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executors, as when a machine is lost."""
        executors = self.executors(number)
        self.running[1 + number].kill()
        for each in executors:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    def stop(self) -> None:
        """End everything."""
        for number in range(2):
            for each in self.executors(number):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
        for process in self.running:
            process.kill()
            process.wait()

    def _spawn(self, name: str, *words: str) -> None:
        program = Path(pyspark.__file__).with_name("bin") / "spark-class"
        environ = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with (self.folder / "cluster.log").open("ab") as log:
            command = [program, f"{_CLASS}.{name}", *words]
            self.running.append(subprocess.Popen(command, stdout=log, stderr=log, env=environ))
