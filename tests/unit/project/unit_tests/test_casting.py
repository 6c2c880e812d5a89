"""Values of tests are exactly of their types, as Spark reads them, or refused."""

import pytest

from penstock.core.columns.types import parse_type
from penstock.core.findings import Location
from penstock.project.files.nodes import YamlNode
from penstock.project.unit_tests.casting import CellError, typed
from penstock.project.unit_tests.definition import Written
from penstock.project.unit_tests.load import written_node


def cell(text: str) -> YamlNode:
    return YamlNode(Written.of(text), Location("t.yml"))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("127", "tinyint", "127"),
        ("1.0", "bigint", "1"),
        ("-9223372036854775808", "bigint", "-9223372036854775808"),
        ("12.34", "decimal(4,2)", "12.34"),
        ("12.340", "decimal(4,2)", "12.340"),
        ("1e2", "decimal(5,0)", "1E+2"),
        ("0.1", "double", "0.1"),
        ("1e3", "double", "1000.0"),
        ("-.inf", "double", "-inf"),
        ("Infinity", "double", "inf"),
        (".NaN", "float", "nan"),
        ("0.1", "float", "0.10000000149011612"),
        ("true", "boolean", "True"),
        ("0123", "string", "0123"),
        ("1.50", "string", "1.50"),
        ("abc", "varchar(3)", "abc"),
        ("2024-03-01", "date", "2024-03-01"),
        ("2024-03-01", "timestamp", "2024-03-01 00:00:00+00:00"),
        ("2024-03-01 10:00:00.1234560", "timestamp", "2024-03-01 10:00:00.123456+00:00"),
        ("2024-03-01T10:00:00+02:00", "timestamp", "2024-03-01 08:00:00+00:00"),
        ("2024-03-01 10:00:00 Z", "timestamp", "2024-03-01 10:00:00+00:00"),
        ("2024-03-01 10:00:00", "timestamp_ntz", "2024-03-01 10:00:00"),
        ("00ff", "binary", "AP8="),
    ],
)
def test_a_value_that_fits_is_written_as_spark_casts_it(text, kind, value) -> None:
    assert typed(cell(text), parse_type(kind)) == value


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("12.345", "decimal(4,2)", "'12.345' is not a value of DECIMAL(4,2)"),
        ("123.4", "decimal(4,2)", "'123.4' is not a value of DECIMAL(4,2)"),
        ("1e999999999", "decimal(4,2)", "'1e999999999' is not a value of DECIMAL(4,2)"),
        ("abc", "bigint", "'abc' is not a value of BIGINT"),
        ("1.5", "bigint", "'1.5' is not a value of BIGINT"),
        ("300", "tinyint", "'300' is not a value of TINYINT"),
        ("1e400", "double", "'1e400' is not a value of DOUBLE"),
        ("1e39", "float", "'1e39' is not a value of FLOAT"),
        ("9007199254740993", "double", "9007199254740993 is rounded to 9007199254740992.0"),
        ("1", "boolean", "'1' is not a value of BOOLEAN"),
        ("abcd", "varchar(3)", "'abcd' is not a value of VARCHAR(3)"),
        ("2024-02-30", "date", "'2024-02-30' is not a value of DATE"),
        ("2024-02-01 10:00:00", "date", "'2024-02-01 10:00:00' is not a value of DATE"),
        ("2024-02-01 10:00:00.0000001", "timestamp", "is finer than a microsecond"),
        ("2024-02-01T10:00:00Z", "timestamp_ntz", "has a zone, and TIMESTAMP_NTZ has none"),
        ("0", "binary", "'0' is not a value of BINARY"),
        ("{}", "variant", "VARIANT cannot be given as rows; give the table as sql"),
        ("a", "array<int>", "'a' is not a list"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text, kind, said) -> None:
    with pytest.raises(CellError) as error:
        typed(cell(text), parse_type(kind))

    assert said in str(error.value)


def test_lists_and_mappings_are_arrays_structs_and_maps() -> None:
    many, row, pairs, odd = written_node("t.yml", "[[1, ~], {B: 2}, {x: 1}, {c: 1}]")[0].items
    struct = parse_type("struct<a:int,b:bigint>")

    assert typed(many, parse_type("array<int>")) == ["1", None]
    assert typed(row, struct) == {"f1": "2"}
    assert typed(pairs, parse_type("map<string,double>")) == {"x": "1.0"}
    with pytest.raises(CellError, match="'c' is not a field of struct<a:int,b:bigint>"):
        typed(odd, struct)
