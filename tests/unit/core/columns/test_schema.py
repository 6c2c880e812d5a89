"""Columns are found as Spark compares their names."""

import json

import pytest

from penstock.core.columns.schema import Column, Schema, schema_from_json

SCHEMA = Schema((Column("Id", "int"), Column("name", "string")))


@pytest.mark.parametrize(("name", "found"), [("ID", 0), ("Name", 1), ("nam", None)])
def test_a_column_is_found_without_case(name, found):
    assert SCHEMA.find(name) == (None if found is None else SCHEMA.columns[found])
    assert SCHEMA.names == ("Id", "name")


def field(name, kind, **more):
    return {"name": name, "type": kind, "nullable": True, "metadata": {}} | more


NESTED = {
    "type": "struct",
    "fields": [
        field("a", "long"),
        field("b", {"type": "array", "elementType": "integer", "containsNull": True}),
    ],
}


@pytest.mark.parametrize(
    ("told", "spark"),
    [
        ("long", "bigint"),
        ("integer", "int"),
        ("short", "smallint"),
        ("byte", "tinyint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("timestamp_ntz", "timestamp_ntz"),
        (NESTED, "struct<a:bigint,b:array<int>>"),
        ({"type": "map", "keyType": "string", "valueType": "short"}, "map<string,smallint>"),
        ({"type": "array", "elementType": NESTED}, "array<struct<a:bigint,b:array<int>>>"),
    ],
)
def test_types_are_told_in_sparks_short_spelling(told, spark):
    text = json.dumps({"type": "struct", "fields": [field("c", told)]})

    assert schema_from_json(text).columns == (Column("c", spark),)


def test_comments_and_nullability_come_along():
    told = field("c", "long", nullable=False, metadata={"comment": "Its number"})

    found = schema_from_json(json.dumps({"type": "struct", "fields": [told]}))

    assert found.columns == (Column("c", "bigint", nullable=False, comment="Its number"),)
