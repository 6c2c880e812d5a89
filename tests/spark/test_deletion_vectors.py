"""Which tables have deletion vectors, what a table without them costs, and who reads it."""

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from penstock.engine.log.delta_log import DeltaLog

pytestmark = pytest.mark.spark
SOURCE = "select id, n from {{ source('raw', 'numbers') }}"
MODELS = {
    "plain": {"materialized": "table"},
    "grown": {"materialized": "append", "time_column": "n"},
    "merged": {"materialized": "merge", "unique_key": "id"},
    "rewritten": {"materialized": "merge", "unique_key": "id", "deletion_vectors": False},
    "wanted": {"materialized": "table", "deletion_vectors": True},
}
OFF = {"plain", "grown", "rewritten"}


@pytest.fixture
def numbers(place):
    place.source("numbers", "id BIGINT, n BIGINT")
    place.insert("numbers", "(1, 10), (2, 20), (3, 30)")
    return place


def uri(place, name):
    return f"{place.root}/warehouse/m/{name}"


def vectors(place, name):
    """Return the property of a table, and whether readers must know deletion vectors."""
    folder = uri(place, name)
    features = DeltaTable(folder).protocol().reader_features or []
    said = DeltaLog().facts(folder).properties["delta.enableDeletionVectors"]
    return said, "deletionVectors" in features


def test_tables_have_deletion_vectors_where_rows_are_merged_or_it_is_asked_for(numbers):
    for name, config in MODELS.items():
        numbers.model(name, SOURCE, **config)

    report = numbers.run()
    found = {name: vectors(numbers, name) for name in MODELS}

    assert not [each.error for each in report.results if each.error]
    assert found == {n: ("false", False) if n in OFF else ("true", True) for n in MODELS}
    for name in OFF:  # other tools open what no row is hidden of
        table = DeltaTable(uri(numbers, name))
        assert sorted(table.to_pandas()["n"]) == [10, 20, 30]
        assert table.to_pyarrow_table().num_rows == 3
        assert sorted(pl.read_delta(uri(numbers, name))["n"]) == [10, 20, 30]
        rows = duckdb.from_arrow(table.to_pyarrow_dataset())
        assert rows.sum("n").fetchall() == [(60,)]


@pytest.mark.matrix
def test_a_merge_that_rewrites_files_makes_no_commit_where_no_row_changed(numbers):
    names = ("merged", "rewritten")
    for name in names:
        numbers.model(name, SOURCE, **MODELS[name])
    numbers.run()
    numbers.sql(f"DELETE FROM {numbers.landing('numbers')} WHERE id < 3")
    numbers.insert("numbers", "(1, 10), (2, 20)")  # keys that match, and rows as they were

    numbers.run()
    same = {name: numbers.version(name) for name in names}
    numbers.sql(f"UPDATE {numbers.landing('numbers')} SET n = 21 WHERE id = 2")
    numbers.run()

    assert same == {"merged": 0, "rewritten": 0}
    assert {name: numbers.version(name) for name in names} == {"merged": 1, "rewritten": 1}
    assert numbers.rows("rewritten") == numbers.rows("merged") == [(1, 10), (2, 21), (3, 30)]
    assert vectors(numbers, "rewritten") == ("false", False)


def test_a_table_that_is_there_keeps_its_deletion_vectors_until_another_is_asked_for(numbers):
    numbers.model("grown", SOURCE, materialized="append", time_column="n", deletion_vectors=True)
    numbers.run()
    numbers.model("grown", SOURCE, materialized="append", time_column="n")
    quiet = numbers.run()
    kept = vectors(numbers, "grown")
    numbers.model("grown", SOURCE, materialized="append", time_column="n", deletion_vectors=False)

    numbers.run()

    assert kept == ("true", True)
    assert [each.status for each in quiet.results] == ["unchanged"]
    assert vectors(numbers, "grown") == ("false", True)
