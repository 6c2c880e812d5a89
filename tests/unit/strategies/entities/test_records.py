"""The columns of files, and how records that do not fit are told apart."""

import pytest

from fakes.lake import columns
from fakes.silver_table import KEY, an_entity
from penstock.core.columns.schema import Schema
from penstock.core.entities.entity import EntityColumn
from penstock.core.entities.reading import BadRecords, BronzeFormat, Reading
from penstock.core.statement import EXACT_JSON
from penstock.strategies.entities.records import (
    PINNED,
    RawColumn,
    bad_sql,
    pin_of,
    pinned_types,
    raw_columns,
    raw_schema,
    read_options,
    read_sql,
    read_stage,
    record_counts,
    slice_sql,
    unknown_notes,
)

HEADER = {"header": "true"}
DAY = EntityColumn("Day", newname="day", type="date")


def read_as(kind="csv", *more, options=HEADER, **how):
    reading = Reading(BronzeFormat(kind), options, **how)
    return an_entity(columns=(KEY, DAY, *more), reading=reading)


def raw(entity, found, inferred="", pinned=None):
    guessed = columns(inferred) if inferred else Schema()
    return raw_columns(entity, columns(found) if found else Schema(), guessed, pinned)


@pytest.mark.parametrize(
    ("entity", "found", "wanted"),
    [
        (
            read_as(),
            "id string, DAY string, x string",
            [("id", "string", "string"), ("DAY", "string", "date"), ("x", "string", "")],
        ),
        (read_as(), "", [("ID", "string", "string"), ("Day", "string", "date")]),
        (
            read_as(options={}),
            "_c0 string, _c1 string",
            [("ID", "string", "string"), ("Day", "string", "date")],
        ),
        (
            read_as("json"),
            "ID string, __penstock_corrupt string",
            [("ID", "string", "string"), ("Day", "string", "date")],
        ),
        (
            read_as("text"),
            "value string",
            [("value", "string", "string")],
        ),
        (
            read_as("orc", bad_records=BadRecords.DROP_COUNTED),
            "ID int, Day string, x array<int>",
            [("ID", "int", "int"), ("Day", "string", "date"), ("x", "array<int>", "array<int>")],
        ),
        (
            read_as("parquet", rescued="rest"),
            "ID int, x int",
            [("ID", "int", "int"), ("x", "int", "")],
        ),
    ],
    ids=["header", "empty", "no header", "broken", "text", "typed", "rescued"],
)
def test_columns_have_the_types_of_the_entity_and_no_others_are_known(entity, found, wanted):
    assert raw(entity, found) == tuple(RawColumn(*each) for each in wanted)


def test_the_first_slice_decides_inferred_types_and_later_ones_keep_them():
    entity = read_as("json", infer=True)
    found, inferred = "ID string, n string, s string", "ID bigint, n int, s struct<a:int>"

    first = raw(entity, found, inferred)
    kept = pin_of(entity, first)
    later = raw(entity, f"{found}, new string", pinned=pinned_types(entity, kept, Schema()))

    assert first == (
        RawColumn("ID", "string", "bigint"),
        RawColumn("n", "string", "int"),
        RawColumn("s", "struct<a:int>", "struct<a:int>"),
        absent := RawColumn("Day", "string", "date"),
    )
    assert kept == {PINNED: '{"day": "date", "id": "bigint", "n": "int", "s": "struct<a:int>"}'}
    assert later == (*first[:3], RawColumn("new", "string", ""), absent)
    assert [*unknown_notes(entity, later)] == [
        "column-unknown: 'new' is in the slice and not under columns; it is left out"
    ]


def test_a_table_from_before_tells_the_types_that_were_not_kept():
    entity = read_as(infer=True)

    assert pinned_types(entity, {}, columns("ID bigint, day date, n int")) == {
        "id": "bigint",
        "day": "date",
        "n": "int",
    }


def test_text_is_read_as_text_with_the_record_that_cannot_be_parsed():
    entity = read_as(options={"sep": ";", **HEADER})
    found = raw(entity, "ID string, Day string")

    assert raw_schema(entity.settings.reading, found) == (
        "`ID` string, `Day` string, `__penstock_corrupt` STRING"
    )
    finding = {
        "sep": ";",
        "header": "true",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "__penstock_corrupt",
    }
    assert read_options(entity.settings.reading) == finding
    assert read_options(entity.settings.reading, Schema()) == finding | {"enforceSchema": "false"}


def test_a_value_is_converted_as_the_options_write_it():
    entity = read_as(options={**HEADER, "dateFormat": "dd-MM-yyyy"})
    found = raw(entity, "ID string, Day string")
    sql = read_sql(entity, found)

    day = "try_cast(try_to_timestamp(`Day`, 'dd-MM-yyyy') AS date)"
    why = (
        "CASE WHEN `__penstock_corrupt` IS NOT NULL THEN 'it cannot be read' "
        "WHEN (`Day` IS NOT NULL AND `__penstock_value_Day` IS NULL) THEN 'Day is not DATE' END"
    )
    values = f"(SELECT *, {day} AS `__penstock_value_Day` FROM `penstock_raw`)"
    chosen = "`ID` AS `ID`, `__penstock_value_Day` AS `Day`"
    assert sql == f"SELECT {chosen}, {why} AS `__penstock_bad` FROM {values}"
    assert bad_sql(entity, found, "it's.csv") == (
        f"SELECT 'it\\'s.csv' AS source_filename, {why} AS reason, coalesce(`__penstock_corrupt`, "
        f"to_json(struct(`ID`, `Day`), {EXACT_JSON})"
        f") AS record FROM {values} WHERE {why} IS NOT NULL"
    )


def test_a_value_that_is_rescued_makes_no_record_bad():
    entity = read_as(rescued="rest")
    found = raw(entity, "ID string, Day string, x string")
    sql = read_sql(entity, found)

    misfit = "(`Day` IS NOT NULL AND `__penstock_value_Day` IS NULL)"
    pairs = f"'Day', CASE WHEN {misfit} THEN CAST(`Day` AS STRING) END, 'x', CAST(`x` AS STRING)"
    assert (
        f"nullif(to_json(map_filter(map({pairs}), (k, v) -> v IS NOT NULL)), '{{}}') AS `rest`"
        in sql
    )
    assert "is not DATE" not in sql
    assert slice_sql(entity, found) == (
        "SELECT `ID`, `Day`, `rest` FROM `penstock_read` WHERE `__penstock_bad` IS NULL"
    )
    assert [*unknown_notes(entity, found)] == []


def test_only_a_slice_that_may_not_have_bad_records_has_a_rule_about_them():
    found = raw(read_as(), "ID string, Day string")
    fails, keeps = (
        read_stage(read_as(bad_records=each), found, "a.csv")
        for each in (BadRecords.FAIL, BadRecords.QUARANTINE)
    )

    assert [rule.code for rule in fails.rules] == ["bad-records"]
    assert keeps.rules == ()
    row = {"bad_records": 2}
    assert record_counts(read_as(), row) == {}
    assert record_counts(read_as(bad_records=BadRecords.QUARANTINE), row) == row
