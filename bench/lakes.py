"""What a bucket costs: requests of commands that start no JVM, and the processor time of runs.

The server of S3 is moto, on this machine. The baseline of runs is the same project on a disk; the
time is that of the command and its JVM, the server's apart.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from http.client import HTTPConnection
from pathlib import Path

import generate
from commands import NO_JAVA, PENSTOCK, pretend_built

SERVER = Path(__file__).parent.parent / "tests" / "fakes" / "object_server.py"
STORAGE = """\
    storage:
      s3://:
        endpoint: "{endpoint}"
        access_key_id: bench
        secret_access_key: bench
        allow_http: true
"""
PROJECT = """\
name: bench
version: 1
vars: {{start_date: 2024-01-01}}
targets:
  dev:
    warehouse: {warehouse}
    spark: {{master: "local[2]", driver_memory: 1g}}
"""
SOURCES = """\
sources:
  - name: raw
    tables:
      - name: orders
        path: {place}/orders
        format: csv
        options: {{header: "true"}}
        columns: [{{name: id, type: INT}}, {{name: at, type: TIMESTAMP}}]
"""
MODELS = {
    "log": "materialized='append', time_column='at'",
    "best": "materialized='merge', unique_key='id'",
    "total": "materialized='table'",
}
ROUNDS = 5
_SET_CHILD_SUBREAPER = 36


class Server:
    """The server; it counts requests."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes = b"") -> str:
        """Send one request and return the answer."""
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body=body)
        answer = connection.getresponse().read().decode()
        connection.close()
        return answer

    def requests(self) -> list[str]:
        """Return the requests since the last time."""
        return self.ask("GET", "/_requests").splitlines()


def main(models: int) -> None:
    """Count the requests of `status` and `plan`, then time runs."""
    _adopt()
    server = Server()
    try:
        server.ask("PUT", "/lake")
        _count(server, models)
        _time(server)
    finally:
        server.process.kill()
    print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")


def _count(server: Server, models: int) -> None:
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    generate.main(root, models)
    text = PROJECT.format(warehouse="s3://lake/many") + STORAGE.format(endpoint=server.endpoint)
    (root / "penstock.yml").write_text(text)
    pretend_built(root)
    views = len(
        re.findall("materialized='view'", "".join(map(Path.read_text, root.rglob("*.sql"))))
    )
    for word in ("status", "plan"):
        server.requests()
        subprocess.run([PENSTOCK, word], cwd=root, env=NO_JAVA, capture_output=True, check=True)
        found = server.requests()
        what = f"{word}, {models:,} models, {views:,} of them views, {generate.SOURCES} sources"
        print(f"{what}: {len(found):,} requests  (aim <= {2 * models:,})")


def _time(server: Server) -> None:
    places = {}
    for name in ("disk", "bucket"):
        root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        place = f"{root}/lake" if name == "disk" else "s3://lake/few"
        text = PROJECT.format(warehouse=f"{place}/prod")
        text += STORAGE.format(endpoint=server.endpoint) if name == "bucket" else ""
        (root / "models").mkdir()
        (root / "penstock.yml").write_text(text)
        (root / "models" / "raw.yml").write_text(SOURCES.format(place=place))
        for model, settings in MODELS.items():
            query = "select id, at from {{ source('raw', 'orders') }}"
            (root / "models" / f"{model}.sql").write_text(f"{{{{ config({settings}) }}}}\n{query}")
        places[name] = root
    seconds: dict[str, list[float]] = {"disk": [], "bucket": []}
    for number in range(ROUNDS + 1):
        content = f"id,at\n{number},2024-01-01 10:00:{number:02d}\n".encode()
        for name, root in places.items():
            if name == "disk":
                (root / "lake/orders").mkdir(parents=True, exist_ok=True)
                (root / f"lake/orders/{number}.csv").write_bytes(content)
            else:
                server.ask("PUT", f"/lake/few/orders/{number}.csv", content)
                server.requests()
            before = _processor()
            subprocess.run([PENSTOCK, "run"], cwd=root, capture_output=True, check=True)
            _reap(server.process.pid)
            seconds[name].append(_processor() - before)
    found = server.requests()
    ours = sum(not each.startswith("java ") for each in found)
    print(f"run of {len(MODELS)} steps: {ours} requests of penstock, {len(found) - ours} of Spark")
    disk, bucket = (seconds[name][1:] for name in ("disk", "bucket"))
    ratio = statistics.median(b / a for a, b in zip(disk, bucket, strict=True))
    medians = f"{statistics.median(bucket):.1f} s {statistics.median(disk):.1f} s on a disk"
    print(f"run of {len(MODELS)} steps, processor: {medians}  ratio {ratio:.2f}  (aim <= 1.3)")


def _adopt() -> None:
    """Become the parent of processes whose own parent ends: the time of a JVM counts then."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def _reap(apart: int) -> None:
    """Wait for all children but one."""
    children = Path("/proc/self/task", str(os.getpid()), "children")
    while left := [pid for pid in map(int, children.read_text().split()) if pid != apart]:
        os.waitpid(left[0], 0)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
