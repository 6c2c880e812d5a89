"""A project that has everything in a bucket: warehouse, sources, slices of an entity, a package."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from fakes.entity_files import PATH, document, entity
from fakes.kill_project import SMALL
from fakes.object_store import KEY, SECRET
from fakes.place import Place
from fakes.session_lake import SCHEMA, an_event
from fakes.session_place import EVENTS, HEAD, MERGED, TYPES
from penstock.engine.disk.buckets import table_options_at
from penstock.engine.disk.disks import disk_at

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fakes.object_store import ObjectServer

STORAGE = """\
    storage:
      s3://:
        endpoint: {endpoint}
        access_key_id: {key}
        secret_access_key: {secret}
        allow_http: true
"""
SOURCES = """\
sources:
  - name: raw
    tables:
      - {{name: orders, path: {bucket}/raw/orders}}
      - {{name: people, path: {bucket}/raw/people}}
      - {{name: events, path: {bucket}/raw/events}}
"""
ORDERS = "{{ source('raw', 'orders') }}"
DAY = "materialized='partition', partition_by='day', start='2024-01-01'"
DAILY = f"""\
{{{{ config({DAY}) }}}}
select date(at) as day, count(*) as n, sum(amount) as amount from {ORDERS}
where date(at) = @partition_date group by 1
"""
FIRST, SECOND = "2021-01-02T12:00:00Z", "2021-01-05T12:00:00Z"
COMMANDS = {
    "log": ("run", "--select", "log", "--as-of", "2024-01-03T12:00:00Z"),
    "best": ("run", "--select", "best", "--as-of", "2024-01-03T12:00:00Z"),
    "daily": ("run", "--select", "daily", "--as-of", "2024-01-03T12:00:00Z"),
    "people": ("snapshot", "run", "--select", "people", "--as-of", SECOND),
    "silver_aw.x": ("run", "--select", "silver_aw.x", "--processing-time", SECOND),
    "web_users": ("run", "--select", "web tagged", "--as-of", SECOND),
}
"""What builds each kind of model a second time."""
WHOLE = tuple(dict.fromkeys(COMMANDS.values()))
FIRST_TIME = {SECOND: FIRST, "2024-01-03T12:00:00Z": "2024-01-02T12:00:00Z"}
LEFT = {
    "prod/m/log": "SELECT id, amount FROM t ORDER BY at",
    "prod/m/best": "SELECT id, amount FROM t ORDER BY id",
    "prod/m/daily": "SELECT day, n, amount FROM t ORDER BY day",
    "prod/m/people": "SELECT id, value, _ps_is_current FROM t ORDER BY id, _ps_valid_from",
    "lake/silver/aw/x": 'SELECT "ID", "SeqNr", name FROM t ORDER BY "ID"',
    "prod/derived/web_sessions": "SELECT session_identifier FROM t ORDER BY 1",
    "prod/derived/web_users": "SELECT user_identifier FROM t ORDER BY 1",
    "prod/m/tagged": "SELECT event_id FROM t ORDER BY 1",
}
UNDISTURBED = {
    "prod/m/log": [(1, 5), (2, 7), (1, 9)],
    "prod/m/best": [(1, 9), (2, 7)],
    "prod/m/daily": [("2024-01-02", 1, 7), ("2024-01-03", 1, 9)],
    "prod/m/people": [(1, "a", False), (1, "A", True), (2, "b", True)],
    "lake/silver/aw/x": [(1, 3, "A"), (2, 2, "b"), (3, 4, "c")],
    "prod/derived/web_sessions": [("s1",), ("s2",), ("s3",)],
    "prod/derived/web_users": [("u",)],
    "prod/m/tagged": [("e1",), ("e2",), ("e3",)],
}


class BucketPlace(Place):
    """One model of each kind over what is delivered in two rounds."""

    def __init__(
        self, root: Path, spark: SparkSession | None, bucket: str, server: ObjectServer
    ) -> None:
        super().__init__(root, spark)
        self.bucket = bucket
        target = SMALL.replace("warehouse: warehouse", f"warehouse: {bucket}/prod")
        access = STORAGE.format(endpoint=server.endpoint, key=KEY, secret=SECRET)
        self.write("penstock.yml", f"name: shop\nversion: 1\n{target}{access}")
        self.write("models/raw.yml", SOURCES.format(bucket=bucket))
        query = f"select id, at, amount from {ORDERS}"
        self.model("log", query, materialized="append", time_column="at")
        self.model("best", query, materialized="merge", unique_key="id", time_column="at")
        self.write("models/m/daily.sql", DAILY)
        people = "select id, value from {{ source('raw', 'people') }}"
        self.model(
            "people",
            people,
            materialized="snapshot",
            strategy="check",
            unique_key="id",
            check_cols=["value"],
        )
        self.write(PATH, document(entity(), environment={"root_folder": f"{bucket}/lake"}))
        self.write("sessions/web.yml", HEAD)
        tagged = f"select event_id, collector_tstamp as at from {EVENTS}"
        self.model("tagged", tagged, **MERGED)

    def deliver_first(self) -> None:
        """Deliver what the first run reads."""
        self._orders((1, "2024-01-01 10:00", 5), (2, "2024-01-02 10:00", 7))
        self._people((1, "a"), (2, "b"))
        self._slice("a", (1, 1, "a"), (2, 2, "b"))
        self._events("e1 s1 01-01 10:00", "e2 s2 01-01 20:00")

    def deliver_second(self) -> None:
        """Deliver what the second run reads."""
        self._orders((1, "2024-01-03 10:00", 9))
        self._people((1, "A"), (2, "b"))
        self._slice("b", (1, 3, "A"), (3, 4, "c"))
        self._events("e3 s3 01-04 10:00")

    def left(self) -> dict[str, list[tuple[object, ...]]]:
        """Return the rows of every table."""
        return {name: self.read(f"{self.bucket}/{name}", query) for name, query in LEFT.items()}

    def read(self, uri: str, query: str) -> list[tuple[object, ...]]:
        """Read a table without Spark."""
        table = DeltaTable(uri, storage_options=table_options_at(uri))
        found = pa.table(QueryBuilder().register("t", table).execute(query).read_all())
        return [tuple(map(_plain, row.values())) for row in found.to_pylist()]

    def _orders(self, *rows: tuple[object, ...]) -> None:
        fields = [("id", pa.int32()), ("at", pa.string()), ("amount", pa.int32())]
        table = _arrow(rows, fields)
        times = pa.array([f"{row[1]}:00Z".replace(" ", "T") for row in rows]).cast(
            pa.timestamp("us", "UTC")
        )
        self._append("orders", table.set_column(1, "at", times))

    def _people(self, *rows: tuple[object, ...]) -> None:
        self._append(
            "people", _arrow(rows, [("id", pa.int32()), ("value", pa.string())]), "overwrite"
        )

    def _events(self, *events: str) -> None:
        rows = [an_event(*each.split(" ", 2)) for each in events]
        fields = [pa.field(each.name, TYPES[each.type]) for each in SCHEMA.columns]
        self._append("events", pa.Table.from_pylist(rows, pa.schema(fields)))

    def _append(self, name: str, table: pa.Table, mode: str = "append") -> None:
        uri = f"{self.bucket}/raw/{name}"
        write_deltalake(uri, table, mode=mode, storage_options=table_options_at(uri))

    def _slice(self, name: str, *rows: tuple[object, ...]) -> None:
        fields = [("ID", pa.int32()), ("SeqNr", pa.int32()), ("name", pa.string())]
        content = io.BytesIO()
        pq.write_table(_arrow(rows, fields), content)
        uri = f"{self.bucket}/lake/bronze/aw/x/{name}.parquet"
        disk_at(uri).put(uri, content.getvalue())


def _arrow(rows: tuple[tuple[object, ...], ...], fields: list[tuple[str, pa.DataType]]) -> pa.Table:
    columns = [
        pa.array(column, kind)
        for column, (_, kind) in zip(zip(*rows, strict=True), fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value
