"""A project in a bucket on a standalone cluster: helpers of functions, lost workers and drivers."""

import os
import time

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from fakes.bucket_place import STORAGE
from fakes.cluster import Cluster
from fakes.command import Command, kill_at
from fakes.object_store import KEY, SECRET
from fakes.place import Place
from penstock.engine.disk.buckets import table_options_at

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

PROJECT = """\
name: shop
version: 1
lease: {{length: 4s, heartbeat: 1s}}
targets:
  dev:
    warehouse: {bucket}/prod
    spark:
      master: {master}
      driver_memory: 1g
      conf:
        spark.executor.memory: 600m
        spark.sql.shuffle.partitions: "2"
        spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1
"""
SOURCES = """\
sources:
  - name: raw
    tables:
      - {{name: orders, path: {bucket}/raw/orders}}
"""
FUNCTIONS = """\
from lib.words import shout
from penstock import source, table
from pyspark.sql import functions as F


@source(path="{bucket}/raw/orders")
def delivered(df):
    return df


@table
def shouted(delivered):
    return delivered.select("id", F.udf(shout, "string")("id").alias("word"))
"""
HELPER = """\
MARK = "!"


def shout(number):
    return f"{number}{MARK}"
"""
SLOW = "select id, java_method('java.lang.Thread', 'sleep', cast({} as bigint)) as s from {}"
ORDERS = "{{ source('raw', 'orders') }}"


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def place(tmp_path, cluster, bucket, object_server):
    made = Place(tmp_path / "shop")
    text = PROJECT.format(bucket=bucket, master=cluster.url)
    access = STORAGE.format(endpoint=object_server.endpoint, key=KEY, secret=SECRET)
    made.write("penstock.yml", text + access)
    made.write("models/raw.yml", SOURCES.format(bucket=bucket))
    made.write("models/m/words.py", FUNCTIONS.format(bucket=bucket))
    made.write("lib/words.py", HELPER)
    made.model("log", f"select id from {ORDERS}", materialized="merge", unique_key="id")
    deliver(bucket, 1, 2)
    return made


def deliver(bucket, *ids):
    uri = f"{bucket}/raw/orders"
    for number in ids:  # a file each, so that there is work for two workers
        rows = pa.table({"id": pa.array([number], pa.int32())})
        write_deltalake(uri, rows, mode="append", storage_options=table_options_at(uri))


def read(bucket, name, columns):
    uri = f"{bucket}/prod/m/{name}"
    table = DeltaTable(uri, storage_options=table_options_at(uri))
    query = f"SELECT {columns} FROM t ORDER BY id"
    found = pa.table(QueryBuilder().register("t", table).execute(query).read_all())
    return table.version(), [tuple(row.values()) for row in found.to_pylist()]


def done(place, *words):
    code, output = Command(place.root, *words).ended()
    assert code == 0, output
    return output


def test_functions_run_with_their_helpers_and_lost_drivers_and_workers_lose_nothing(
    place, bucket, cluster
):
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    kill_at("after-commit:1", place.root, "run", "--select", "log")
    time.sleep(4.5)  # its lease
    recovered = done(place, "run")

    assert "had committed version 0; recorded" in recovered
    assert read(bucket, "log", "id") == (0, [(1,), (2,)])
    assert read(bucket, "shouted", "id, word") == (0, [(1, "1!"), (2, "2!")])

    place.model("log", SLOW.format(8000, ORDERS), materialized="merge", unique_key="id")
    deliver(bucket, 3, 4)
    command = Command(place.root, "run", "--select", "log")
    command.wait_until(lambda: cluster.executors(0) and cluster.executors(1))
    time.sleep(6)
    cluster.kill_worker(0)
    code, output = command.ended()

    assert code == 0, output
    assert read(bucket, "log", "id")[1] == [(1,), (2,), (3,), (4,)]
    assert "nothing to do" in done(place, "plan", "--select", "log")
