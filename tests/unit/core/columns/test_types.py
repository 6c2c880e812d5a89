import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.columns.types import (
    ArrayType,
    Field,
    MapType,
    ScalarType,
    StructType,
    has_map,
    is_text,
    merged,
    parse_type,
    scalars,
    sql_type,
    widens,
)

SIMPLE = ["tinyint", "smallint", "int", "bigint", "float", "double", "string", "date", "timestamp"]
DECIMALS = st.integers(1, 38).flatmap(
    lambda digits: st.integers(0, digits).map(lambda scale: f"decimal({digits},{scale})")
)
TYPES = st.sampled_from(SIMPLE) | DECIMALS
NAMES = st.text(st.sampled_from("aB `:,<>é."), max_size=4)
SCALARS = st.sampled_from(
    [*SIMPLE, "string collate UTF8_LCASE", "varchar(5)", "interval day to second", "time(6)"]
).map(ScalarType)


def folded(field):
    return field.name.lower()


def structs(parts):
    """Structs whose fields have different names without case, as Delta wants them."""
    fields = st.lists(st.builds(Field, NAMES, parts), max_size=3, unique_by=folded)
    return fields.map(lambda found: StructType(tuple(found)))


TREES = st.recursive(
    SCALARS,
    lambda parts: st.builds(ArrayType, parts) | st.builds(MapType, parts, parts) | structs(parts),
    max_leaves=6,
)


def both(first: str, second: str, *, grow: bool = True) -> str | None:
    found = merged(parse_type(first), parse_type(second), grow=grow)
    return found and str(found)


@given(TREES)
def test_a_type_reads_back_as_it_was_printed(kind):
    assert parse_type(str(kind)) == kind


def test_a_nested_type_is_a_tree():
    text = "struct<a:int,b:array<decimal(10,2)>,odd name:map<string,variant>>"

    assert parse_type(text) == StructType(
        (
            Field("a", ScalarType("int")),
            Field("b", ArrayType(ScalarType("decimal(10,2)"))),
            Field("odd name", MapType(ScalarType("string"), ScalarType("variant"))),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "array<int",
        "array<>",
        "map<int>",
        "struct<a>",
        "struct<:>",
        "int>",
        "a,b",
    ],
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(ValueError, match="is not a type in Spark's short spelling"):
        parse_type(text)


def test_sql_quotes_every_name():
    kind = StructType((Field("a`b:c", ScalarType("int")), Field("d", ArrayType(StructType()))))

    assert str(kind) == "struct<`a``b:c`:int,d:array<struct<>>>"
    assert sql_type(kind) == "STRUCT<`a``b:c`: int, `d`: ARRAY<STRUCT<>>>"


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("tinyint", "smallint"),
        ("smallint", "int"),
        ("int", "bigint"),
        ("tinyint", "double"),
        ("int", "double"),
        ("float", "double"),
        ("int", "decimal(10,0)"),
        ("tinyint", "decimal(12,2)"),
        ("bigint", "decimal(20,0)"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,4)"),
    ],
)
def test_a_type_widens_to_one_that_holds_all_its_values_and_not_back(narrow, wide):
    assert widens(narrow, wide)
    assert not widens(wide, narrow)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("bigint", "double"),
        ("int", "float"),
        ("int", "string"),
        ("int", "decimal(9,0)"),
        ("int", "decimal(11,2)"),
        ("bigint", "decimal(19,0)"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("decimal(10,2)", "decimal(12,1)"),
        ("decimal(10,2)", "double"),
        ("date", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("int", "int"),
    ],
)
def test_any_other_change_of_type_is_no_widening(narrow, wide):
    assert not widens(narrow, wide)


@given(TYPES, TYPES, TYPES)
def test_widening_twice_is_widening(first, second, third):
    if widens(first, second) and widens(second, third):
        assert widens(first, third)


@given(TYPES, TYPES)
def test_two_types_never_widen_to_each_other(first, second):
    if widens(first, second) and widens(second, first):
        assert first == second


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "int", "bigint"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("map<int,float>", "map<int,double>", "map<int,double>"),
        ("struct<a:int,b:double>", "struct<B:float,A:bigint>", "struct<a:bigint,b:double>"),
        ("struct<a:int>", "struct<b:int,a:int>", "struct<a:int,b:int>"),
        ("array<struct<m:map<int,int>>>", "array<struct<m:map<int,date>>>", None),
        ("map<string,int>", "array<int>", None),
        ("int", "struct<a:int>", None),
        ("decimal(10,2)", "decimal(10,4)", None),
    ],
)
def test_two_types_merge_to_the_one_that_holds_both(first, second, expected):
    assert both(first, second) == expected


def test_without_growing_the_first_types_fields_are_all_there_are():
    assert both("struct<a:int>", "struct<a:bigint,b:int>", grow=False) == "struct<a:bigint>"


@given(TREES)
def test_a_type_merged_with_itself_stays(kind):
    assert merged(kind, kind) == kind


def test_a_type_is_written_as_sql_and_taken_apart():
    kind = parse_type("map<string,struct<a b:array<int>,c:string>>")

    assert sql_type(kind) == "MAP<string, STRUCT<`a b`: ARRAY<int>, `c`: string>>"
    assert scalars(kind) == ("string", "int", "string")
    assert [has_map(parse_type(each)) for each in ("array<map<int,int>>", "struct<a:int>")] == [
        True,
        False,
    ]


def test_texts_are_those_of_any_length_and_collation():
    kinds = ["string", "string collate UTF8_LCASE", "char(3)", "varchar(5)", "int", "binary"]

    assert [is_text(kind) for kind in kinds] == [True] * 4 + [False] * 2
