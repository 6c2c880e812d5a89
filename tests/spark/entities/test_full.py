"""Entities that replace: cases EF1 to EF10 on real Delta tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.silver_table import KEY, T1, T2, XF, XM, SilverTable, an_entity
from penstock.core.entities.entity import EntityColumn, FieldRole, ProcessType
from penstock.core.errors import DataError, SchemaError

PARTITION = frozenset({FieldRole.PARTITION})


def files(table):
    """Give the live files by their partition."""
    found = table.spark.sql(f"SELECT DISTINCT year, input_file_name() AS f FROM {table.target}")
    return {row.year: row.f for row in found.collect()}


@pytest.mark.matrix
def test_a_first_slice_makes_the_table_in_one_commit(spark, tmp_path):
    table = SilverTable(spark, tmp_path, XF)

    told = table.run(T1, "(1, 1, 'A'), (2, 1, 'B'), (3, 1, 'C')")

    assert (told, table.version) == ("3/3/0/0", 0)
    assert table.rows("ID, p_source_filename, p_deleted, p_lastSeen") == [
        (n, "slice-1.parquet", False, "T1") for n in (1, 2, 3)
    ]
    assert table.rows("count(p_SourceHash), count(PK_x), max(length(PK_x))") == [(3, 3, 64)]


def test_only_the_partitions_of_the_slice_are_replaced(spark, tmp_path):
    columns = (KEY, EntityColumn("year", roles=PARTITION))
    table = SilverTable(spark, tmp_path, replace(XF, columns=columns))
    table.run(T1, "(1, 2023, 'a'), (2, 2024, 'b'), (3, 2025, 'c')", "ID, year, name")
    before = files(table)

    told = table.run(T2, "(2, 2024, 'b2'), (3, 2025, 'c2')", "ID, year, name")

    assert (told, table.version) == ("2/2/0/0", 1)
    assert table.rows("year, name, p_lastSeen") == [
        (2023, "a", "T1"),
        (2024, "b2", "T2"),
        (2025, "c2", "T2"),
    ]
    assert files(table)[2023] == before[2023]

    table.run(T2, "(3, 2025, 7)", "ID, year, c")
    assert table.rows("year, name, c") == [(2023, "a", None), (2024, "b2", None), (2025, None, 7)]
    assert table.notes == (
        "column-added: 'c' is new in silver_aw.x",
        "column-removed: 'name' is not in the slice",
    )
    with pytest.raises(SchemaError) as refused:
        table.run(T2, "(3, 2025, 'text')", "ID, year, c")
    assert (refused.value.code, table.version) == ("incompatible-type", 2)


@pytest.mark.matrix
def test_a_calculated_literal_is_one_partition(spark, tmp_path):
    region = EntityColumn("region", expression="'EMEA'", literal="EMEA", roles=PARTITION)
    table = SilverTable(spark, tmp_path, replace(XF, columns=(KEY, region)))
    table.run(T1, "(1, 1, 'A'), (2, 1, 'B')")

    table.run(T2, "(3, 1, 'C'), (4, 1, 'D')")

    assert table.rows("ID, region") == [(3, "EMEA"), (4, "EMEA")]


def test_values_and_types_stay(spark, tmp_path):
    table = SilverTable(spark, tmp_path, XF)

    told = table.run(
        T1,
        "(1, 'text', 42L, 3.14D, true, true), (2, NULL, 0L, 0.0D, false, NULL)",
        "ID, t, l, d, b, p_deleted",
    )

    assert told == "2/2/0/0"
    assert table.rows("ID, t, l, d, b, p_deleted") == [
        (1, "text", 42, 3.14, True, True),
        (2, None, 0, 0.0, False, False),
    ]
    assert table.rows("typeof(l), typeof(d)", where="ID = 1") == [("bigint", "double")]


@pytest.mark.parametrize("entity", [XF, XM])
def test_a_slice_without_rows_commits_nothing(spark, tmp_path, entity):
    table = SilverTable(spark, tmp_path, entity)
    table.run(T1, "(1, 1, 'A'), (2, 1, 'B')")

    told = table.run(T2, "")

    assert (told, table.version, len(table.rows())) == ("0/0/0/0", 0, 2)


@pytest.mark.matrix
def test_an_empty_slice_empties_a_table_that_allows_it(spark, tmp_path):
    table = SilverTable(spark, tmp_path, an_entity(ProcessType.FULL, allow_empty=True))
    table.run(T1, "(1, 1, 'A'), (2, 1, 'B')")
    table.run(T2, "")
    parted = an_entity(
        ProcessType.FULL,
        allow_empty=True,
        columns=(KEY, EntityColumn("SeqNr", roles=PARTITION)),
    )
    other = SilverTable(spark, tmp_path / "other", parted)
    other.run(T1, "(1, 1, 'A')")
    other.run(T2, "")

    assert (table.version, table.rows()) == (1, [])
    assert (other.version, len(other.rows())) == (0, 1)


@pytest.mark.matrix
def test_a_partitioned_table_without_rows_and_texts_that_delta_stores_as_null(spark, tmp_path):
    columns = (KEY, EntityColumn("part", roles=PARTITION))
    table = SilverTable(spark, tmp_path, replace(XF, columns=columns))
    types = {"part": "string"}

    table.run(T1, "", "ID, part, name", types=types)
    log = (Path(table.uri) / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8")
    made = next(json.loads(line) for line in log.splitlines() if '"metaData"' in line)
    assert (table.rows("ID"), made["metaData"]["partitionColumns"]) == ([], ["part"])

    table.run(T1, "(1, 'x', 'a'), (2, '', 'b'), (3, NULL, 'c')", "ID, part, name", types=types)
    assert table.rows("ID, part") == [(1, "x"), (2, None), (3, None)]
    table.run(T2, "(4, NULL, 'd')", "ID, part, name", types=types)
    assert table.rows("ID, part") == [(1, "x"), (4, None)]


def test_all_that_is_wrong_with_a_slice_is_said_at_once(spark, tmp_path):
    amount = EntityColumn("amount", type="decimal(18,2)")
    table = SilverTable(spark, tmp_path, replace(XM, columns=(KEY, amount)))
    columns = "ID, SeqNr, amount"

    with pytest.raises(DataError) as twice:
        table.run(T1, "(1, 1, '1'), (1, 2, '2')", columns)
    assert str(twice.value) == (
        "1 business keys occur more than once in slice slice-1.parquet of silver_aw.x "
        "(e.g. ID=1 ×2)"
    )
    assert (twice.value.code, table.version) == ("duplicate-keys", -1)

    table.run(T1, "(1, 1, '1')", columns)
    with pytest.raises(DataError) as wrong:
        table.run(T2, "(1, 1, 'abc'), (1, 2, '2'), (NULL, 3, NULL)", columns)
    assert str(wrong.value) == (
        "1 business keys occur more than once in slice slice-3.parquet of silver_aw.x "
        '(e.g. ID=1 ×2); null-key: 1 rows have NULL in business key "ID" '
        "(make it a calculated column with coalesce); "
        "cast-failed: 1 values of \"amount\" cannot be cast to DECIMAL(18,2) (e.g. 'abc') "
        "(convert them with an expression)"
    )
    assert (str(wrong.value.where), table.version) == ("entities/x.json:6", 0)


@pytest.mark.matrix
def test_without_a_key_no_digest_and_no_duplicates(spark, tmp_path):
    year = EntityColumn("Order Year", roles=PARTITION)
    table = SilverTable(spark, tmp_path / "one", replace(XF, columns=(year,)))
    other = SilverTable(
        spark, tmp_path / "two", replace(XF, columns=(replace(year, newname="yr"),))
    )

    for each in (table, other):
        each.run(T1, "(1, 2024), (1, 2024)", "ID, Order Year")

    assert table.rows("ID, OrderYear") == [(1, 2024), (1, 2024)]
    assert other.rows("ID, yr") == [(1, 2024), (1, 2024)]
    assert "PK_x" not in spark.sql(f"SELECT * FROM {table.target}").columns


@pytest.mark.matrix
def test_an_unpartitioned_table_takes_a_new_type(spark, tmp_path):
    table = SilverTable(spark, tmp_path, XF)
    table.run(T1, "(1, 1, 'A')")

    table.run(T2, "(1, 'one', 'A')", types={"SeqNr": "string"})

    assert (table.rows(), table.version) == ([(1, "one", "A")], 1)
    assert table.notes == ("type-changed: 'SeqNr' goes from INT to STRING",)
