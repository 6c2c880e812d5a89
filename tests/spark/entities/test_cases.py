"""Histories of entities as people read them, odd names, catalogs, and the edges of slices."""

from dataclasses import replace

import pytest

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, EntityPlace, counted
from fakes.place import PROJECT
from fakes.silver_table import T1 as AT1
from fakes.silver_table import T2 as AT2
from fakes.silver_table import T3 as AT3
from fakes.silver_table import SilverTable, an_entity
from penstock.core.entities.entity import EntityColumn, FieldRole, LastSeen
from penstock.core.errors import DataError

pytestmark = pytest.mark.spark
ODD = "ID, SeqNr, name, it's, na`me"
SAID = {"name": "said", "expression": "concat('it''s \"x\"', '\n', coalesce(`na``me`, ''))"}


@pytest.mark.matrix
def test_a_history_is_read_by_its_intervals(spark, tmp_path):
    place = EntityPlace(
        tmp_path,
        spark,
        entity(process="historic", columns=[KEY, SAID]),
        environment={"systemfield_prefix": "dlf_"},
    )
    place.slice("a", (1, 100, "A", "'", "`"), (2, 100, "B", '"', "\n"), columns=ODD)
    assert place.told(T1) == ["a.parquet 2/2/0/0"]
    place.slice("b", (1, 200, "A2", "'", "`"), columns=ODD)
    place.slice("c", (1, 300, "A3", "'", "`"), columns=ODD)
    assert place.told(T2) == ["b.parquet 1/0/1/0", "c.parquet 1/0/1/0"]
    place.slice("d", (1, 400, "A4", "'", "`", "x"), columns=f"{ODD}, more")
    version = place.newest()
    assert place.told(T3) == ["d.parquet 1/0/1/0"]
    assert place.newest() == version + 1

    after = "2025-05-05 10:01:00.000001"
    interval = "dlf_ValidFrom, dlf_ValidTo"
    assert place.stored(f"name, {interval}", "ID = 1") == [
        *(("A", "T1", "T2"), ("A2", "T2", after), ("A3", after, "T3"), ("A4", "T3", None))
    ]
    assert place.stored("ID, name, `it's`, said, more", "dlf_IsCurrent = true") == [
        (1, "A4", "'", 'it\'s "x"\n`', "x"),
        (2, "B", '"', 'it\'s "x"\n\n', None),
    ]
    at = "2025-05-05T10:00:30Z"
    valid = f"dlf_ValidFrom <= '{at}' AND (dlf_ValidTo > '{at}' OR dlf_ValidTo IS NULL)"
    assert place.stored("ID, name", valid) == [(1, "A"), (2, "B")]
    silver = f"delta.`{place.silver()}`"
    ordered = place.sql(f"SELECT name FROM {silver} WHERE ID = 1 ORDER BY dlf_ValidFrom")
    assert [name for (name,) in ordered] == ["A", "A2", "A3", "A4"]


def test_tables_of_a_catalog_and_their_schema_are_made(spark, tmp_path):
    place = EntityPlace(tmp_path, spark)
    place.write("penstock.yml", PROJECT.replace("{warehouse", "{catalog: spark_catalog, warehouse"))
    settings = {"bronze_table": "ec5_raw.orders", "silver_table": "ec5_mart.orders"}
    place.document(
        entity(settings=settings, watermark=[]), environment={"output_method": "catalog"}
    )
    place.sql("CREATE SCHEMA ec5_raw")
    place.sql("CREATE TABLE ec5_raw.orders USING delta AS SELECT 1 AS ID, 'A' AS name")
    try:
        (result,) = place.at(T1, "ec5_mart.orders").results
        assert counted(result) == " 1/1/0/0"
        assert place.sql("SELECT ID, name, p_source_filename FROM ec5_mart.orders") == [
            (1, "A", "ec5_raw.orders")
        ]
        (result,) = place.at(T2, "ec5_mart.orders", slice="s2").results
        assert result.error.code == "slice-column-missing"
    finally:
        for schema in ("ec5_raw", "ec5_mart"):
            place.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.mark.matrix
def test_partitioned_tables_of_a_catalog_and_partitions_that_read_them(spark, tmp_path):
    key = {"name": "ID", "fieldroles": ["businesskey"]}
    day = {"name": "day", "datatype": "date", "fieldroles": ["partition"]}
    place = EntityPlace(tmp_path, spark)
    place.write("penstock.yml", PROJECT.replace("{warehouse", "{catalog: spark_catalog, warehouse"))
    entities = [
        entity(
            number,
            process,
            process,
            columns=[key, day],
            settings={
                "silver_table": f"ec5_parts.by_{process}",
                "delete_missing": process != "full",
            },
        )
        for number, process in enumerate(("full", "merge", "historic"), 1)
    ]
    place.document(*entities, environment={"silver_output": "catalog"})
    config = "materialized='partition', partition_by='day', start='2025-07-01', schema='ec5_parts'"
    query = "select day, ID from ec5_parts.by_merge where day = @partition_date and not p_deleted"
    place.model("daily", f"{{{{ config({config}) }}}}\n{query}")
    first, second = "2025-07-01", "2025-07-02"
    every = "+daily ec5_parts.by_full ec5_parts.by_historic"

    def deliver(name, *rows):
        for process in ("full", "merge", "historic"):
            place.slice(name, *rows, columns="ID, SeqNr, day", entity=process)

    def stored(table, columns="ID, CAST(day AS STRING)", where="true"):
        found = place.sql(f"SELECT {columns} FROM ec5_parts.{table} WHERE {where} ORDER BY ALL")
        return [tuple(row) for row in found]

    try:
        deliver("a", (1, 1, first), (2, 1, first), (3, 1, second))
        report = place.at(T1, every, from_=first, to=second)
        assert [each.error for each in report.results if each.error] == []
        assert stored("daily") == [(1, first), (2, first), (3, second)]

        deliver("b", (1, 2, first), (4, 2, first))
        report = place.at(T2, every, from_=first, to=second)
        assert [each.error for each in report.results if each.error] == []
        assert stored("by_full") == [(1, first), (3, second), (4, first)]
        assert stored("by_merge", "ID", "p_deleted") == [(2,)]
        assert stored("by_historic", "ID", "p_IsCurrent") == [(1,), (3,), (4,)]
        assert stored("daily") == [(1, first), (3, second), (4, first)]
        for table in ("by_full", "by_merge", "by_historic", "daily"):
            (detail,) = place.spark.sql(f"DESCRIBE DETAIL ec5_parts.{table}").collect()
            assert detail.partitionColumns == ["day"]
    finally:
        place.sql("DROP SCHEMA IF EXISTS ec5_parts CASCADE")


@pytest.mark.matrix
def test_edges_of_slices_of_one_table(spark, tmp_path):
    key = EntityColumn("ID", roles=frozenset({FieldRole.BUSINESS_KEY, FieldRole.PARTITION}))
    made = (
        EntityColumn("amount", type="decimal(5,2)"),
        EntityColumn("at", type="timestamp"),
        EntityColumn("sys_load", newname="load"),
    )
    given = an_entity(columns=(key, *made), watermark=(), last_seen=LastSeen.ON_CHANGE)
    table = SilverTable(spark, tmp_path, replace(given, prefix=""))
    columns = "ID, amount, at, sys_load, deleted"
    types = {"ID": "string", "deleted": "boolean"}

    def run(at, rows, named=columns, **more):
        return table.run(at, rows, named, types={**types, **more})

    row = "'1.235', '2025-01-01 00:00:00', 7"
    assert run(AT1, f"('a', {row}, false), ('b', {row}, true)") == "2/1/0/1"
    shown = "ID, CAST(amount AS STRING), CAST(at AS STRING), load, deleted"
    assert table.rows(shown) == [("a", "1.24", "2025-01-01 00:00:00", 7, False)]
    before = table.rows("SourceHash")
    spark.sql(f"OPTIMIZE {table.target}")

    rounded = "'1.24', '2025-01-01T00:00:00Z', 7"
    assert run(AT2, f"('a', {rounded}, false, NULL)", f"{columns}, extra", extra="int") == "1/0/1/0"
    assert (table.rows("SourceHash"), table.rows("extra, lastSeen")) == (before, [(None, "T1")])
    assert "ADD COLUMNS (`extra` int)" in table.committed.sql
    for told, committed in (("1/0/0/1", True), ("1/0/0/1", False)):
        assert run(AT3, f"('a', {row}, true)") == told
        assert (table.committed is not None) is committed
    with pytest.raises(DataError) as empty:
        run(AT3, f"('', {row}, false)")
    assert empty.value.code == "null-key"
