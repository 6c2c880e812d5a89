"""A project whose warehouse and source are in a bucket has the rows that it has on a disk."""

import os
import subprocess
import textwrap

import pytest
from deltalake import DeltaTable, QueryBuilder

from fakes.command import PENSTOCK
from fakes.object_store import KEY, SECRET
from penstock.engine.disk.buckets import table_options_at

FILES = {
    "penstock.yml": """\
        name: shop
        targets:
          dev:
            warehouse: {bucket}/prod
            spark:
              master: "local[2]"
              driver_memory: 1g
              conf: {{spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1}}
            storage:
              s3://:
                endpoint: {endpoint}
                access_key_id: {key}
                secret_access_key: "{{{{ env_var('PENSTOCK_SECRET_KEY') }}}}"
                allow_http: true
        """,
    "models/sources.yml": """\
        sources:
          - name: raw
            tables:
              - name: orders
                path: {other}/in/orders
                format: csv
                options: {{header: "true"}}
                columns:
                  - {{name: id, type: INT}}
                  - {{name: day, type: DATE}}
                  - {{name: amount, type: INT}}
                  - {{name: at, type: TIMESTAMP}}
        """,
    "models/log.sql": """\
        {{{{ config(materialized='append', time_column='at') }}}}
        select id, at, amount from {{{{ source('raw', 'orders') }}}}
        """,
    "models/best.sql": """\
        {{{{ config(materialized='merge', unique_key='id') }}}}
        select id, max(amount) as amount from {{{{ source('raw', 'orders') }}}} group by id
        """,
    "models/daily.sql": """\
        {{{{ config(materialized='partition', partition_by='day', start='2024-01-01') }}}}
        select day, count(*) as n, sum(amount) as amount from {{{{ source('raw', 'orders') }}}}
        where day = @partition_date group by day
        """,
}
ORDERS = (
    "id,day,amount,at\n1,2024-01-01,5,2024-01-01 10:00:00\n2,2024-01-02,7,2024-01-02 10:00:00\n",
    "id,day,amount,at\n1,2024-01-03,9,2024-01-03 10:00:00\n",
)


@pytest.fixture
def shop(tmp_path, bucket, object_server):
    """Write the project; its source is written in the other way to name a bucket."""
    names = {
        "bucket": bucket,
        "other": str(bucket).replace("s3:", "s3a:"),
        "endpoint": object_server.endpoint,
        "key": KEY,
    }
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).format(**names))
    return tmp_path


def penstock(root, *words, **environ):
    done = subprocess.run(
        [PENSTOCK, *words],
        cwd=root,
        env=os.environ | {"PENSTOCK_SECRET_KEY": SECRET} | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rows_are_those_of_a_disk_and_looking_needs_no_java(shop, bucket, object_server):
    (bucket / "in/orders/1.csv").write_text(ORDERS[0])
    penstock(shop, "run", "--as-of", "2024-01-02 12:00")
    (bucket / "in/orders/2.csv").write_text(ORDERS[1])
    object_server.requests()
    penstock(shop, "run", "--as-of", "2024-01-03 12:00")
    ours = [each for each in object_server.requests() if not each.startswith("java ")]
    *_, probed = (n for n, each in enumerate(ours) if "_penstock_probe" in each or "delete" in each)

    for name, query, expected in (
        ("log", "SELECT id, amount FROM t ORDER BY at", [(1, 5), (2, 7), (1, 9)]),
        ("best", "SELECT id, amount FROM t ORDER BY id", [(1, 9), (2, 7)]),
        ("daily", "SELECT n, amount FROM t ORDER BY day", [(1, 7), (1, 9)]),
    ):
        assert read(f"{bucket}/prod/shop/{name}", query) == expected
        # recovery, the plan and the probe come before; then each step has one table
        assert sum(f"shop%2F{name}%2F" in e or f"/{name}/" in e for e in ours[probed:]) <= 10, ours
    assert len(ours[:probed]) <= 25, ours
    blind = {"PATH": "/nowhere", "JAVA_HOME": ""}
    planned = penstock(shop, "plan", "--as-of", "2024-01-03 12:00", **blind)
    assert planned.startswith("nothing to do (3 models up to date)")
    object_server.requests()
    shown = penstock(shop, "status", "--as-of", "2024-01-03 12:00", **blind)
    asked = object_server.requests()
    assert "drifted" in shown
    assert len([each for each in asked if "_delta_log" in each]) <= 6, asked  # two for each model
    assert len(asked) <= 7, asked  # and one for the source
    left = [path for path in (shop / ".penstock").rglob("*") if path.is_file()]
    assert [path for path in left if SECRET.encode() in path.read_bytes()] == []


def read(uri, query):
    table = DeltaTable(uri, storage_options=table_options_at(uri))
    found = QueryBuilder().register("t", table).execute(query).read_all()
    columns = [found.column(number).to_pylist() for number in range(found.num_columns)]
    return list(zip(*columns, strict=True))
