"""A session package run day by day, beside plain SQL that makes all tables anew.

    python sessions.py [--rows N] [--days N] [--late N] [--leap A B] [--keep DIR [--minutes N]]
                       [--anew DAY…]

With `--keep` the place stays, and goes on where it stopped: with `--minutes` it stops in between.
Of a thousand rows, `--late` come a week after the others, and their sessions are built again.
With `--leap 20 80` the days 21 to 80 come at once, and are caught up with. Prints JSON, and ends
with 1 if a bound of the spec is missed, with 3 while days are left.
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
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from commands import NO_JAVA, PENSTOCK
from place import Place, start_spark
from session_place import SessionBench
from session_reads import EventReads

COLD = 2
"""So many runs of a process are not counted: its JVM is not warm yet."""
LEFT = 3


def seconds_of(work: Callable[[], object]) -> float:
    """Do it once."""
    started = time.perf_counter()
    work()
    return round(time.perf_counter() - started, 3)


@dataclass(frozen=True)
class Asked:
    """What is measured: rows over days, and after which days the tables are made anew."""

    rows: int
    days: int
    leap: tuple[int, int]
    anew: tuple[int, ...]
    rounds: int
    minutes: float
    late: int = 1


@dataclass
class DayRun:
    """The run of a day: its seconds, whether the JVM was warm, what it read of the events.

    `processor` are the seconds of all cores that it took, Spark's threads among them.
    """

    day: int
    seconds: float
    warm: bool
    jobs: int
    files: int
    size: int
    processor: float = 0.0


@dataclass
class Measured:
    """All that was measured so far, kept beside the place between two processes."""

    runs: list[DayRun] = field(default_factory=list)
    anew: dict[str, list[float]] = field(default_factory=dict)
    idle: list[float] = field(default_factory=list)
    differ: dict[str, int] = field(default_factory=dict)
    statements: dict[str, int] = field(default_factory=dict)

    @classmethod
    def kept(cls, file: Path) -> Measured:
        """Give what was measured before, nothing at first."""
        if not file.is_file():
            return cls()
        found = json.loads(file.read_text())
        return cls(**{**found, "runs": [DayRun(**each) for each in found["runs"]]})

    def warm(self, days: range) -> list[DayRun]:
        """Give the runs of some days in a warm JVM."""
        return [each for each in self.runs if each.warm and each.day in days]

    def next_day(self) -> int:
        """Give the day after the last one that was run."""
        return self.runs[-1].day + 1 if self.runs else 0


def measure(asked: Asked, place: Place) -> int:
    """Run day after day, now and then make everything anew; go on where it stopped before."""
    file, until = place.root / "measured.json", time.monotonic() + 60 * asked.minutes
    found, bench = Measured.kept(file), SessionBench(place, asked.rows, asked.days, asked.late)
    made, (first, end) = 0, asked.leap
    while (day := found.next_day()) < asked.days:
        if time.monotonic() > until:
            print(f"{asked.days - day} days are left", file=sys.stderr)
            return LEFT
        leaps, reads = day == first < end, EventReads(place)
        day = end - 1 if leaps else day
        bench.deliver(first if leaps else day, day)
        work = partial(bench.catch_up if leaps else bench.run, day)
        before, warm = reads.processor(), made >= COLD and not leaps
        took = seconds_of(partial(reads.watch, work))
        cores = round(reads.processor() - before, 2)
        found.runs.append(DayRun(day, took, warm, reads.jobs, reads.files, reads.size, cores))
        found.statements, made = dict(reads.statements.most_common(40)), made + 1
        print(f"day {day + 1:3}  {took:6.2f} s  {reads.jobs} jobs", file=sys.stderr, flush=True)
        file.write_text(json.dumps(asdict(found)))
        if day + 1 in (*asked.anew, asked.days):
            for _ in range(asked.rounds):
                found.anew.setdefault(str(day + 1), []).append(seconds_of(bench.by_hand))
                file.write_text(json.dumps(asdict(found)))
    found.idle, found.differ = _idle(place), bench.differing()
    file.write_text(json.dumps(asdict(found)))
    told = _report(asked, bench, found)
    print(json.dumps(told, indent=2))
    return 0 if all(each["holds"] for each in told["bounds"]) else 1


def _idle(place: Place) -> list[float]:
    """Time whole processes of a run with nothing to do; there is no Java on the path."""
    words = [PENSTOCK, "run", "--select", "web"]

    def call() -> None:
        told = subprocess.run(words, cwd=place.root, env=NO_JAVA, capture_output=True, check=False)
        assert told.returncode == 0, told.stdout.decode() + told.stderr.decode()

    return [seconds_of(call) for _ in range(5)]


def _report(asked: Asked, bench: SessionBench, found: Measured) -> dict[str, list[dict[str, bool]]]:
    ten, days = min(10, asked.days // 3), asked.days
    early, late = found.warm(range(ten, 2 * ten)), found.warm(range(days - ten, days))
    hand = {day: statistics.median(each) for day, each in found.anew.items()}
    first, last = (statistics.median(e.seconds for e in runs) for runs in (early, late))
    read = found.runs[-1].size
    eight = bench.events_size(range(days - 8, days))
    bounds = [
        (f"last {ten} runs / runs {ten + 1} to {2 * ten}", last / first, "<=", 1.2),
        ("made anew / last runs", hand[str(days)] / last, ">=", 5.0),
        ("bytes of events read by the last run / eight days", read / eight, "<=", 1.0),
        ("seconds of a run with nothing to do", statistics.median(found.idle), "<=", 2.0),
        ("rows that differ", sum(found.differ.values()), "<=", 0),
    ]
    told: dict[str, object] = {
        "sizes": {**asdict(asked), "cores": len(os.sched_getaffinity(0))},
        "seconds": {"first": _spread(early), "last": _spread(late), "anew": hand},
        "runs": [asdict(each) for each in found.runs],
        "milliseconds of the last run": found.statements,
        "rows that differ": found.differ,
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
    return told  # type: ignore[return-value]


def _spread(runs: list[DayRun]) -> dict[str, float]:
    seconds = [each.seconds for each in runs]
    return {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "of all cores": statistics.median(each.processor for each in runs),
        "runs": len(seconds),
    }


def main(asked: Asked, keep: Path | None) -> int:
    """Measure in a place that stays, or in one that goes."""
    place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"), keep)
    try:
        return measure(asked, place)
    finally:
        if keep is None:
            place.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--late", type=int, default=1, help="of a thousand rows")
    parser.add_argument("--rounds", type=int, default=3, help="of the tables made anew")
    parser.add_argument("--leap", type=int, nargs=2, default=[0, 0], metavar=("A", "B"))
    parser.add_argument("--anew", type=int, nargs="*", default=[], help="after these days, too")
    parser.add_argument("--keep", type=Path, help="a folder that stays, and goes on")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after these")
    given = parser.parse_args()
    leap, anew = tuple(given.leap), tuple(given.anew)
    wanted = Asked(given.rows, given.days, leap, anew, given.rounds, given.minutes, given.late)
    sys.exit(main(wanted, given.keep and given.keep.resolve()))
