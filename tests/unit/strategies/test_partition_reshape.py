"""Statements that make, change or bring back a partitioned model's table."""

from dataclasses import replace

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.columns.schema import Column, Schema
from penstock.core.facts import TableFacts
from penstock.core.model import ColumnDoc
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.statement import Commit
from penstock.core.strategy import Layout
from penstock.strategies.partition import Partition
from penstock.strategies.reshape import create_empty, drop_not_null, restore, rewrite

TARGET = "delta.`/w/a/daily`"
BY_DATE = Partition("date", "date", Grid(Grain.DAY))
DAILY = replace(a_model("daily", strategy=BY_DATE), layout=Layout(("date",)))
SCHEMA = columns("date date, n bigint")


def facts(schema: Schema, partition_by: tuple[str, ...] = ("date",)) -> TableFacts:
    return TableFacts("id", 3, schema, partition_by)


def test_a_new_table_has_columns_layout_and_properties() -> None:
    wanted = Schema((Column("date", "date", nullable=False), Column("n", "bigint")))
    model = replace(DAILY, columns=(ColumnDoc("N", "how many"),), description="One row per day")

    assert create_empty(model, TARGET, wanted, location="/w/a/daily") == Commit(
        "CREATE TABLE delta.`/w/a/daily` (`date` date NOT NULL, `n` bigint COMMENT 'how many') "
        "USING delta PARTITIONED BY (`date`) COMMENT 'One row per day' LOCATION '/w/a/daily' "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
        once=False,
    )


def test_a_clustered_table_takes_the_place_of_another() -> None:
    model = replace(DAILY, layout=Layout(cluster_by=("date", "n")))

    assert create_empty(model, TARGET, SCHEMA, replaces=True) == Commit(
        "REPLACE TABLE delta.`/w/a/daily` (`date` date, `n` bigint) USING delta "
        "CLUSTER BY (`date`, `n`) TBLPROPERTIES "
        "('delta.enableDeletionVectors' = 'false', 'penstock.clusterBy' = 'date,n')",
        once=False,
    )


def test_a_rewrite_casts_all_rows_and_adds_what_is_new() -> None:
    wanted = columns("date date, n double, events bigint")

    assert rewrite(DAILY, TARGET, wanted, facts(columns("date date, N bigint, old int"))) == Commit(
        "CREATE OR REPLACE TABLE delta.`/w/a/daily` USING delta PARTITIONED BY (`date`) "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') AS "
        "SELECT `date` AS `date`, CAST(`N` AS double) AS `n`, CAST(NULL AS bigint) AS `events` "
        "FROM delta.`/w/a/daily`",
        {"spark.sql.ansi.enabled": "true"},
    )


def test_a_rewrite_by_another_field_leaves_rows_without_it_out() -> None:
    sql = rewrite(DAILY, TARGET, SCHEMA, facts(SCHEMA, ("month",))).sql

    assert sql.endswith(
        "AS SELECT * FROM (SELECT `date` AS `date`, `n` AS `n` FROM delta.`/w/a/daily`) "
        "WHERE `date` IS NOT NULL"
    )


def test_not_null_goes_from_several_columns_at_once() -> None:
    assert drop_not_null(TARGET, ("a", "odd`b")) == (
        "ALTER TABLE delta.`/w/a/daily` ALTER COLUMN `a` DROP NOT NULL, `odd``b` DROP NOT NULL",
    )
    assert drop_not_null(TARGET, ()) == ()


def test_a_version_is_restored_by_its_number() -> None:
    assert restore(TARGET, 7) == Commit(
        "RESTORE TABLE delta.`/w/a/daily` TO VERSION AS OF 7", once=False
    )
