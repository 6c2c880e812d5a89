import re

import pytest

from penstock.core.columns.schema import Column
from penstock.core.columns.types import parse_type
from penstock.strategies.values import hashes_alike, row_hash


def hashed(*columns: str) -> str:
    """Give the text that is hashed, without the call around it; of sizes just what counts."""
    told = row_hash([Column(*each.split(" ", 1)) for each in columns])
    told = told.removeprefix("sha2(concat_ws('', ").removesuffix("), 256)")
    looked_up = f"coalesce(get(split('{' '.join(map(str, range(32)))}', ' '), "
    return re.sub(re.escape(looked_up) + r"(.*?)\), CAST\(\1 AS STRING\)\)", r"\1", told)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("boolean", "concat('1:vB', CAST(`v` AS INT))"),
        ("int", "concat('1:vD', octet_length(CAST(`v` AS STRING)), ':', CAST(`v` AS STRING))"),
        (
            "decimal(5,2)",
            "concat('1:vD', octet_length(TRIMMED), ':', TRIMMED)".replace(
                "TRIMMED", "trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(`v` AS STRING)))"
            ),
        ),
        (
            "decimal(8,6)",
            "concat('1:vD', octet_length(TRIMMED), ':', TRIMMED)".replace(
                "TRIMMED", "trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(`v` AS STRING)))"
            ),
        ),
        (
            "decimal(9,7)",
            (
                "concat('1:vD', octet_length(format_number(`v`, '0.#######')), ':', "
                "format_number(`v`, '0.#######'))"
            ),
        ),
        (
            "float",
            "concat('1:vF', octet_length(CAST(0D + `v` AS STRING)), ':', CAST(0D + `v` AS STRING))",
        ),
        ("string", "concat('1:vS', length(`v`), ':', `v`)"),
        ("binary", "concat('1:vX', octet_length(hex(`v`)), ':', hex(`v`))"),
        ("date", "concat('1:vd', unix_date(`v`), ';')"),
        ("timestamp", "concat('1:vt', unix_micros(`v`), ';')"),
        (
            "array<date>",
            (
                "concat('1:vA', size(`v`), ':', array_join(transform(`v`, x1 -> "
                "concat('d', unix_date(x1), ';')), '', 'N'))"
            ),
        ),
        (
            "struct<a b:date>",
            (
                "CASE WHEN `v` IS NOT NULL THEN concat('1:vR', "
                "CAST(`v`.`a b` IS NOT NULL AS INT), ':', "
                "coalesce(concat('3:a bd', unix_date(`v`.`a b`), ';'), '')) END"
            ),
        ),
        (
            "map<date,date>",
            (
                "concat('1:vM', size(`v`), ':', array_join(sort_array(transform(map_entries(`v`), "
                "x1 -> concat(concat('d', unix_date(x1.key), ';'), "
                "coalesce(concat('d', unix_date(x1.value), ';'), 'N')))), ''))"
            ),
        ),
    ],
)
def test_each_type_has_its_text(kind, expected):
    assert hashed(f"v {kind}") == expected


def test_columns_stand_in_the_order_of_their_folded_names():
    assert hashed("b date", "A date") == hashed("A date", "b date")
    assert hashed("b date", "Ab date") == (
        "concat('2:abd', unix_date(`Ab`), ';'), concat('1:bd', unix_date(`b`), ';')"
    )


def test_names_are_quoted_and_their_length_is_told():
    told = row_hash([Column("it's `ä`", "date")], "s.")

    assert told == (
        "sha2(concat_ws('', concat('8:it\\'s `ä`d', unix_date(s.`it's ``ä```), ';')), 256)"
    )


@pytest.mark.parametrize("kind", ["variant", "array<variant>", "string collate UNICODE_CI"])
def test_a_type_without_an_encoding_is_refused(kind):
    with pytest.raises(ValueError, match="has no row hash"):
        row_hash([Column("v", kind)])


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("tinyint", "bigint", True),
        ("int", "decimal(12,2)", True),
        ("decimal(4,1)", "decimal(9,4)", True),
        ("float", "double", True),
        ("int", "double", False),
        ("array<map<string,int>>", "array<map<string,double>>", False),
        ("map<int,string>", "map<double,string>", False),
        ("struct<a:int>", "struct<a:bigint,b:double>", True),
        ("struct<a:int>", "struct<a:double>", False),
    ],
)
def test_types_whose_equal_values_have_one_text_need_no_new_hash(one, other, alike):
    assert hashes_alike(parse_type(one), parse_type(other)) is alike


@pytest.mark.parametrize(
    ("kind", "lambdas"),
    [
        ("array<array<date>>", ["x1", "x2"]),
        ("map<array<date>,array<date>>", ["x1", "x2", "x2"]),
    ],
)
def test_variables_of_lambdas_are_numbered_by_their_depth(kind, lambdas):
    assert re.findall(r"(\w+) ->", hashed(f"v {kind}")) == lambdas
