"""The second run of the demo: six steps, some 13,000 new rows, beside six statements by hand.

    python small_run.py [--rounds N] [--by-model]

Each side is a process of its own with the settings of the demo, as a command is. Each round brings
the next fourteen days of flights; both sides take them in, each into tables of its own. Of each
process: Spark jobs, seconds, seconds of all processors. `--by-model` tells the jobs by step.
The three gates of `planes` are asked by hand as well, after the MERGE; nothing is held back there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checked import Jvm
from place import Place

from penstock.app.commands.init import init
from penstock.core.project import SparkSettings
from penstock.engine.launch import LaunchSettings, launch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = ("flights_clean", "weather_clean", "planes_clean")
SETTINGS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
MODELS = ("flights", "planes", "delays_by_day", "delays_by_month", "delays_and_weather")
MODELS = (*MODELS, "seats_by_route")
COLUMNS = {
    "flights": "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, "
    "arr_time INT, sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, "
    "origin STRING, dest STRING, air_time INT, distance INT, hour INT, minute INT, "
    "time_hour TIMESTAMP",
    "weather": "origin STRING, year STRING, month STRING, day STRING, hour STRING, temp DOUBLE, "
    "dewp STRING, humid DOUBLE, wind_dir STRING, wind_speed DOUBLE, wind_gust STRING, "
    "precip DOUBLE, pressure STRING, visib DOUBLE, time_hour TIMESTAMP",
    "planes": "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, "
    "engines INT, seats INT, speed STRING, engine STRING, delivered DATE",
    "airlines": "carrier STRING, name STRING",
    "airports": "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt STRING, tz STRING, "
    "dst STRING, tzone STRING",
}
_COMMENT = re.compile("--.*|{{ config\\(.*?\\) }}", re.DOTALL)
_MINUTES = re.compile(r"{{ minutes_of_day\('(\w+)'\) }}")


class ByHand:
    """What a script does for the same tables: one statement each, and a query for each gate."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        for name, columns in COLUMNS.items():
            reader = spark.read.schema(columns).option("header", "true")
            reader = reader.option("recursiveFileLookup", "true")
            given = reader if name == "airlines" else reader.option("nullValue", "NA")
            given.csv(str(root / "landing" / name)).createOrReplaceTempView(f"raw_{name}")
        for path in (root / "models/staging").glob("*.sql"):
            spark.sql(self.query(path)).createOrReplaceTempView(path.stem)

    def query(self, path: Path) -> str:
        """Give the SELECT of a model's file, its references as views and tables."""
        text = re.sub(r"{{ config\(.*?\n?\) }}", "", path.read_text(), flags=re.DOTALL)
        text = _MINUTES.sub(r"(div(\1, 100) * 60 + \1 % 100)", text)
        text = text.replace("{{ var('late_minutes') }}", "15")
        text = re.sub(r"{{ source\('raw', '(\w+)'\) }}", r"raw_\1", text)
        refs = r"{{ ref\('(\w+)'\) }}"
        return re.sub(refs, lambda m: self.table(m[1]) if m[1] in MODELS else m[1], text)

    def table(self, name: str) -> str:
        """Give SQL for a table of the script's own."""
        return f"delta.`{self.root}/by_hand/{name}`"

    def run(self) -> None:
        """Take in what is new, and make the rest anew."""
        files = {path.stem: path for path in (self.root / "models").rglob("*.sql")}
        if not (self.root / "by_hand").exists():
            latest = self.latest(self.query(files["planes"]))
            self.create("planes", latest)
            self.create("flights", self.query(files["flights"]), "CLUSTER BY (flight_date)")
        else:
            self.spark.sql(
                f"INSERT INTO {self.table('flights')} BY NAME {self.query(files['flights'])} "
                f"WHERE time_hour > (SELECT max(time_hour) FROM {self.table('flights')})"
            )
            self.spark.sql(
                f"MERGE INTO {self.table('planes')} t USING "
                f"({self.latest(self.query(files['planes']))}) s ON t.tailnum = s.tailnum "
                "WHEN MATCHED AND t.delivered < s.delivered THEN UPDATE SET * "
                "WHEN NOT MATCHED THEN INSERT *"
            )
        for gate in ("tailnum IS NULL", "NOT seats > 0"):
            self.spark.sql(f"SELECT count(*) FROM {self.table('planes')} WHERE {gate}").collect()
        self.spark.sql(
            f"SELECT tailnum FROM {self.table('planes')} GROUP BY 1 HAVING count(*) > 1"
        ).collect()
        for name in MODELS[2:]:
            self.create(name, self.query(files[name]))

    def latest(self, query: str) -> str:
        """Give the last of several rows of a plane."""
        order = "row_number() OVER (PARTITION BY tailnum ORDER BY delivered DESC) = 1 AS is_last"
        return f"SELECT * EXCEPT (is_last) FROM (SELECT *, {order} FROM ({query})) WHERE is_last"

    def create(self, name: str, query: str, clauses: str = "") -> None:
        """Replace a table."""
        properties = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        self.spark.sql(
            f"CREATE OR REPLACE TABLE {self.table(name)} USING delta {clauses} {properties} "
            f"AS {query}"
        )


def one_side(side: str, root: Path) -> None:
    """Run one side in this process and print what it took, as JSON."""
    os.chdir(root)
    started = time.perf_counter()
    settings = SparkSettings("local[*]", "2g", SETTINGS)
    place = LaunchSettings(settings, str(root / "warehouse"), root / "spark.log")
    spark = launch(place, os.environ)
    opened = _Opened(root, spark)
    jvm = Jvm(opened)  # type: ignore[arg-type]
    ready, used = time.perf_counter(), _processor(jvm)
    if side == "ours":
        Place.run(opened, select=(" ".join((*VIEWS, *MODELS)),))  # type: ignore[arg-type]
    else:
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        ByHand(session, root).run()
    done = time.perf_counter()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # noqa: SLF001
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)  # noqa: SLF001
    each = map(jobs.apply, range(jobs.size()))
    said = (job.description() for job in each)
    by = Counter(text.get() if text.isDefined() else "" for text in said)
    told = {
        "jobs": jobs.size(),
        "seconds": done - ready,
        "processor": _processor(jvm) - used,
        "with the start": done - started,
        "by": dict(by),
    }
    print(json.dumps(told), flush=True)
    spark.stop()


class _Opened:
    """What `Place.run` needs of a place that is there already."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.root, self.spark = root, spark


def _processor(jvm: Jvm) -> float:
    """Give the seconds of processor that this process and its JVM have used."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + jvm.seconds()


def main() -> None:
    """Deliver and run both sides in turn; print each process, then medians and ratios."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--by-model", action="store_true")
    asked.add_argument("--side", nargs=2, metavar=("SIDE", "ROOT"))
    given = asked.parse_args()
    if given.side:
        one_side(given.side[0], Path(given.side[1]))
        return
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-")) / "demo"
    init(root, "demo")
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "hand": []}
    for batch in range(1, given.rounds + 2):
        subprocess.run([sys.executable, "deliver.py", str(batch)], cwd=root, check=True)
        for side in ("ours", "hand") if batch % 2 else ("hand", "ours"):
            command = [sys.executable, __file__, "--side", side, str(root)]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            told = json.loads(text.splitlines()[-1])
            by = told.pop("by")
            print(batch, side, told, by if given.by_model else "", flush=True)
            if batch > 1:
                found[side].append(told)
    for key in ("jobs", "seconds", "processor", "with the start"):
        ours, hand = ([each[key] for each in found[side]] for side in ("ours", "hand"))
        ratios = [a / b for a, b in zip(ours, hand, strict=True)]
        low, high = min(ratios), max(ratios)
        middle = statistics.median(ratios)
        print(
            f"{key:<16} {statistics.median(ours):8.1f} {statistics.median(hand):8.1f}  "
            f"ratio {middle:.2f} ({low:.2f} to {high:.2f})"
        )


if __name__ == "__main__":
    main()
