"""`penstock status` after one commit of somebody else on a log of 10,000, beside without it.

Whole processes without Java. The logs have a checkpoint nine commits before their end, and .crc
files, as Spark leaves them.

python bench/tail.py [COMMITS]
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from deltalake import DeltaTable
from drift_log import Log
from drift_place import Shape, model_name, write_project, write_world
from status_1m import PENSTOCK, watched

ROUNDS = 5
DAYS = 100


def main(commits: int) -> None:
    """Measure with a commit on the table, with one on its source, and with none."""
    shape = Shape(1, DAYS, layers=1, sources=3, before=commits - 4, delivered=commits)
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        write_project(root, shape)
        write_world(root, shape)
        tables = {
            "tampered": root / "warehouse/mart" / model_name(0),
            "source_changed": root / "lake/events_00",
        }
        for table in {*tables.values(), *(root / "lake").iterdir()}:
            DeltaTable(str(table), version=commits - 9).create_checkpoint()
        for state, table in tables.items():
            _compare(root, shape, table, state)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _compare(root: Path, shape: Shape, table: Path, state: str) -> None:
    """Run with and without the commit in turn; it is taken away again."""
    last = max(int(file.stem) for file in (table / "_delta_log").glob("*.json"))
    before, after = [], []
    for number in range(ROUNDS + 1):
        before.append(_status(root, ""))
        log = Log(table, DeltaTable(str(table)).metadata().id, version=last)
        log.replace("", shape.day(number), "UPDATE")
        after.append(_status(root, state))
        for file in (table / "_delta_log").glob(f"{last + 1:020d}.*"):
            file.unlink()
    ratio = statistics.median(b / a for a, b in zip(before[1:], after[1:], strict=True))
    print(
        f"{state:<15} log of {last + 1:,}: without {statistics.median(before[1:]):.2f} s, "
        f"after one commit {statistics.median(after[1:]):.2f} s, ratio {ratio:.2f}  (aim <= 1.5)",
        flush=True,
    )


def _status(root: Path, state: str) -> float:
    """Give the seconds of a status that must find one partition in a state, or none."""
    told = watched([PENSTOCK, "status", "--json"], root)
    found = [s for model in json.loads(told.text)["models"] for s in model["states"]]
    assert [(s["state"], s["count"]) for s in found] == ([(state, 1)] if state else []), found
    return told.seconds


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10_000)
