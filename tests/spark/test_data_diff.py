"""`penstock diff --data` on real tables: versions, steps and targets, with and without keys."""

import pytest

import penstock
from fakes.place import Place
from penstock.app.commands.data_diff import ChangedColumn, ChangedValue

YML = """\
name: shop
targets:
  dev: {warehouse: mine, spark: {master: "local[1]"}}
  prod: {warehouse: theirs, spark: {master: "local[1]"}}
"""
SOURCES = "sources: [{name: raw, tables: [{name: users, path: ../landing/users}]}]"
COLUMNS = "id INT, name STRING, seen DATE, price DECIMAL(8,2), tags MAP<STRING,INT>, raw BINARY"
FIRST = (
    "(1, 'Ann', DATE'2024-03-01', 1.50, map('a', 1), X'00ff'), "
    "(2, 'Bob', DATE'2024-03-01', 2.50, map('a', 1), X'01'), "
    "(NULL, 'nobody', NULL, NULL, NULL, NULL)"
)
SECOND = "(1, 'Anna', DATE'2024-03-02', 1.50, map('b', 2), X'00fe'), (3, 'Cy', NULL, 9, NULL, NULL)"


@pytest.fixture
def place(spark, tmp_path):
    place = Place(tmp_path, spark)
    place.write("penstock.yml", YML)
    place.write("models/users.yml", SOURCES)
    place.sql(f"CREATE TABLE {place.landing('users')} ({COLUMNS}) USING delta")
    insert(place, FIRST)
    text = "select * from {{ source('raw', 'users') }}"
    keys = {"materialized": "merge", "unique_key": ["id"], "null_keys": "match"}
    place.model("users", text, **keys)
    place.model("plain", "select id, seen from {{ source('raw', 'users') }}", materialized="table")
    return place


def insert(place, values):
    place.sql(f"INSERT INTO {place.landing('users')} VALUES {values}")


def run(place, target="dev", **asked):
    report = penstock.run(place.root, target=target, spark=place.spark, threads=1, **asked)
    assert all(each.ok for each in report.results), report.results


def differs(place, model, **asked):
    return penstock.diff_data(place.root, model, target="dev", spark=place.spark, **asked)


def test_a_merge_is_told_row_by_row(place):
    run(place)
    place.sql(f"DELETE FROM {place.landing('users')}")
    insert(place, SECOND)
    run(place)

    found = differs(place, "users")

    assert found.key == ("id",)
    assert (found.same, found.changed, found.added, found.removed) == (2, 1, 1, 0)
    assert (found.rows_before, found.rows_after, found.repeated) == (3, 4, 0)
    assert found.columns == (
        ChangedColumn("name", 1, (ChangedValue("1", "Ann", "Anna"),)),
        ChangedColumn("seen", 1, (ChangedValue("1", "2024-03-01", "2024-03-02"),)),
        ChangedColumn("raw", 1, (ChangedValue("1", "00FF", "00FE"),)),
    )
    assert found.added_keys == ("3",)
    assert found.not_compared == ("tags MAP<STRING,INT>",)
    assert differs(place, "users", from_="1").same == 4


@pytest.mark.matrix
def test_whole_rows_count_as_often_as_they_occur(place):
    insert(place, "(1, 'Ann', DATE'2024-03-01', 1.50, NULL, NULL)")
    run(place, select=["plain"])
    place.sql(f"DELETE FROM {place.landing('users')} WHERE tags IS NULL")
    run(place, select=["plain"], full_refresh=True)

    found = differs(place, "plain")

    assert found.key == ()
    assert (found.same, found.changed, found.added, found.removed) == (2, 0, 0, 2)
    assert set(found.removed_keys) == {"1, 2024-03-01", "NULL, NULL"}


def test_another_target_with_other_columns_and_repeated_keys(place):
    insert(place, "(2, 'Bobby', DATE'2024-03-05', 0, NULL, NULL)")
    place.model("plain", "select id, seen from {{ source('raw', 'users') }}", materialized="table")
    run(place, "prod", select=["plain"])
    place.model(
        "plain",
        "select cast(id as bigint) id, seen, name from {{ source('raw', 'users') }} where id < 9",
        materialized="table",
    )
    run(place, select=["plain"])

    found = differs(place, "plain", from_="prod", key=["id"])

    assert (found.same, found.changed, found.added, found.removed) == (3, 0, 0, 1)
    assert found.repeated == 1
    assert found.removed_keys == ("NULL",)
    assert found.schema == ("~ id INT -> BIGINT (widening)", "+ name STRING")
    assert (found.before, found.after) == ("version 0 in target prod", "version 0 in target dev")
