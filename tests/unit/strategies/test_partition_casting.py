"""Values in the types of their table."""

import pytest

from penstock.core.casts import castable
from penstock.core.types import parse_type
from penstock.strategies.casting import cast


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
                "IF(`c` IS NULL, NULL, "
                "named_struct('a', `c`.`a`, 'b', `c`.`b`, 'c', CAST(NULL AS date)))"
            ),
        ),
        (
            "array<struct<b:int,a:int>>",
            "array<struct<a:int>>",
            "transform(`c`, v0 -> IF(v0 IS NULL, NULL, named_struct('a', v0.`a`)))",
        ),
        (
            "map<string,array<struct<b:int,a:int>>>",
            "map<string,array<struct<a:int>>>",
            (
                "transform_values(`c`, (k0, v0) -> "
                "transform(v0, v1 -> IF(v1 IS NULL, NULL, named_struct('a', v1.`a`))))"
            ),
        ),
        (
            "map<int,struct<b:int,a:int>>",
            "map<bigint,struct<a:int>>",
            (
                "transform_keys(transform_values(`c`, (k0, v0) -> "
                "IF(v0 IS NULL, NULL, named_struct('a', v0.`a`))), (k0, v0) -> CAST(k0 AS bigint))"
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
