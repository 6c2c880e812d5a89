"""Values in the types of their table."""

import pytest

from penstock.core.columns.casts import castable
from penstock.core.columns.types import parse_type
from penstock.strategies.values import cast


@pytest.mark.parametrize(
    ("have", "want", "sql"),
    [
        ("int", "int", "`c`"),
        ("int", "bigint", "CAST(`c` AS bigint)"),
        ("array<int>", "array<bigint>", "CAST(`c` AS ARRAY<bigint>)"),
        ("struct<A:int>", "struct<a:int>", "CAST(`c` AS STRUCT<`a`: int>)"),
        (
            "struct<b:int,a:int>",
            "struct<a:int,b:int,c:date>",
            (
                "CASE WHEN `c` IS NOT NULL THEN "
                "named_struct('a', `c`.`a`, 'b', `c`.`b`, 'c', CAST(NULL AS date)) END"
            ),
        ),
        (
            "array<struct<b:int,a:int>>",
            "array<struct<a:int>>",
            "transform(`c`, x1 -> CASE WHEN x1 IS NOT NULL THEN named_struct('a', x1.`a`) END)",
        ),
        (
            "map<string,array<struct<b:int,a:int>>>",
            "map<string,array<struct<a:int>>>",
            (
                "transform_values(`c`, (k1, v1) -> transform(v1, x2 -> "
                "CASE WHEN x2 IS NOT NULL THEN named_struct('a', x2.`a`) END))"
            ),
        ),
        (
            "map<int,struct<b:int,a:int>>",
            "map<bigint,struct<a:int>>",
            (
                "transform_values(transform_keys(`c`, (k1, v1) -> CAST(k1 AS bigint)), (k1, v1) -> "
                "CASE WHEN v1 IS NOT NULL THEN named_struct('a', v1.`a`) END)"
            ),
        ),
    ],
)
def test_fields_are_cast_by_name(have, want, sql) -> None:
    assert cast("`c`", parse_type(have), parse_type(want)) == sql


SCALARS = (
    *("boolean", "tinyint", "bigint", "double", "decimal(10,2)", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "array<int>", "map<string,int>", "struct<a:int>"),
)
# 1 where there is a cast; what Spark 4.2 says, but for text of lists, maps and structs.
MATRIX = [
    "1111110000000",
    "1111110010000",
    "1111110010000",
    "1111110010000",
    "1111110010000",
    "1111111111000",
    "0000011000000",
    "0000010111000",
    "0111110111000",
    "0000010111000",
    "0000000000100",
    "0000000000010",
    "0000000000001",
]


def test_there_is_a_cast_where_spark_has_one() -> None:
    types = [parse_type(name) for name in SCALARS]

    assert ["".join(str(int(castable(have, want))) for want in types) for have in types] == MATRIX
