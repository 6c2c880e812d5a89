"""A session package run day by day, beside plain SQL that makes all tables anew.

    python sessions.py [--rows 10000000] [--days 90] [--rounds 3]

Prints JSON, and ends with 1 if a bound of the spec is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from commands import NO_JAVA, PENSTOCK
from place import Place, start_spark
from session_place import SessionBench
from session_reads import EventReads

Seconds = list[float]


def seconds_of(work: Callable[[], object]) -> float:
    """Do it once."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main(rows: int, days: int, rounds: int) -> int:
    """Run every day; then make everything anew by hand, and compare."""
    place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"))
    try:
        bench = SessionBench(place, rows, days)
        runs: Seconds = []
        reads = EventReads(place)
        for day in range(days):
            bench.deliver(day)
            run = partial(bench.run, day)
            runs.append(seconds_of(partial(reads.watch, run) if day == days - 1 else run))
            print(f"day {day + 1:3}  {runs[-1]:6.2f} s", file=sys.stderr, flush=True)
        anew = [seconds_of(bench.by_hand) for _ in range(rounds)]
        idle = _idle(place)
        found = _report(bench, runs, anew, idle, reads)
        found["rows that differ"] = bench.differing()
    finally:
        place.close()
    found["sizes"] = {"rows": rows, "days": days, "cores": len(os.sched_getaffinity(0))}
    print(json.dumps(found, indent=2))
    return 0 if all(each["holds"] for each in found["bounds"]) else 1


def _idle(place: Place) -> Seconds:
    """Time whole processes of a run with nothing to do; there is no Java on the path."""
    words = [PENSTOCK, "run", "--select", "web"]

    def call() -> None:
        told = subprocess.run(words, cwd=place.root, env=NO_JAVA, capture_output=True, check=False)
        assert told.returncode == 0, told.stdout.decode() + told.stderr.decode()

    return [seconds_of(call) for _ in range(5)]


def _report(
    bench: SessionBench, runs: Seconds, anew: Seconds, idle: Seconds, reads: EventReads
) -> dict[str, object]:
    ten = min(10, len(runs) // 3)
    first, last = statistics.median(runs[ten : 2 * ten]), statistics.median(runs[-ten:])
    hand = statistics.median(anew)
    eight = bench.events_size(range(bench.days - 8, bench.days))
    bounds = [
        (f"last {ten} runs / runs {ten + 1} to {2 * ten}", last / first, "<=", 1.3),
        ("made anew / last runs", hand / last, ">=", 5.0),
        ("bytes of events read by the last run / eight days", reads.size / eight, "<=", 1.0),
        ("seconds of a run with nothing to do", statistics.median(idle), "<=", 2.0),
    ]
    return {
        "seconds": {"first": first, "last": last, "anew": hand, "runs": runs},
        "last run": {"jobs": reads.jobs, "scans of events": reads.scans},
        "milliseconds": dict(reads.statements.most_common(40)),
        "bounds": [
            {
                "what": what,
                "is": round(value, 3),
                "bound": f"{sign} {bound}",
                "holds": value <= bound if sign == "<=" else value >= bound,
            }
            for what, value, sign, bound in bounds
        ],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--rounds", type=int, default=3, help="of the tables made anew")
    asked = parser.parse_args()
    sys.exit(main(asked.rows, asked.days, asked.rounds))
