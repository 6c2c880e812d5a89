"""Entities beside statements by hand: the same slices for both, and tables with the same rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from place import Place
    from pyspark.sql import SparkSession

PARTS = 100
ROW = """\
id, {seq} AS seq, concat('name', id % 1000, '-', {salt}) AS name,
concat('user', id, '@example.org') AS email, concat('city', id % 97) AS city,
CAST(id % 1000 AS INT) AS grp, id * 1.5D + {salt} AS amount,
CAST(id % 100000 AS DECIMAL(12, 2)) AS balance, date'1970-01-01' + CAST(id % 9999 AS INT) AS born,
id % 3 = 0 AS active, timestamp_seconds(1700000000 + id) AS updated,
concat('street ', id % 5003) AS street, CAST(id % 7 AS INT) AS kind, id * 3 AS points,
CAST(id % 31 AS SMALLINT) AS day, concat('note', id % 11) AS note, CAST(id % 13 AS STRING) AS land,
concat('Z', id % 99999) AS zip, concat('+31', id) AS phone, CAST(id % 17 AS DOUBLE) / 7 AS score"""
COLUMNS = (
    *("id", "seq", "name", "email", "city", "grp", "amount", "balance", "born", "active"),
    *("updated", "street", "kind", "points", "day", "note", "land", "zip", "phone", "score"),
)
KINDS = {
    **dict.fromkeys(("id", "seq", "points"), "bigint"),
    **dict.fromkeys(("name", "email", "city", "street", "note", "land", "zip", "phone"), "string"),
    "grp": "int",
    "amount": "double",
    "balance": "decimal(12,2)",
    "born": "date",
    "active": "boolean",
    "updated": "timestamp",
    "kind": "int",
    "day": "smallint",
    "score": "double",
}
HASHED = "sha2(concat_ws('|', " + ", ".join(f"CAST({c} AS STRING)" for c in COLUMNS) + "), 256)"
# What one would write by hand: the columns that a silver table has, made in the cheapest way.
BY_HAND = f"""\
SELECT *, {{part}}{HASHED} AS p_SourceHash, '{{name}}' AS p_source_filename,
sha2(CAST(id AS STRING), 256) AS PK, false AS p_deleted, current_timestamp() AS p_lastSeen
FROM parquet.`{{slice}}`"""
MERGE = """\
MERGE INTO {table} t USING ({rows}) s ON t.id = s.id
WHEN MATCHED AND s.p_deleted THEN UPDATE SET p_deleted = true, p_lastSeen = s.p_lastSeen
WHEN MATCHED AND (NOT (t.p_SourceHash <=> s.p_SourceHash) OR coalesce(t.p_deleted, false))
  THEN UPDATE SET *
WHEN MATCHED THEN UPDATE SET p_lastSeen = s.p_lastSeen
WHEN NOT MATCHED AND NOT s.p_deleted THEN INSERT *"""
OVERWRITE = "INSERT OVERWRITE {table} {rows}"
CREATE = """\
CREATE TABLE {table} USING delta {parted}
TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS {rows}"""
ENVIRONMENT = {
    "name": "bench",
    "root_folder": "lake",
    "timezone": "UTC",
    "systemfield_prefix": "p_",
    "bronze_path": "/${connection}/${entity}",
    "silver_path": "/${connection}/${destination}",
}
KEY = {"name": "id", "fieldroles": ["businesskey"]}


class EntityBench:
    """A project of entities, and beside each a table that statements by hand keep."""

    def __init__(self, place: Place, rows: int) -> None:
        self.place, self.rows, self.round = place, rows, 0
        self.per_part = {name: size // PARTS for name, size in self.sizes.items()}
        document = {
            "environment": ENVIRONMENT,
            "connections": [{"name": "b"}],
            "entities": [*self._entities()],
        }
        place.write("entities/bench.json", json.dumps(document))

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each table; `narrow` has a tenth, `small` those of very many small slices."""
        rows = self.rows
        parted = dict.fromkeys(("part", "infer", "near", "wide", "full"), rows)
        tenths = dict.fromkeys(("narrow", "csv", "small"), rows // 10)
        return {"every": rows, "change": rows, **parted, **tenths}

    def _entities(self) -> Iterator[dict[str, object]]:
        windows = dict.fromkeys(("infer", "near", "narrow"), self.rows // 100)
        windows["wide"] = self.rows // 10
        for number, (name, per_part) in enumerate(self.per_part.items(), 1):
            part = {
                "name": "part",
                "expression": f"CAST(id DIV {per_part} AS INT)",
                "fieldroles": ["partition"],
            }
            one = {"id": number, "name": name, "connection": "b", "columns": [KEY]}
            one["processtype"] = "full" if name in ("full", "csv") else "merge"
            if name in windows or name in ("part", "full"):
                one["columns"] = [KEY, part]
            settings = {"last_seen": "on_change"} if name == "change" else {}
            if name in windows:
                low = f"${{minus(last_value, {windows[name] - 1})}}"
                one["watermark"] = [{"column_name": "seq", "expression": low}]
                settings = {"delete_missing": True}
            if name == "csv":
                one["columns"] = [{"name": n, "datatype": kind} for n, kind in KINDS.items()]
                settings = {"bronze_format": "csv", "options": {"header": True}}
                settings |= {"slice_pattern": "*"}
            yield {**one, "settings": settings}

    def slice(self, name: str, number: int) -> Path:
        """Give where a slice of an entity lies."""
        return self.place.root / "lake" / "bronze" / "b" / name / f"{number:04}.parquet"

    def deliver(self, name: str, number: int, ids: str, *, changed: str = "true") -> None:
        """Write a slice of the ids of a query; rows that are not `changed` are as at first."""
        salt = f"if({changed}, {number}, 0)"
        row = ROW.format(
            salt=salt, seq=f"if({number} > 0 AND {changed}, {self.rows} + {number}, id)"
        )
        folder = self.slice(name, number)
        self._session().sql(f"SELECT {row} FROM ({ids})").write.parquet(str(folder))
        for mark in (*folder.glob("_*"), *folder.glob(".*")):
            mark.unlink()

    def deliver_csv(self, number: int) -> None:
        """Write a slice of CSV files."""
        folder, size = self.slice("csv", number), self.sizes["csv"]
        row = ROW.format(salt=number, seq="id")
        frame = self._session().sql(f"SELECT {row} FROM range({size})")
        frame.write.option("header", "true").csv(str(folder))
        for mark in (*folder.glob("_*"), *folder.glob(".*")):
            mark.unlink()

    def csv_by_hand(self, number: int, *, bare: bool = False) -> None:
        """Read a slice with its schema and write it, `bare` without the columns of a silver table.

        Those are the same as in the other benchmarks.
        """
        session, slice_ = self._session(), self.slice("csv", number)
        schema = ", ".join(f"{name} {KINDS[name]}" for name in COLUMNS)  # Spark goes by position
        frame = session.read.schema(schema).option("header", "true").csv(str(slice_))
        frame.createOrReplaceTempView("given")
        rows = BY_HAND.format(part="", name=slice_.name, slice=slice_).rpartition("FROM")[0]
        rows = "SELECT * FROM given" if bare else f"{rows}FROM given"
        table = self.place.delta("hand/bare" if bare else "hand/csv")
        session.sql(f"CREATE OR REPLACE TABLE {table} USING delta AS {rows}")

    def same(self, name: str, of: str, number: int) -> None:
        """Give one entity the slice of another one."""
        shutil.copytree(self.slice(of, number), self.slice(name, number))

    def _session(self) -> SparkSession:
        assert self.place.spark is not None
        return self.place.spark.newSession()

    def table(self, name: str) -> str:
        """Give SQL for the table that statements by hand keep."""
        return self.place.delta(f"hand/{name}")

    def by_hand(self, name: str, number: int, statement: str = MERGE, **confs: str) -> None:
        """Take a slice in with one statement."""
        is_parted = name in ("part", "full")
        part = f"CAST(id DIV {self.per_part[name]} AS INT) AS part, " if is_parted else ""
        slice_ = self.slice(name, number)
        rows = BY_HAND.format(part=part, name=slice_.name, slice=slice_)
        parted = "PARTITIONED BY (part)" if is_parted else ""
        session = self._session()
        for key, value in confs.items():
            session.conf.set(key, value)
        session.sql(statement.format(table=self.table(name), rows=rows, parted=parted))

    def create(self, name: str) -> None:
        """Make the table that statements by hand keep of the first slice."""
        self.by_hand(name, 0, CREATE)

    def rows_differ(self, name: str) -> bool:
        """Whether our table does not hold the rows that statements by hand keep."""
        told = f"SELECT count(*), bit_xor(xxhash64({', '.join(COLUMNS)})) FROM {{}}"
        both = self.place.delta(f"lake/silver/b/{name}"), self.table(name)
        one, other = (self._session().sql(told.format(each)).first() for each in both)
        return one != other

    def penstock(self, name: str) -> None:
        """Let penstock take in what waits."""
        self.place.run(select=(f"silver_b.{name}",))

    def inferred(self, name: str) -> int:
        """Let penstock take in what waits; give how many rows were found to be gone."""
        (result,) = self.place.run(select=(f"silver_b.{name}",)).results
        return int(result.metrics["inferred_deleted"])

    def written(self, folder: str, work: Callable[[], None]) -> int:
        """Add up the bytes of new files with rows or marks in a table's folder."""
        of = partial(_sizes, self.place.root / folder)
        before = of()
        work()
        return sum(size for path, size in of().items() if path not in before)

    def candidates_scanned(self, work: Callable[[], object]) -> int:
        """Count the rows that Spark scans in a target to find keys that are gone."""
        return self._scanned(work, "materialize source", "number of output rows")

    def files_matched(self, work: Callable[[], object]) -> int:
        """Count the files of a target in which a MERGE looks for its rows."""
        return self._scanned(work, "scanning files for matches", "number of files read")

    def _scanned(self, work: Callable[[], object], phase: str, metric: str) -> int:
        spark: Any = self.place.spark
        bus = spark.sparkContext._jsc.sc().listenerBus()  # noqa: SLF001  Py4J alone knows it
        store = spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001
        bus.waitUntilEmpty()
        every = store.executionsList()
        before = every.last().executionId() if every.size() else -1
        work()
        bus.waitUntilEmpty()
        every, found = store.executionsList(), 0
        for execution in map(every.apply, range(every.size())):
            if execution.executionId() > before and phase in execution.description():
                found += _told_of_target(store, execution.executionId(), metric)
        return found


def _told_of_target(store: Any, number: int, metric: str) -> int:  # noqa: ANN401  it is Java
    values, nodes = store.executionMetrics(number), store.planGraph(number).allNodes()
    found = 0
    for node in map(nodes.apply, range(nodes.size())):
        if node.name().startswith("Scan parquet") and "InMemoryFileIndex" not in node.desc():
            for each in map(node.metrics().apply, range(node.metrics().size())):
                value = values.get(each.accumulatorId())
                if each.name() == metric and value.isDefined():
                    found += int(value.get().replace(",", ""))
    return found


def _sizes(folder: Path) -> dict[str, int]:
    files = (*folder.rglob("*.parquet"), *folder.rglob("*.bin"))
    return {str(path): path.stat().st_size for path in files if "_delta_log" not in path.parts}
