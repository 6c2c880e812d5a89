import pytest

from penstock.strategies.values import convert, equals, merged_type


@pytest.mark.parametrize(
    ("left_type", "right_type", "expected"),
    [
        ("string", "string", "l <=> r"),
        ("struct<a:int>", "struct<a:int>", "l <=> r"),
        ("int", "bigint", "CAST(l AS bigint) <=> r"),
        ("decimal(3,2)", "decimal(2,1)", "l <=> CAST(r AS decimal(3,2))"),
        ("array<int>", "array<double>", "CAST(l AS ARRAY<double>) <=> r"),
        (
            "map<string,int>",
            "map<string,int>",
            "sort_array(map_entries(l)) <=> sort_array(map_entries(r))",
        ),
        (
            "struct<a:int>",
            "struct<a:int,b:date>",
            (
                "CASE WHEN l IS NOT NULL THEN named_struct('a', l.`a`, 'b', CAST(NULL AS date)) "
                "END <=> r"
            ),
        ),
        ("int", None, "l IS NULL"),
    ],
)
def test_values_are_compared_in_their_types(left_type, right_type, expected):
    assert equals("l", "r", left_type, right_type) == expected


def test_variables_of_lambdas_are_numbered_by_their_depth():
    kind = "array<map<int,array<map<int,int>>>>"
    side = (
        "transform({}, x1 -> sort_array(transform(map_entries(x1), x2 -> "
        "struct(x2.key, transform(x2.value, x3 -> sort_array(map_entries(x3)))))))"
    )

    assert equals("l", "r", kind, kind) == f"{side.format('l')} <=> {side.format('r')}"


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [
        ("map<int,int>", "map<int,int>", "v"),
        (
            "struct<a:int,b:int>",
            "struct<a:int>",
            "CASE WHEN v IS NOT NULL THEN named_struct('a', v.`a`) END",
        ),
        (
            "array<struct<a:int>>",
            "array<struct<b:int,a:int>>",
            (
                "transform(v, x1 -> CASE WHEN x1 IS NOT NULL THEN "
                "named_struct('b', CAST(NULL AS int), 'a', x1.`a`) END)"
            ),
        ),
        ("map<int,int>", "map<bigint,double>", "CAST(v AS MAP<bigint, double>)"),
        (
            "map<int,struct<a:int>>",
            "map<bigint,struct<a:int,b c:int>>",
            (
                "transform_values(transform_keys(v, (k1, v1) -> CAST(k1 AS bigint)), (k1, v1) -> "
                "CASE WHEN v1 IS NOT NULL THEN named_struct('a', v1.`a`, 'b c', CAST(NULL AS int)) "
                "END)"
            ),
        ),
    ],
)
def test_only_what_differs_is_converted(have, want, expected):
    assert convert("v", have, want) == expected


@pytest.mark.parametrize(
    ("have", "want"), [("bigint", "int"), ("string", "int"), ("array<int>", "int")]
)
def test_nothing_is_converted_at_a_loss(have, want):
    with pytest.raises(ValueError, match=f"{want} does not hold every {have}"):
        convert("v", have, want)


def test_types_that_nothing_holds_do_not_merge():
    with pytest.raises(ValueError, match="no type holds both int and string"):
        merged_type("int", "string")
