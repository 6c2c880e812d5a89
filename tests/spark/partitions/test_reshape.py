"""Tables made, laid out anew and brought back."""

import datetime as dt
import shutil
from pathlib import Path

import pytest

from penstock.core.errors import TableError
from penstock.core.model import ColumnDoc
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.strategy import Layout
from penstock.strategies.partition import Partition
from penstock.strategies.reshape import restore
from spark.partitions.conftest import day

PLAIN = "date date, n bigint"
CLUSTERED = Layout(cluster_by=("date",))
SECOND, THIRD = dt.date(2024, 12, 2), dt.date(2024, 12, 3)


def test_a_new_table_has_the_declared_columns_and_no_rows(lot) -> None:
    table = lot(
        "date date!, n bigint",
        layout=Layout(("date",), ("n",), {"delta.enableChangeDataFeed": "true"}),
        changes={
            "description": "One row per day",
            "columns": (ColumnDoc("n", "how many"),),
        },
    )

    facts = table.facts

    assert [(c.name, c.type, c.nullable, c.comment) for c in facts.schema.columns] == [
        ("date", "date", False, ""),
        ("n", "bigint", True, "how many"),
    ]
    assert (facts.partition_by, facts.cluster_by, facts.comment) == (
        ("date",),
        (),
        "One row per day",
    )
    assert facts.properties == {
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": "false",
    }
    assert [(c.operation, c.changes_data, c.step) for c in table.commits()] == [
        ("CREATE TABLE", False, "step")
    ]


@pytest.mark.parametrize("layout", [Layout(partition_by=("date",)), CLUSTERED])
def test_a_table_that_somebody_replaced_is_replaced_again(lot, layout) -> None:
    table = lot("date date!, n bigint", layout=layout)
    old = table.facts.table_id
    table.sql("CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS odd")

    table.create(replaces=True)

    assert table.rows() == []
    assert [(c.name, c.nullable) for c in table.facts.schema.columns] == [
        ("date", False),
        ("n", True),
    ]
    assert (table.facts.partition_by, table.facts.cluster_by) == (
        layout.partition_by,
        layout.cluster_by,
    )
    assert table.facts.table_id != old


def test_another_layout_is_a_rewrite_that_keeps_the_rows(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1), day("2024-12-03", 2))
    table.layout, table.by = CLUSTERED, Partition("date", "date", Grid(Grain.MONTH))
    moved = table.migration

    table.rewrite(moved.schema)
    month = "SELECT DATE '2024-12-03' AS date, 9L AS n"
    table.build(("2024-12", month))

    assert moved.moved == (
        "partition_by is [date], the code says []",
        "cluster_by is [], the code says [date]",
    )
    assert [commit.operation for commit in table.commits(1)] == [
        "CREATE OR REPLACE TABLE AS SELECT",
        "WRITE",
    ]
    assert table.rows() == [(THIRD, 9)]


def test_rows_without_a_value_in_a_new_partition_field_are_in_no_partition(lot) -> None:
    table = lot("date date, n bigint, month date")
    table.sql(
        "INSERT INTO {t} VALUES (DATE '2024-12-02', 1, NULL), "
        "(DATE '2024-12-03', 2, DATE '2024-12-01')"
    )
    table.layout = Layout(cluster_by=("month",))
    table.by = Partition("month", "date", Grid(Grain.MONTH))

    table.rewrite(table.migration.schema)

    assert table.rows() == [(THIRD, 2, dt.date(2024, 12, 1))]


@pytest.mark.matrix
def test_a_clustered_table_becomes_a_partitioned_one_in_one_commit(lot) -> None:
    table = lot(PLAIN, layout=CLUSTERED)
    table.build(day("2024-12-02", 1))
    table.layout = Layout(partition_by=("date",))

    table.rewrite(table.migration.schema)

    assert (table.facts.partition_by, table.facts.cluster_by) == (("date",), ())
    assert table.rows() == [(SECOND, 1)]


@pytest.mark.matrix
def test_restoring_brings_rows_columns_and_the_tables_id_back_in_one_commit(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1))
    made = table.facts
    table.versions = ("date date, n double",)
    table.rewrite(table.migration.schema)

    table.commit(restore(table.target, 1))

    (_, commit) = table.commits(1)
    assert (commit.operation, commit.step) == ("RESTORE", "step")
    assert table.rows() == [(SECOND, 1)]
    assert (table.facts.table_id, table.facts.schema) == (made.table_id, made.schema)


@pytest.mark.matrix
def test_a_version_whose_files_are_gone_is_not_restored(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1))
    table.build(day("2024-12-02"))
    shutil.rmtree(Path(table.uri) / "date=2024-12-02")

    with pytest.raises(TableError) as caught:
        table.commit(restore(table.target, 1))

    assert caught.value.code == "rollback-vacuumed"
    assert table.version == 2
