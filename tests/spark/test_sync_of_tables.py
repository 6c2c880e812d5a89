"""What `sync` makes of tables whose ordinary steps keep the rows of earlier ones."""

import shutil
from pathlib import Path

import pytest

from fakes.place import Place, statuses

KEEPING = {
    "whole_merge": {"materialized": "merge", "unique_key": "id"},
    "windowed_merge": {"materialized": "merge", "unique_key": "id", "time_column": "ts"},
    "log": {"materialized": "append", "time_column": "ts"},
}
NAMES = {*KEEPING, "reader"}
QUERY = "select id, ts, amount from {{ ref('base') }}"
EDITED = "select id, ts, amount + 1000 as amount from {{ ref('base') }}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, spark) -> Path:
    """Three models that keep rows and one that reads such a table, built in two runs."""
    place = Place(tmp_path_factory.mktemp("built"), spark)
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.model("base", "select * from {{ source('raw', 'events') }}", materialized="table")
    _write(place, QUERY)
    reading = "select id, amount from {{ ref('whole_merge') }}"
    place.model("reader", reading, materialized="merge", unique_key="id")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    place.run()
    place.insert("events", "(3, '2024-01-03', 3)")
    place.run()
    return place.root


@pytest.fixture
def built(tmp_path, spark, folder) -> Place:
    """A copy of it, tables and records included."""
    shutil.copytree(folder, tmp_path / "shop")
    return Place(tmp_path / "shop", spark)


def _write(place: Place, query: str) -> None:
    for name, settings in KEEPING.items():
        place.model(name, query, **settings)


def _from_scratch(place: Place) -> dict[str, list[tuple[object, ...]]]:
    place.run(full_refresh=True)
    return {name: place.rows(name) for name in NAMES}


@pytest.mark.matrix
def test_keys_that_vanished_are_gone_once_other_sql_is_synced(built: Place) -> None:
    built.sql(f"DELETE FROM {built.landing('events')} WHERE id = 1")
    _write(built, EDITED)

    report = built.sync(cascade=True)

    rows = {name: built.rows(name) for name in NAMES}
    assert set(statuses(report).values()) == {"success"}
    assert [row[0] for row in rows["whole_merge"]] == [2, 3]
    assert rows["reader"] == [(2, 1002), (3, 1003)]
    assert [states for states in built.states().values() if states] == []
    assert {name: built.version(name) for name in KEEPING} == dict.fromkeys(KEEPING, 2)
    assert [(row[0], row[2]) for row in rows["windowed_merge"]] == [(2, 1002), (3, 1003)]
    assert rows["log"] == rows["windowed_merge"] == rows["whole_merge"]


@pytest.mark.matrix
def test_rows_of_others_are_gone_after_a_sync_even_if_a_run_failed_in_between(built: Place) -> None:
    for name in KEEPING:
        built.sql(f"INSERT INTO {built.table(name)} VALUES (9, TIMESTAMP'2024-01-09', 9)")
    built.sql(f"INSERT INTO {built.table('reader')} VALUES (9, 9)")
    _write(built, "select id, ts, raise_error('no') as amount from {{ ref('base') }}")
    failed = built.run()
    _write(built, QUERY)

    built.sync()

    rows = {name: built.rows(name) for name in NAMES}
    assert statuses(failed)["whole_merge"] == "failed"
    assert [row[0] for row in rows["whole_merge"]] == [1, 2, 3]
    assert [states for states in built.states().values() if states] == []
    assert rows == _from_scratch(built)
