"""Bringing a history table up to date, against the ways to do it by hand.

    python history.py [--keys N | --large] [--repeat N]

One key in a hundred changes each round; a table holds one current and some closed versions of each
key. Every contender works on a copy of its own and takes in the same changes, in an order that
moves on each round. Prints JSON, and ends with 1 if a bound is missed.

- `penstock`: `penstock snapshot run`, with validation, metrics, lease and record.
- `merge`: the usual MERGE by hand (`MERGE` below): changed rows come twice, once with a NULL merge
  key, so that one statement closes and opens; nothing is validated, nothing is counted.
- `rewrite`: the table overwritten by the union of kept, closed and new rows (`REWRITE` below).
- `rerun`: penstock again, over a source that was written anew with equal rows.
- `short`, `long`: penstock, no and 20 closed versions of each key.
- `event`: penstock in event time, with one late row for a thousand keys on top.
- `fed`, `whole`: penstock, from the change data feed of a source in which one row of a hundred was
  updated, and over all rows of that source.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from place import Place, start_spark

CLOSED = {"penstock": 4, "short": 0, "long": 20, "event": 4, "fed": 4, "whole": 4}  # of each key
FIRST = dt.datetime(2022, 1, 1, tzinfo=dt.UTC)
MONTH = 30  # days that a closed version lasted

# `salt` is the round in which a key changed last, 0 before; `days` after FIRST it was stamped.
ROW = """\
id, TIMESTAMP'2022-01-01' + make_dt_interval({days}) AS updated_at,
concat('name', id % 1000, '-', {salt}) AS name, concat('user', id, '@example.org') AS email,
concat('city', id % 97) AS city, CAST(id % 1000 AS INT) AS grp, id * 1.5D + {salt} AS amount,
CAST(id % 100000 AS DECIMAL(12, 2)) AS balance, date'1970-01-01' + CAST(id % 9999 AS INT) AS born,
id % 3 = 0 AS active"""
COLUMNS = "id, updated_at, name, email, city, grp, amount, balance, born, active"
SYSTEM = "_ps_valid_from, _ps_valid_to, _ps_is_current"
OF_SOURCE = ", ".join(f"s.{name}" for name in COLUMNS.split(", "))
OF_TABLE = ", ".join(f"t.{name}" for name in COLUMNS.split(", "))

MERGE = f"""\
MERGE INTO {{table}} t USING (
  SELECT s.id AS merge_key, s.* FROM {{source}} s
  UNION ALL
  SELECT NULL AS merge_key, s.* FROM {{source}} s JOIN {{table}} c
    ON s.id = c.id AND c._ps_is_current WHERE s.updated_at > c.updated_at
) s ON t.id = s.merge_key AND t._ps_is_current
WHEN MATCHED AND s.updated_at > t.updated_at
  THEN UPDATE SET _ps_valid_to = {{now}}, _ps_is_current = false
WHEN NOT MATCHED THEN INSERT ({COLUMNS}, {SYSTEM}) VALUES ({OF_SOURCE}, {{now}}, NULL, true)
"""
REWRITE = f"""\
INSERT OVERWRITE {{table}} ({COLUMNS}, {SYSTEM})
SELECT {OF_TABLE}, t._ps_valid_from, if(s.id IS NULL, t._ps_valid_to, {{now}}),
  t._ps_is_current AND s.id IS NULL
FROM {{table}} t LEFT JOIN {{source}} s
  ON t.id = s.id AND t._ps_is_current AND s.updated_at > t.updated_at
UNION ALL
SELECT {OF_SOURCE}, {{now}}, NULL, true FROM {{source}} s LEFT JOIN {{table}} c
  ON s.id = c.id AND c._ps_is_current WHERE c.id IS NULL OR s.updated_at > c.updated_at
"""

SOURCES = """\
sources:
  - name: raw
    tables:
      - {name: rows, path: ../landing/rows}
      - {name: late, path: ../landing/late}
      - {name: updated, path: ../landing/updated}
"""
HEADER = """\
{{{{ config(materialized='snapshot', snapshot={{'strategy': 'timestamp', 'valid_from': '{start}'}},
            unique_key='id', updated_at='updated_at', change_feed={feed}) }}}}
select * from {{{{ source('raw', '{source}') }}}}
"""
WITH_LATE = "union all select * from {{ source('raw', 'late') }}\n"


class Histories:
    """The same source and history tables for every contender."""

    def __init__(self, place: Place, keys: int) -> None:
        self.place = place
        self.keys = keys
        self.round = 0
        self.updated: set[int] = set()
        place.write("models/sources.yml", SOURCES)
        for name in CLOSED:
            by_time = name == "event"
            text = HEADER.format(
                start="updated_at" if by_time else "run_timestamp",
                feed=name == "fed",
                source="updated" if name in ("fed", "whole") else "rows",
            )
            place.write(f"models/m/{name}.sql", text + WITH_LATE * by_time)
        self.deliver()
        self.run_all()
        for name, closed in CLOSED.items():
            self.add_closed(name, closed)
        for name in ("merge", "rewrite"):
            shutil.copytree(self.folder("penstock"), self.folder(name))

    def deliver(self) -> None:
        """Write the whole source as of this round, and the round's late rows."""
        salt = f"if(id % 100 BETWEEN 1 AND {self.round}, id % 100, 0)"
        row = ROW.format(salt=salt, days=f"CAST({salt} AS INT)")
        self.write("rows", f"SELECT {row} FROM range({self.keys})")
        late = ROW.format(salt=1000 + self.round, days=f"-{MONTH}, -{self.round}")
        is_late = f"id % 1000 = {550 + self.round}" if self.round else "false"
        self.write("late", f"SELECT {late} FROM range({self.keys}) WHERE {is_late}")
        self.update(f"SELECT {row} FROM range({self.keys})")

    def update(self, query: str) -> None:
        """Change the rows of this round in the source that keeps its changes."""
        table = self.place.delta("landing/updated")
        if not self.round:
            kept = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
            self.place.sql(f"CREATE TABLE IF NOT EXISTS {table} USING delta {kept} AS {query}")
        elif self.round not in self.updated:
            self.updated.add(self.round)
            sets = f"name = concat('name', id % 1000, '-', {self.round}), amount = id * 1.5D + "
            sets += f"{self.round}, updated_at = TIMESTAMP'2022-01-01' + INTERVAL {self.round} DAY"
            self.place.sql(f"UPDATE {table} SET {sets} WHERE id % 100 = {self.round}")

    def write(self, name: str, query: str) -> None:
        """Replace a table of the source."""
        table = self.place.delta(f"landing/{name}")
        self.place.sql(f"CREATE OR REPLACE TABLE {table} USING delta AS {query}")

    def add_closed(self, name: str, closed: int) -> None:
        """Give every key versions that ended before the first run, in one write."""
        if not closed:
            return
        back = f"-{MONTH} * CAST({closed} - v AS INT)"
        row = ROW.format(salt="v", days=f"{back} - {MONTH}")
        ends = f"TIMESTAMP'2022-01-01' + make_dt_interval({back})"
        self.place.sql(
            f"INSERT INTO {self.place.delta(f'warehouse/m/{name}')} ({COLUMNS}, {SYSTEM}) "
            f"SELECT {COLUMNS}, updated_at, {ends}, false FROM (SELECT v, {row} FROM "
            f"(SELECT id DIV {closed} AS id, id % {closed} AS v FROM range({self.keys * closed})))"
        )

    @property
    def now(self) -> dt.datetime:
        """The run timestamp of this round."""
        return FIRST + dt.timedelta(days=self.round)

    def run_all(self) -> None:
        """Let penstock make all tables."""
        self.place.run(snapshot=True, as_of=self.now)

    def penstock(self, name: str = "penstock") -> None:
        """Let penstock bring one table up to date."""
        self.place.run(select=(name,), snapshot=True, as_of=self.now)

    def by_hand(self, statement: str, name: str) -> None:
        """Bring a copy up to date by a statement."""
        self.place.sql(
            statement.format(
                table=self.place.delta(f"warehouse/m/{name}"),
                source=self.place.delta("landing/rows"),
                now=f"TIMESTAMP'{self.now:%Y-%m-%d %H:%M:%S}Z'",
            )
        )

    def folder(self, name: str) -> Path:
        """Give the folder of a contender's table."""
        return self.place.root / "warehouse" / "m" / name

    def head(self, name: str) -> int:
        """Give the newest Delta version of a contender's table."""
        return max(int(path.stem) for path in (self.folder(name) / "_delta_log").glob("*.json"))

    def written(self, name: str, since: int) -> int:
        """Add up what the commits after a version wrote: files, and marks of deleted rows."""
        log = self.folder(name) / "_delta_log"
        total = 0
        for number in range(since + 1, self.head(name) + 1):
            lines = (log / f"{number:020}.json").read_text(encoding="utf-8").splitlines()
            actions = [json.loads(line) for line in lines]
            gone = {action["remove"]["path"] for action in actions if "remove" in action}
            for add in (action["add"] for action in actions if "add" in action):
                total += 0 if add["path"] in gone else add["size"]  # marked, not written again
                total += (add.get("deletionVector") or {}).get("sizeInBytes", 0)
        return total


class Measured:
    """Seconds and bytes of every contender, round by round."""

    def __init__(self, histories: Histories) -> None:
        self.histories = histories
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.written: dict[str, list[int]] = defaultdict(list)

    def round(self) -> None:
        """Deliver one more change and let every contender take it in; then the rerun."""
        histories = self.histories
        histories.round += 1
        histories.deliver()
        contenders: list[tuple[str, Callable[[], None]]] = [
            ("penstock", histories.penstock),
            ("merge", lambda: histories.by_hand(MERGE, "merge")),
            ("short", lambda: histories.penstock("short")),
            ("long", lambda: histories.penstock("long")),
            ("event", lambda: histories.penstock("event")),
            ("fed", lambda: histories.penstock("fed")),
            ("whole", lambda: histories.penstock("whole")),
            ("rewrite", lambda: histories.by_hand(REWRITE, "rewrite")),
        ]
        start = histories.round % len(contenders)
        for name, work in contenders[start:] + contenders[:start]:
            self.take(name, name, work)
        histories.deliver()
        self.take("rerun", "penstock", histories.penstock)

    def take(self, name: str, table: str, work: Callable[[], None]) -> None:
        """Measure one contender once."""
        head = self.histories.head(table)
        started = time.perf_counter()
        work()
        self.seconds[name].append(time.perf_counter() - started)
        self.written[name].append(self.histories.written(table, head))
        if (self.histories.head(table) > head) != (name != "rerun"):
            raise AssertionError(
                f"{name}: the table went from {head} to {self.histories.head(table)}"
            )

    def ratio(self, over: str, under: str) -> float:
        """Give the median of the rounds' ratios, without the warm-up."""
        pairs = zip(self.seconds[over][1:], self.seconds[under][1:], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def bytes_ratio(self, over: str, under: str) -> float:
        """Give how many times as many bytes one contender wrote."""
        return statistics.median(self.written[over][1:]) / statistics.median(
            self.written[under][1:]
        )

    def bounds(self, *, large: bool) -> list[dict[str, object]]:
        """Compare with what is promised."""
        found = [
            ("penstock / MERGE by hand", self.ratio("penstock", "merge"), "<=", 1.1),
            ("rewrite / penstock", self.ratio("rewrite", "penstock"), ">=", 3.0 if large else 2.0),
            ("bytes of rewrite / penstock", self.bytes_ratio("rewrite", "penstock"), ">=", 20.0),
            ("identical rerun / penstock", self.ratio("rerun", "penstock"), "<=", 0.6),
            ("20 / 0 closed versions", self.ratio("long", "short"), "<=", 1.15),
            ("event time with late rows / penstock", self.ratio("event", "penstock"), "<=", 1.5),
            ("changed rows of a feed / all rows", self.ratio("fed", "whole"), "<=", 0.3),
        ]
        return [
            {
                "what": what,
                "ratio": round(ratio, 3),
                "bound": f"{sign} {bound}",
                "holds": ratio <= bound if sign == "<=" else ratio >= bound,
            }
            for what, ratio, sign, bound in found
        ]


def main(keys: int, repeat: int) -> int:
    """Measure everything; every round after the warm-up takes in a change of its own."""
    place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"))
    try:
        measured = Measured(Histories(place, keys))
        for _ in range(repeat + 1):
            measured.round()
        bounds = measured.bounds(large=keys >= 10_000_000)
    finally:
        place.close()
    print(json.dumps(report(measured, keys, repeat, bounds), indent=2))
    return 0 if all(bound["holds"] for bound in bounds) else 1


def report(
    measured: Measured, keys: int, repeat: int, bounds: list[dict[str, object]]
) -> dict[str, object]:
    """Give what is printed: where, on what, and what came of it."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("penstock-delta", "pyspark", "delta-spark")},
        },
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "driver": "4g"},
        "size": {"keys": keys, "changed": keys // 100, "closed": CLOSED, "rounds": repeat},
        "seconds": {n: round(statistics.median(s[1:]), 2) for n, s in measured.seconds.items()},
        "bytes_written": {n: statistics.median(s[1:]) for n, s in measured.written.items()},
        "bounds": bounds,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--large", action="store_const", dest="keys", const=10_000_000)
    parser.add_argument("--repeat", type=int, default=5, help="rounds after the warm-up, below 49")
    asked = parser.parse_args()
    sys.exit(main(asked.keys, asked.repeat))
