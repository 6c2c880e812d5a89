"""`penstock status` on a million partitions of which none changed, beside a loop over their rows.

1,000 models with 1,000 days each, three upstreams each. Both sides are whole processes without
Java, with a warm parse cache; they must come to the same verdicts, also after a few records were
spoilt. Measured twice: as a backfill of one model after the other leaves the records, and as runs
of all models month by month leave them, whose oldest steps read older versions than there are now.

python bench/status_1m.py [--keep] [MODELS DAYS]
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from timing import spread

ROUNDS = 3
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
NO_JAVA = {**os.environ, "PATH": "/nowhere", "JAVA_HOME": ""}
# A small process in between: the peak of a child begins with what its parent holds.
WATCH = """
import json, os, subprocess, sys, time
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:])
_, code, used = os.wait4(child.pid, 0)
seconds = time.perf_counter() - began
told = [code, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
print(json.dumps(told), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What a process printed and cost: seconds by the clock and of the processor, peak MB."""

    text: str
    seconds: float
    cpu: float
    peak_mb: float


def main(flags: list[str], models: int, days: int) -> None:
    """Generate, measure in turn, spoil, compare."""
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    here = str(Path(__file__).resolve())
    watched([sys.executable, here, "--generate", str(root), str(models), str(days)], root)
    naive = [sys.executable, str(Path(here).with_name("drift_naive.py")), str(root)]
    try:
        _measure("backfilled model by model", root, naive, models * days)
        _grow(root)
        _measure("built month by month", root, naive, models * days)
        _spoil(root)
        found = verdicts(root, naive)
        print(f"verdicts equal; after spoiling some records {found['drifted']:,} on both sides")
    finally:
        if "--keep" in flags:
            print(root)
        else:
            shutil.rmtree(root, ignore_errors=True)


def _measure(what: str, root: Path, naive: list[str], partitions: int) -> None:
    """Run both sides in turn and compare what they say."""
    ours = [PENSTOCK, "status"]
    watched(ours, root)
    rounds = [(watched(ours, root), watched(naive, root)) for _ in range(ROUNDS)]
    assert {mine.text.strip() for mine, _ in rounds} == {"All current ✓"}
    assert verdicts(root, naive) == {"partitions": partitions, "drifted": 0, "states": {}}
    print(f"{partitions:,} partitions, {what}:")
    _tell(rounds)


def watched(words: list[str], root: Path) -> Told:
    """Run a process without Java and tell what it cost."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", WATCH, *words],
        cwd=root,
        env=NO_JAVA,
        capture_output=True,
        check=False,
        text=True,
    )
    code, seconds, cpu, peak = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return Told(done.stdout, seconds, cpu, peak)


def verdicts(root: Path, naive: list[str]) -> dict[str, object]:
    """Give the verdicts of both sides, which must be the same."""
    document = json.loads(watched([PENSTOCK, "status", "--json"], root).text)
    states: Counter[str] = Counter()
    for model in document["models"]:
        for state in model["states"]:
            if not state["pending"]:
                states[f"{model['model']} {state['state']}"] += state["count"]
    ours = {
        "partitions": document["partitions"],
        "drifted": document["drifted"],
        "states": dict(states),
    }
    theirs = json.loads(watched(naive, root).text)
    assert ours == theirs, (ours, theirs)
    return theirs


def _tell(rounds: list[tuple[Told, Told]]) -> None:
    for place, name in enumerate(("penstock status", "row by row")):
        told = [pair[place] for pair in rounds]
        peak = max(each.peak_mb for each in told)
        cpu = spread(each.cpu for each in told)
        seconds = spread(each.seconds for each in told)
        print(f"{name:<16} {seconds}  processor {cpu}  peak {peak:6.0f} MB")
    ratios = sorted(naive.seconds / mine.seconds for mine, naive in rounds)
    ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    aims = "aim >= 4; <= 4 s month by month, 2 s backfilled; <= 1,024 MB"
    print(f"ratio {ratio}  ({aims})  load {os.getloadavg()[0]:.1f}", flush=True)


def _grow(root: Path) -> None:
    """Let every step have read its upstreams as they were after the step of the same month."""
    with contextlib.closing(sqlite3.connect(root / ".penstock/state.db")) as database, database:
        database.execute(
            "UPDATE step_inputs SET pinned_version = (SELECT commit_version FROM steps "
            "WHERE steps.step_seq = step_inputs.step_seq) "
            "WHERE input IN (SELECT name FROM models)"
        )


def _spoil(root: Path) -> None:
    """Let executions have failed, records be gone, SQL be other, and an upstream be newer."""
    with contextlib.closing(sqlite3.connect(root / ".penstock/state.db")) as database, database:
        first = database.execute("SELECT min(ord) FROM partition_state").fetchone()[0]
        some = "model_id = ? AND ord BETWEEN ? AND ?"
        for statement, model, low, high in (
            ("UPDATE partition_state SET status = 'FAILED'", 2, first, first + 4),
            ("DELETE FROM partition_state", 3, first + 7, first + 9),
            ("UPDATE partition_state SET commit_version = 1000", 4, first + 20, first + 22),
        ):
            database.execute(f"{statement} WHERE {some}", (model, low, high))
        database.execute("UPDATE fingerprints SET canonical_checksum = 'x' WHERE model_id = 5")


def generate(root: Path, models: int, days: int) -> None:
    """Write the project, its records and its logs; the parse cache is warm afterwards."""
    from drift_place import Shape, write_project, write_world

    shape = Shape(models, days)
    write_project(root, shape)
    write_world(root, shape)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word.startswith("--")]
    plain = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--generate" in given:
        generate(Path(plain[0]), int(plain[1]), int(plain[2]))
    else:
        main(given, *(int(word) for word in plain or ("1000", "1000")))
