"""What is counted of a slice before its step begins."""

import pytest

from fakes.silver_table import KEY, SEQ, XM, an_entity
from penstock.core.columns.schema import Column
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import EntityColumn, FieldRole, WatermarkEntry
from penstock.core.errors import IncrementalConfigError
from penstock.strategies.entities.statistics import (
    SliceCounts,
    check_watermarks,
    columns_of,
    count_stage,
    read_counts,
)
from unit.strategies.entities.slices import taken

GIVEN = "ID int, SeqNr int, name string, country string"
COUNTRY = EntityColumn("country", roles=frozenset({FieldRole.PARTITION}))
BY_COUNTRY = an_entity(columns=(KEY, COUNTRY))
ROW = {
    "rows": 3,
    "flagged": None,
    "low_0": "1",
    "high_0": "7",
    "top_0": "9",
    "empty_0": 2,
    "tuples": '[["NL"],[null],["DE"]]',
    "from_0": "DE",
    "to_0": None,
}


def read(entity=BY_COUNTRY, given=GIVEN, **changes):
    return read_counts(entity, taken(entity, given), ROW | changes)


def look(entity, given=GIVEN, size=None):
    return count_stage(entity, taken(entity, given), "s", size).look_sql


def test_what_the_look_has_seen_is_read_in_the_types_of_its_columns():
    null = "CAST(NULL AS string)"

    assert read() == SliceCounts(
        3,
        0,
        {"SeqNr": TypedValue("INT", "9")},
        {"SeqNr": 2},
        {"ID": (TypedValue("INT", "1"), TypedValue("INT", "7"))},
        (("'DE'",), ("'NL'",), (null,)),
        (("'DE'", null),),
    )
    assert read().notes == ("null-watermark: 2 rows have NULL in watermark column 'SeqNr'",)
    assert read(empty_0=0).notes == ()


def test_too_many_partitions_are_told_by_their_ends_and_no_rows_have_none():
    assert (read(tuples=None).tuples, len(read(tuples=None).ranges)) == (None, 1)
    assert (read(rows=0).tuples, read(rows=0).ranges) == ((), ())


def test_values_of_a_type_without_literals_are_cast_and_have_no_ends():
    yes = read(given="ID boolean, SeqNr int, country boolean", tuples='[["true"]]', to_0="true")

    assert yes.tuples == (("CAST('true' AS boolean)",),)
    assert "low_0" not in look(XM, "ID boolean, SeqNr int")


def test_of_a_whole_source_the_rows_above_the_watermark_are_counted():
    stage = count_stage(XM, taken(XM, GIVEN, where="`SeqNr` > 1"), "s")

    assert stage.look_sql.endswith(" WHERE `SeqNr` > 1 GROUP BY `ID`)")
    assert ") WHERE `SeqNr` > 1 GROUP BY `ID` HAVING" in stage.rules[0].samples


def test_ends_that_nobody_can_write_are_no_bounds():
    assert read(top_0=None).highs == {}
    assert read(low_0=None).bounds == {}
    dates = taken(BY_COUNTRY, "ID date, SeqNr int, country string")
    far = ROW | {"low_0": "2025-01-01", "high_0": "+12025-01-01"}
    assert read_counts(BY_COUNTRY, dates, far).bounds == {}


def test_with_keys_two_aggregates_are_deep_and_without_them_rows_are_counted():
    deep = look(XM)

    assert deep.startswith(
        "SELECT coalesce(sum(`__penstock_n`), 0) AS `rows`, coalesce(sum(`flagged`), 0) AS "
        "`flagged`, count_if(`__penstock_n` > 1 AND `ID` IS NOT NULL) AS `copied`, "
        "coalesce(sum(CASE WHEN `ID` IS NULL THEN `__penstock_n` END), 0) AS `null_0`, "
        "CAST(min(`ID`) AS STRING) AS `low_0`, CAST(max(`ID`) AS STRING) AS `high_0`, "
        "CAST(max(`w_0`) AS STRING) AS `top_0`, coalesce(sum(`v_0`), 0) AS `empty_0` "
        "FROM (SELECT `ID`, count(*) AS `__penstock_n`, count_if(`p_deleted`) AS `flagged`, "
        "max(`SeqNr`) AS `w_0`, count_if(`SeqNr` IS NULL) AS `v_0` FROM ("
    )
    assert deep.endswith(" GROUP BY `ID`)")
    rows = look(an_entity(columns=()))
    assert "1 AS `__penstock_n`, CAST(`p_deleted` AS INT) AS `flagged`, `SeqNr` AS `w_0`" in rows
    assert "GROUP BY" not in rows
    assert "copied" not in rows


def test_a_slice_of_few_bytes_is_counted_by_one_task():
    few, many = 32 * 1024 * 1024, 32 * 1024 * 1024 + 1

    assert ["COALESCE(1)" in look(XM, size=each) for each in (None, few, many)] == [
        False,
        True,
        False,
    ]


def test_partitions_are_collected_unless_there_are_too_many():
    asked = look(BY_COUNTRY)

    found = "collect_set(array(CAST(`p_0` AS STRING)))"
    assert f"CASE WHEN size({found}) <= 1000 THEN to_json({found}) END AS `tuples`" in asked
    assert "CAST(min(`p_0`) AS STRING) AS `from_0`, CAST(max(`p_0`) AS STRING) AS `to_0`" in asked
    assert "any_value(`country`) AS `p_0`" in asked
    both = frozenset({FieldRole.BUSINESS_KEY, FieldRole.PARTITION})
    of_key = look(an_entity(columns=(EntityColumn("ID", roles=both),)))
    assert "CAST(min(`ID`) AS STRING) AS `from_0`" in of_key


def test_copies_of_a_key_nulls_in_it_and_values_that_do_not_fit_are_refused():
    entity = an_entity(columns=(KEY, EntityColumn("name", type="int")))

    copied, null, failed = count_stage(entity, taken(entity, GIVEN), "s").rules

    assert [copied.code, null.code, failed.code] == ["duplicate-keys", "null-key", "cast-failed"]
    assert copied.samples.endswith(
        "GROUP BY `ID` HAVING count(*) > 1 AND `ID` IS NOT NULL ORDER BY `ID` LIMIT 5"
    )
    assert "try_cast(`name` AS int) AS `name`" in look(entity)
    assert failed.sentence == '{count} values of "name" cannot be cast to INT (e.g. {samples})'
    assert failed.samples == (
        "SELECT concat('\\'', CAST(`name` AS STRING), '\\'') FROM `penstock_made` "
        "WHERE (`name` IS NOT NULL AND try_cast(`name` AS int) IS NULL) ORDER BY 1 LIMIT 5"
    )
    keyless = an_entity(columns=())
    assert count_stage(keyless, taken(keyless, GIVEN), "s").rules == ()


def test_a_watermark_is_of_a_type_that_can_be_remembered():
    check_watermarks(XM, taken(XM, GIVEN))
    entity = an_entity(watermark=(WatermarkEntry("xs"), SEQ))
    with pytest.raises(IncrementalConfigError, match=r"'xs' of silver_aw\.x is ARRAY<INT>"):
        check_watermarks(entity, taken(entity, "ID int, SeqNr int, xs array<int>"))


def test_key_and_partition_columns_are_there_once():
    both = frozenset({FieldRole.BUSINESS_KEY, FieldRole.PARTITION})
    entity = an_entity(columns=(EntityColumn("ID", roles=both), COUNTRY))

    assert columns_of(entity, taken(entity, GIVEN)) == (
        Column("ID", "int"),
        Column("country", "string"),
    )
