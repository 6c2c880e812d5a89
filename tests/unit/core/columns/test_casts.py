import pytest

from penstock.core.columns.casts import castable, differences
from penstock.core.columns.types import parse_type


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [
        ("string", "bigint", True),
        ("varchar(3)", "date", True),
        ("date", "timestamp", True),
        ("date", "boolean", False),
        ("timestamp", "decimal(20,0)", True),
        ("boolean", "int", True),
        ("boolean", "date", False),
        ("decimal(10,2)", "decimal(5,0)", True),
        ("date", "string collate unicode", True),
        ("void", "array<int>", True),
        ("variant", "struct<a:int>", True),
        ("int", "array<int>", False),
        ("array<int>", "string", False),
        ("array<date>", "array<timestamp>", True),
        ("array<date>", "array<boolean>", False),
        ("map<string,date>", "map<int,boolean>", False),
        ("struct<a:int>", "struct<A:string,b:date>", True),
        ("struct<a:date>", "struct<A:boolean>", False),
    ],
)
def test_a_type_becomes_another_where_spark_has_a_cast(have, want, expected):
    assert castable(parse_type(have), parse_type(want)) is expected


def test_what_does_not_fit_is_told_with_its_path():
    have = parse_type("struct<a:map<date,int>,b:array<date>,only:int>")
    want = parse_type("struct<A:map<boolean,int>,b:array<boolean>,new:string>")

    found = [(str(e.why), e.path, e.have, e.want) for e in differences(have, want, "s")]

    assert found == [
        ("uncastable", "s.A.key", "date", "boolean"),
        ("uncastable", "s.b.element", "date", "boolean"),
        ("missing", "s.new", "", "string"),
        ("extra", "s.only", "int", ""),
    ]
