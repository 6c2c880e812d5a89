"""Whole processes on a JVM that waited, beside the same ones that start theirs; in turn.

A project of three small models: a query of one row, a query of a table, a run of all three, and a
run of one of them. Ends with how long a JVM lives on when its command is killed, in both cases.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
PROJECT = """\
name: shop
targets:
  dev:
    spark:
      master: "local[2]"
      driver_memory: 1g
      conf: {spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1"}
"""
KEPT = f"{PROJECT}      keep_warm: 10m\n"
MODELS = {
    "numbers": "select id as n, cast(id % 7 as int) as k from range(100000)",
    "sums": "select k, sum(n) as s from {{ ref('numbers') }} group by k",
    "top": "select k from {{ ref('sums') }} order by s desc limit 1",
}
SLEEP = "select reflect('java.lang.Thread', 'sleep', cast(120000 as bigint)) as slept"
WORK = {
    "query of one row": ("query", "select 1 as a"),
    "query of a table": ("query", "select count(*) as n from m.numbers"),
    "run of one model": ("run", "--select", "top", "--full-refresh"),
    "run of three models": ("run", "--full-refresh"),
}


def seconds(root: Path, settings: str, *words: str) -> float:
    """Run a command with these settings; give how long its process lived."""
    (root / "penstock.yml").write_text(settings)
    began = time.perf_counter()
    subprocess.run([PENSTOCK, *words], cwd=root, check=True, capture_output=True)
    return time.perf_counter() - began


def javas(root: Path) -> set[str]:
    """Give the numbers of the JVMs of a project."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text() == "java\n" and (process / "cwd").readlink() == root:
                found.add(process.name)
    return found


def survived(root: Path, settings: str) -> float:
    """Kill a command in the middle of its query; give for how long its JVM lived on."""
    (root / "penstock.yml").write_text(settings)
    with subprocess.Popen([PENSTOCK, "query", SLEEP], cwd=root) as command:
        time.sleep(12)
        assert len(javas(root)) == 1
        command.send_signal(signal.SIGKILL)
        began = time.perf_counter()
    while javas(root):
        time.sleep(0.02)
    return time.perf_counter() - began


def main() -> None:
    """Print a line for each kind of work: without a JVM that waits, and with one."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    root = folder / "shop"
    (root / "models/m").mkdir(parents=True)
    for name, sql in MODELS.items():
        text = f"{{{{ config(materialized='table') }}}}\n{sql}\n"
        (root / f"models/m/{name}.sql").write_text(text)
    seconds(root, KEPT, "run")
    for what, words in WORK.items():
        times = [
            (seconds(root, PROJECT, *words), seconds(root, KEPT, *words)) for _ in range(ROUNDS)
        ]
        cold, warm = zip(*times, strict=True)
        shown = (f"{median(s):.2f} s ({min(s):.2f} to {max(s):.2f})" for s in (cold, warm))
        print(f"{what}: {' | '.join(shown)}", flush=True)
    print(f"killed: {survived(root, KEPT):.2f} s with keep_warm", flush=True)
    print(f"killed: {survived(root, PROJECT):.2f} s without", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
