"""History tables that dbt built: adopted in place, and continued with dbt's columns."""

import hashlib

import pytest

from fakes.history_place import CK, COLUMNS, TS, HistoryPlace
from fakes.history_story import T1, T2, T3
from penstock import snapshot_verify
from penstock.app.commands.migrate import migrate
from penstock.core.errors import TableError

DBT = "id INT, value STRING, updated_at TIMESTAMP, dbt_scd_id STRING, dbt_updated_at TIMESTAMP, "
DBT += "dbt_valid_from TIMESTAMP, dbt_valid_to TIMESTAMP"
SHOWN = (
    "id, value, dbt_scd_id, CAST(dbt_updated_at AS STRING), CAST(dbt_valid_from AS STRING), "
    "CAST(dbt_valid_to AS STRING)"
)


@pytest.fixture
def place(tmp_path, spark):
    place = HistoryPlace(tmp_path, spark)
    place.source("people", COLUMNS)
    return place


def adopt(place, name):
    services = place.services()
    try:
        return migrate(services, name, adopt=True)
    finally:
        services.close()


def scd_id(key, at):
    """The id as dbt computes it on Spark."""
    return hashlib.md5(f"{key}|{at}".encode(), usedforsecurity=False).hexdigest()


def test_a_table_of_dbts_timestamp_strategy_gets_the_versions_that_dbt_would_add(place) -> None:
    place.snapshot("users", layout="dbt", **TS)
    place.sql(f"CREATE TABLE {place.table('users')} ({DBT}) USING delta")
    old = [scd_id(1, "2024-01-05 00:00:00"), scd_id(2, "2024-01-06 00:00:00")]
    place.sql(
        f"INSERT INTO {place.table('users')} VALUES "
        f"(1, 'a', '2024-01-05', '{old[0]}', '2024-01-05', '2024-01-05', NULL), "
        f"(2, 'b', '2024-01-06', '{old[1]}', '2024-01-06', '2024-01-06', NULL)"
    )
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")

    report = adopt(place, "users")
    result = place.snap(T1)["users"]

    assert (report.adopted, report.opens, report.closes) == (True, 2, 1)
    assert result.status == "success"
    assert place.sql(f"SELECT {SHOWN} FROM {place.table('users')} ORDER BY id, dbt_valid_from") == [
        (1, "a", old[0], "2024-01-05 00:00:00", "2024-01-05 00:00:00", "2024-02-01 00:00:00"),
        (1, "A", scd_id(1, "2024-02-01 00:00:00"), *["2024-02-01 00:00:00"] * 2, None),
        (2, "b", old[1], "2024-01-06 00:00:00", "2024-01-06 00:00:00", None),
        (3, "c", scd_id(3, "2024-02-02 00:00:00"), *["2024-02-02 00:00:00"] * 2, None),
    ]
    assert snapshot_verify(place.root, "users", spark=place.spark).ok
    assert place.snap(T2)["users"].reason == "current"


@pytest.mark.matrix
def test_dbts_check_strategy_with_other_names_deletes_and_an_end_of_current_versions(place) -> None:
    place.snapshot(
        "users",
        layout="dbt",
        hard_deletes="new_record",
        snapshot_meta_column_names={"dbt_valid_from": "since", "dbt_valid_to": "until"},
        dbt_valid_to_current="to_date('9999-12-31')",
        **CK,
    )
    place.sql(
        f"CREATE TABLE {place.table('users')} (id INT, value STRING, updated_at TIMESTAMP, "
        "dbt_scd_id STRING, dbt_updated_at TIMESTAMP, since TIMESTAMP, until TIMESTAMP, "
        "dbt_is_deleted STRING) USING delta"
    )
    place.sql(
        f"INSERT INTO {place.table('users')} VALUES "
        "(1, 'a', '2024-01-05', 'x', '2024-04-01', '2024-04-01', '9999-12-31', 'False'), "
        "(2, 'b', '2024-01-06', 'y', '2024-04-01', '2024-04-01', '9999-12-31', 'False')"
    )
    place.model(
        "then",
        "select id, value from {{ as_of(ref('users'), '2024-06-15') }}",
        materialized="table",
    )
    shown = "id, value, CAST(since AS STRING), CAST(until AS STRING), dbt_is_deleted"
    order = f"SELECT {shown} FROM {place.table('users')} ORDER BY id, since"

    place.has("people", "1 A 02-01")
    adopt(place, "users")
    place.snap(T1, "users")
    gone = place.sql(order)
    again = place.snap(T2, "users")["users"]
    place.run("then")
    then = place.rows("then")
    place.has("people", "1 A 02-01", "2 b 01-06")
    place.snap(T3, "users")

    assert gone == [
        (1, "a", "2024-04-01 00:00:00", "2024-05-01 00:00:00", "False"),
        (1, "A", "2024-05-01 00:00:00", "9999-12-31 00:00:00", "False"),
        (2, "b", "2024-04-01 00:00:00", "2024-05-01 00:00:00", "False"),
        (2, "b", "2024-05-01 00:00:00", "9999-12-31 00:00:00", "True"),
    ]
    assert again.status == "unchanged"
    assert then == [(1, "A")]
    assert place.sql(order)[3:] == [
        (2, "b", "2024-05-01 00:00:00", "2024-07-01 00:00:00", "True"),
        (2, "b", "2024-07-01 00:00:00", "9999-12-31 00:00:00", "False"),
    ]
    assert snapshot_verify(place.root, "users", spark=place.spark).ok


def test_a_table_is_adopted_before_what_it_reads_is_built(place) -> None:
    place.model("stg", "select * from {{ source('raw', 'people') }}", materialized="table")
    query = "select id, value, updated_at from {{ ref('stg') }}"
    place.model("users", query, materialized="snapshot", layout="dbt", **TS)
    place.sql(f"CREATE TABLE {place.table('users')} ({DBT}) USING delta")
    place.has("people", "1 a 01-05")

    report = adopt(place, "users")
    place.run("stg")
    result = place.snap(T1)["users"]

    assert (report.adopted, report.opens) == (True, 0)
    assert report.uncounted == f"stg has no table at {place.root}/warehouse/m/stg"
    assert result.status == "success"
    assert place.sql(f"SELECT id FROM {place.table('users')}") == [(1,)]


def test_a_first_run_makes_the_table_as_dbt_makes_it(place) -> None:
    place.snapshot("users", layout="dbt", **CK)
    place.has("people", "1 a 01-05")

    place.snap(T1)

    table = place.table("users")
    assert [row[0] for row in place.sql(f"DESCRIBE {table}")][:7] == [
        *("id", "value", "updated_at"),
        *("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to"),
    ]
    assert place.sql(f"SELECT {SHOWN} FROM {table}") == [
        (1, "a", scd_id(1, "2024-05-01 00:00:00"), *["2024-05-01 00:00:00"] * 2, None)
    ]


def test_a_table_whose_versions_start_at_a_date_is_refused_with_both_types(place) -> None:
    place.snapshot("users", layout="dbt", **TS)
    types = DBT.replace("dbt_valid_from TIMESTAMP", "dbt_valid_from DATE")
    place.sql(f"CREATE TABLE {place.table('users')} ({types}) USING delta")

    with pytest.raises(TableError, match="dbt_valid_from is DATE, not TIMESTAMP") as caught:
        adopt(place, "users")

    assert caught.value.code == "not-a-history-table"
