"""Entities that take slices in, against the statements that one would write by hand.

    python entities.py [--rows N] [--rounds N] [--slices N] [--only NAME,NAME]

Both sides read the same Parquet slices, and every round has slices of its own; who goes first
changes every round. The statements by hand are one MERGE on the key with the clauses of an entity
(SHA-256 over `concat_ws`, no checks, no metrics, no record) and one dynamic overwrite. Prints JSON,
and ends with 1 if a bound is missed.

- `every`, `change`: 1% of the rows in a slice; nine tenths changed and one new beside MERGE, and
  one tenth changed with `last_seen: on_change`.
- `part`: all changed rows lie in one of 100 partitions; the MERGE by hand does not say so.
- `infer`: the same rows with `delete_missing`, a window of 1% of the rows.
- `full`: one of 100 partitions is replaced.
- `hash`: the row hash of 20 columns, of rows that Spark makes.
- `csv`: a tenth of the rows in CSV files replace a table, beside Spark's own read and write of the
  same columns, hash included; `csv bare` writes the read columns alone.
- `small`: many slices of 1,000 rows in one run, beside as many MERGEs.
- `scans`: rows that are scanned to find keys that are gone, of windows and tables of two sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

from entity_place import COLUMNS, HASHED, MERGE, OVERWRITE, PARTS, ROW, EntityBench
from place import Place, start_spark

from penstock.core.columns.schema import Column
from penstock.strategies.values import row_hash

DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
INTERPRETED = {"spark.sql.codegen.hugeMethodLimit": "8000"}
OF_A_SLICE = 1000
COMPARED = ("every", "change", "part", "full", "csv")
SCANNED = ("near", "wide", "narrow")
NAMES = ("every", "change", "part", "infer", "full", "csv", "hash", "small", "scans")


class Measured:
    """Seconds and bytes of every contender, round by round."""

    def __init__(self, bench: EntityBench, only: tuple[str, ...] = NAMES) -> None:
        self.bench, self.only = bench, only
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.written: dict[str, list[int]] = defaultdict(list)
        self.scanned: dict[str, int] = {}
        self.files: dict[str, int] = {}
        self.gone = 0
        self.tables: dict[str, int] = {}

    def take(self, name: str, work: Callable[[], object], folder: str = "") -> None:
        """Measure one contender once."""
        started = time.perf_counter()
        if folder:
            self.written[name].append(self.bench.written(folder, work))
        else:
            work()
        self.seconds[name].append(time.perf_counter() - started)

    def make_tables(self) -> None:
        """Make every table of its first slice."""
        bench = self.bench
        wanted = {*self.only, *(SCANNED if "scans" in self.only else ())}
        wanted |= {"part"} if "infer" in wanted else set()  # they share slices
        self.tables = {name: size for name, size in bench.sizes.items() if name in wanted}
        for name, size in self.tables.items():
            if name == "csv":
                continue
            bench.deliver(name, 0, f"SELECT id FROM range({size})")
            bench.penstock(name)
            if name not in ("infer", *SCANNED):
                bench.create(name)

    def round(self, number: int) -> None:
        """Deliver one more slice of each kind, and let every contender take it in."""
        self._deliver(number)
        bench = self.bench
        full = {"statement": OVERWRITE, **DYNAMIC}
        contenders: list[tuple[str, Callable[[], object], str]] = [
            ("every", lambda: bench.penstock("every"), ""),
            ("every by hand", lambda: bench.by_hand("every", number, MERGE), ""),
            ("change", lambda: bench.penstock("change"), "lake/silver/b/change"),
            ("change by hand", lambda: bench.by_hand("change", number, MERGE), "hand/change"),
            ("part", lambda: bench.penstock("part"), ""),
            ("part by hand", lambda: bench.by_hand("part", number, MERGE), ""),
            ("infer", self._infer, ""),
            ("full", lambda: bench.penstock("full"), ""),
            ("full by hand", lambda: bench.by_hand("full", number, **full), ""),
            ("csv", lambda: bench.penstock("csv"), ""),
            ("csv by hand", lambda: bench.csv_by_hand(number), ""),
            ("csv bare", lambda: bench.csv_by_hand(number, bare=True), ""),
        ]
        contenders = [each for each in contenders if each[0].split()[0] in self.only]
        start = number % max(1, len(contenders))
        for name, work, folder in contenders[start:] + contenders[:start]:
            self.take(name, work, folder)

    def _infer(self) -> None:
        self.gone += self.bench.inferred("infer")

    def _deliver(self, number: int) -> None:
        bench, rows, deliver = self.bench, self.bench.rows, self._deliver_wanted
        part = rows // 100
        known = f"SELECT (id * 111 + {number}) % {rows} AS id FROM range({{}})"
        new = f"SELECT {rows + number * part} + id AS id FROM range({part // 10})"
        deliver("every", number, f"{known.format(part * 9 // 10)} UNION ALL {new}")
        deliver("change", number, known.format(part), changed="id % 10 = 0")
        last = rows - bench.per_part["part"]
        kept = f"SELECT id FROM range({last}, {rows}) WHERE id % 100 >= {number}"
        deliver("part", number, kept)
        if "infer" in self.tables:
            bench.same("infer", "part", number)
        first = (number + 10) % PARTS * bench.per_part["full"]
        whole = f"SELECT id FROM range({first}, {first + bench.per_part['full']})"
        deliver("full", number, whole)
        if "csv" in self.tables:
            bench.deliver_csv(number)

    def _deliver_wanted(self, name: str, number: int, ids: str, **more: str) -> None:
        if name in self.tables:
            self.bench.deliver(name, number, ids, **more)

    def files_of_a_partition(self) -> None:
        """Count the files in which rows of one partition are looked for, once more."""
        bench, number = self.bench, 99
        last = bench.rows - bench.per_part["part"]
        bench.deliver("part", number, f"SELECT id FROM range({last}, {bench.rows})")
        by_hand = partial(bench.by_hand, "part", number, MERGE)
        self.files["part by hand"] = bench.files_matched(by_hand)
        self.files["part"] = bench.files_matched(lambda: bench.penstock("part"))

    def candidates(self) -> None:
        """Count rows that are scanned: a window of 1% and of 10%, and of a table ten times less."""
        bench = self.bench
        for name, size in (
            ("near", bench.rows),
            ("wide", bench.rows),
            ("narrow", bench.rows // 10),
        ):
            ten = f"SELECT id FROM range({size - size // 10}, {size}) WHERE id % 2 = 0"
            bench.deliver(name, 99, ten)
            self.scanned[name] = bench.candidates_scanned(lambda name=name: bench.inferred(name))

    def hashes(self, rounds: int) -> None:
        """Hash rows that Spark makes in both ways."""
        spark = self.bench.place.spark.newSession()
        for key, value in INTERPRETED.items():
            spark.conf.set(key, value)
        rows = f"SELECT {ROW.format(salt=1, seq='id')} FROM range({min(self.bench.rows, 10**6)})"
        spark.sql(rows).createOrReplaceTempView("hashed")
        kinds = [Column(name, kind) for name, kind in spark.table("hashed").dtypes]
        assert [each.name for each in kinds] == [*COLUMNS]
        for _ in range(rounds + 1):
            for name, sql in (("hash", row_hash(kinds)), ("hash by hand", HASHED)):
                frame = spark.sql(f"SELECT {sql} AS h FROM hashed")
                self.take(name, frame.write.format("noop").mode("overwrite").save)

    def small(self, slices: int) -> None:
        """Take many small slices in: once to warm up, once to measure."""
        bench = self.bench
        for start in (1, slices + 1):
            numbers = range(start, start + slices)
            for number in numbers:
                ids = f"SELECT (id * 11 + {number}) % {bench.rows // 10} AS id"
                bench.deliver("small", number, f"{ids} FROM range({OF_A_SLICE})")
            self.take("small", lambda: bench.penstock("small"))
            self.take("small by hand", lambda ns=numbers: [bench.by_hand("small", n) for n in ns])

    def ratio(self, over: str, under: str) -> float | None:
        """Give the median of the rounds' ratios, without the warm-up; None of what did not run."""
        if over not in self.seconds or under not in self.seconds:
            return None
        pairs = zip(self.seconds[over][1:], self.seconds[under][1:], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def bytes_ratio(self) -> float | None:
        """Give the bytes of changes alone beside those of the MERGE by hand."""
        if "change" not in self.written:
            return None
        pairs = zip(self.written["change"][1:], self.written["change by hand"][1:], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def bounds(self) -> list[dict[str, object]]:
        """Compare with what is promised."""
        scanned = self.scanned
        wider = narrower = None
        if scanned:
            wider = scanned["wide"] / scanned["near"]
            narrower = scanned["near"] / scanned["narrow"]
        found = [
            ("merge 1%", self.ratio("every", "every by hand"), 0, 1.1),
            (
                "merge 1%, a tenth changed, on_change",
                self.ratio("change", "change by hand"),
                0,
                0.9,
            ),
            ("the same, bytes written", self.bytes_ratio(), 0, 0.15),
            ("a slice in one of 100 partitions", self.ratio("part", "part by hand"), 0, 0.25),
            ("delete inference there / without", self.ratio("infer", "part"), 0, 1.3),
            ("rows scanned, window 10% / 1%", wider, 8, 12),
            ("rows scanned, table / a tenth", narrower, 0.8, 1.2),
            ("full, one of 100 partitions", self.ratio("full", "full by hand"), 0, 1.15),
            ("a slice of CSV files", self.ratio("csv", "csv by hand"), 0, 1.2),
            ("hash of 20 columns", self.ratio("hash", "hash by hand"), 0, 1.8),
            ("many small slices", self.ratio("small", "small by hand"), 0, 1.3),
        ]
        return [
            {
                "what": what,
                "ratio": round(ratio, 3),
                "bound": f"{low} to {high}" if low else f"<= {high}",
                "holds": low <= ratio <= high,
            }
            for what, ratio, low, high in found
            if ratio is not None
        ]


def main(rows: int, rounds: int, slices: int, only: tuple[str, ...] = NAMES) -> int:
    """Measure everything; every round after the warm-up takes in slices of its own."""
    place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"))
    try:
        measured = Measured(EntityBench(place, rows), only)
        measured.make_tables()
        for number in range(1, rounds + 2):
            measured.round(number)
        assert measured.gone > 0 or "infer" not in only
        differ = [each for each in COMPARED if each in only and measured.bench.rows_differ(each)]
        assert not differ, differ
        if "part" in only:
            measured.files_of_a_partition()
        if "scans" in only:
            measured.candidates()
        if "hash" in only:
            measured.hashes(rounds)
        if "small" in only:
            measured.small(slices)
        bounds = measured.bounds()
    finally:
        place.close()
    print(json.dumps(report(measured, rounds, slices, bounds), indent=2))
    return 0 if all(bound["holds"] for bound in bounds) else 1


def report(
    measured: Measured, rounds: int, slices: int, bounds: list[dict[str, object]]
) -> dict[str, object]:
    """Give what is printed: where, on what, and what came of it."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("penstock-delta", "pyspark", "delta-spark")},
        },
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "driver": "4g"},
        "load": [round(each, 1) for each in os.getloadavg()],
        "size": {"rows": measured.bench.rows, "rounds": rounds, "small slices": slices},
        "seconds": {n: round(statistics.median(s[1:]), 2) for n, s in measured.seconds.items()},
        "every round": {n: [round(x, 2) for x in s] for n, s in measured.seconds.items()},
        "bytes_written": {n: statistics.median(s[1:]) for n, s in measured.written.items()},
        "rows_scanned": measured.scanned,
        "files_scanned": measured.files,
        "bounds": bounds,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="after the warm-up, below 80")
    parser.add_argument("--slices", type=int, default=100, help="small ones, in one run")
    parser.add_argument("--only", default=",".join(NAMES), help="what to measure")
    asked = parser.parse_args()
    sys.exit(main(asked.rows, asked.rounds, asked.slices, tuple(asked.only.split(","))))
