"""External Delta tables that a project names in a catalog only: pins, drift, and a moved table."""

import pytest

from fakes.place import PROJECT, Place, statuses

SOURCES = "sources: [{name: by_name, tables: [{name: orders}, {name: big}]}]"
DAILY = """\
{{ config(materialized='partition', partition_by='day', start='2024-01-01') }}
select day, sum(amount) as amount from {{ source('by_name', 'orders') }}
where day = @partition_date group by day
"""
TABLE = "spark_catalog.by_name.orders"


@pytest.fixture
def place(spark, tmp_path):
    place = Place(tmp_path, spark)
    place.write("penstock.yml", PROJECT.replace("{warehouse", "{catalog: spark_catalog, warehouse"))
    place.write("models/raw.yml", SOURCES)
    place.write("models/m/daily.sql", DAILY)
    place.model(
        "big",
        "select * from {{ source('by_name', 'big') }}",
        materialized="table",
        schema="by_name_m",
    )
    place.sql("CREATE SCHEMA spark_catalog.by_name")
    create(place, "orders", "(DATE'2024-01-01', 1), (DATE'2024-01-02', 2)")
    place.sql(f"CREATE VIEW spark_catalog.by_name.big AS SELECT * FROM {TABLE} WHERE amount > 1")
    yield place
    for schema in ("by_name", "by_name_m", "m"):
        place.sql(f"DROP SCHEMA IF EXISTS spark_catalog.{schema} CASCADE")


def create(place, folder, rows):
    columns = f"(day DATE, amount INT) USING delta LOCATION '{place.root}/{folder}'"
    place.sql(f"CREATE TABLE {TABLE} {columns}")
    place.sql(f"INSERT INTO {TABLE} VALUES {rows}")


def synced(place):
    return statuses(place.sync("daily", as_of="2024-01-02"))


def days(place):
    return [amount for _, amount in place.rows("daily")]


def test_a_source_by_name_is_pinned_and_its_changes_are_seen_without_spark(place):
    assert synced(place) == {"daily": "success"}
    assert place.run("big").succeeded
    pins = place.services().reading.records.step_pins("daily")["daily"]
    place.services().close()
    assert {str(step["by_name.orders"]) for step in pins.values()} == {"v1"}
    assert days(place) == [1, 2]
    assert synced(place) == {}

    place.sql(f"INSERT INTO {TABLE} VALUES (DATE'2024-01-02', 5)")
    assert "source_changed" in map(str, place.states()["daily"])
    synced(place)
    assert days(place) == [1, 7]

    place.sql(f"DROP TABLE {TABLE}")
    create(place, "elsewhere", "(DATE'2024-01-01', 10), (DATE'2024-01-02', 20)")
    place.sync("daily", as_of="2024-01-02", full_refresh=True)
    assert days(place) == [10, 20]
    assert synced(place) == {}
