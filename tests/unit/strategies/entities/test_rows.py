"""Columns on their way to a silver table, and the SELECT that they make."""

import pytest

from fakes.lake import columns
from penstock.core.columns.schema import Column
from penstock.core.columns.types import parse_type
from penstock.core.errors import SchemaError
from penstock.core.findings import Finding, Location
from penstock.strategies.entities.rows import SliceRows, StagedColumn, clean_type, wrong_fields


@pytest.mark.parametrize(
    ("have", "want", "fails"),
    [
        ("int", "int", False),
        ("int", "bigint", False),
        ("bigint", "int", True),
        ("struct<a b:int>", "struct<ab:int>", False),
        ("string", "date", True),
        ("date", "string", False),
        ("date", "timestamp_ntz", False),
        ("date", "int", True),
        ("decimal(9,2)", "decimal(5,2)", True),
        ("boolean", "int", False),
        ("void", "int", False),
    ],
)
def test_a_cast_may_fail_unless_every_value_fits(have, want, fails):
    assert StagedColumn("a", have, "a", want).is_fallible is fails
    assert StagedColumn("", have, "a", want).is_fallible is False


LOST = "coalesce(CAST({} AS STRING) IN ('', '__HIVE_DEFAULT_PARTITION__'), false)"


@pytest.mark.parametrize(
    ("column", "sql"),
    [
        (StagedColumn("a", "int", "b", "int", "int"), "`a`"),
        (StagedColumn("a", "int", "b", "int"), "`a`"),
        (StagedColumn("a", "string", "b", "int", "int"), "CAST(`a` AS int)"),
        (StagedColumn("a", "int", "b", "int", "bigint"), "CAST(`a` AS bigint)"),
        (StagedColumn("", "", "b", "int", "int"), "CAST(NULL AS int)"),
        (StagedColumn("a", "int", "b", "int", "int", by_partition=True), "`a`"),
        (
            StagedColumn("a", "string", "b", "string", "string", by_partition=True),
            f"CASE WHEN NOT {LOST.format('`a`')} THEN `a` END",
        ),
        (
            StagedColumn("a", "boolean", "b", "boolean", "boolean", is_flag=True),
            "coalesce(`a`, false)",
        ),
    ],
)
def test_a_value_is_cast_to_what_is_wanted_then_to_what_the_table_has(column, sql):
    assert column.value() == sql


def test_a_value_that_may_not_fit_can_be_tried():
    assert StagedColumn("a", "string", "b", "int").value(tries=True) == "try_cast(`a` AS int)"


def test_names_of_fields_are_held_at_any_depth():
    deep = "map<struct<a b:int>,array<struct<(c):int,c:int>>>"

    assert clean_type(deep) == "map<struct<ab:int>,array<struct<c:int,c:int>>>"
    assert [*wrong_fields(parse_type(deep), "m")] == [
        ("column-name-collision", "m.value.element.(c)", "m.value.element.c")
    ]
    nested = "map<struct<=:int>,struct<a:struct< :int>>>"
    assert [(code, path) for code, path, _ in wrong_fields(parse_type(nested), "m")] == [
        ("empty-column-name", "m.key.="),
        ("empty-column-name", "m.value.a. "),
    ]


def test_the_columns_of_penstock_stand_last_in_their_order():
    given = columns("Z int, b int, a int, y int").columns
    rows = SliceRows(
        "made",
        system=("A", "z", "b"),
        columns=tuple(StagedColumn(c.name, "int", c.name, "int", "int") for c in given),
        added=((Column("x", "int"), "1"),),
        where="y > 1",
    )
    inner = "SELECT `Z` AS `Z`, `b` AS `b`, `a` AS `a`, `y` AS `y` FROM `penstock_made`"

    assert rows.stored.names == ("y", "x", "a", "Z", "b")
    assert rows.sql(but=("b",)) == f"SELECT `y`, 1 AS `x`, `a`, `Z` FROM ({inner}) WHERE y > 1"


def test_all_that_is_wrong_with_a_slice_is_one_error():
    here, there = Location("x.json", 2), Location("x.json", 3)
    wrong = (Finding(here, "a", "first", "do"), Finding(there, "b", "second", "undo"))

    SliceRows("made").refuse()
    with pytest.raises(SchemaError) as caught:
        SliceRows("made", findings=wrong).refuse()
    assert (caught.value.code, caught.value.where, caught.value.hint) == ("a", here, "do")
    assert str(caught.value) == "first; b: second (undo)"
