from dataclasses import replace

from fakes.builders import a_model
from penstock.core.statement import Commit
from penstock.core.strategy import Layout, Writing
from penstock.strategies.table import Table
from unit.strategies.builds import a_build, read

PARTITIONS = Table(overwrite_partitions=True)


def test_a_table_is_replaced_whole_in_one_statement() -> None:
    build = a_build(Table(), table="id int")

    work = Table().work(build)

    assert work.stages == ()
    assert work.decide({}) == Commit(
        "CREATE OR REPLACE TABLE delta.`/w/s/users` USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') "
        "AS SELECT `id`, `name` FROM `penstock_query`"
    )


def test_layout_comment_and_location_are_set_by_the_statement_that_makes_the_table() -> None:
    layout = Layout(("day", "odd`name"), (), {"delta.enableDeletionVectors": "false"})
    model = replace(a_model("users"), layout=layout, description="It's one row per user")
    build = a_build(model=model, target="`main`.`s`.`users`", location="/w/s/users", query="id int")

    assert build.model.strategy.work(build).decide({}) == Commit(
        "CREATE OR REPLACE TABLE `main`.`s`.`users` USING delta "
        "PARTITIONED BY (`day`, `odd``name`) "
        "COMMENT 'It\\'s one row per user' "
        "LOCATION '/w/s/users' "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') "
        "AS SELECT `id` FROM `penstock_query`"
    )


def test_clustering_is_told_to_the_log_too() -> None:
    model = replace(a_model("users"), layout=Layout(cluster_by=("id",)))

    assert Table().work(a_build(model=model, query="id int")).decide({}) == Commit(
        "CREATE OR REPLACE TABLE delta.`/w/s/users` USING delta CLUSTER BY (`id`) "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'penstock.clusterBy' = 'id') "
        "AS SELECT `id` FROM `penstock_query`"
    )


def test_overwriting_partitions_replaces_those_in_the_result_and_no_others() -> None:
    build = a_build(PARTITIONS, table="id int, name string")

    assert build.model.strategy.work(build).decide({}) == Commit(
        "INSERT OVERWRITE delta.`/w/s/users` BY NAME SELECT `id`, `name` FROM `penstock_query`",
        {"spark.sql.sources.partitionOverwriteMode": "dynamic"},
    )


def test_overwriting_partitions_takes_new_columns_in_with_the_same_commit() -> None:
    build = a_build(PARTITIONS, table="id int", evolves=True)

    assert build.model.strategy.work(build).decide({}).sql == (
        "INSERT WITH SCHEMA EVOLUTION OVERWRITE delta.`/w/s/users` BY NAME "
        "SELECT `id`, `name` FROM `penstock_query`"
    )


def test_the_first_overwrite_of_partitions_makes_the_table() -> None:
    assert PARTITIONS.work(a_build(PARTITIONS)).decide({}).sql.startswith("CREATE OR REPLACE")


def test_partitions_are_overwritten_only_where_there_are_some() -> None:
    assert read(Table) == (Table(), [])
    assert read(Table, overwrite="partitions", partition_by=("day",)) == (PARTITIONS, [])
    assert read(Table, overwrite="partitions") == (PARTITIONS, ["overwrite: missing-key"])
    assert [each.writing for each in (Table(), PARTITIONS)] == [Writing.WHOLE, Writing.ADDED]
    assert [each.keeps_rows for each in (Table(), PARTITIONS)] == [False, True]
    assert PARTITIONS.staying(Layout(), "r", "t") == "false"
    assert [each.fingerprint(Layout(("day",))) for each in (Table(), PARTITIONS)] == [
        {},
        {"overwrite": ["day"]},
    ]
