from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.versioned_cases import daily
from penstock.core.columns.schema import Column
from penstock.project.files.values import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("36h", 129600),
        ("2 days", 172800),
        ("1 day", 86400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("2 weeks", 1209600),
        ("45 seconds", 45),
        ("PT36H", 129600),
        ("P1DT12H", 129600),
        ("P2W", 1209600),
        ("PT0.5S", 0.5),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "90", "m", "2 months", "1h 2h", "P", "PT", "P1M", "-1h", "1y", "h1", "9" * 20 + "d"],
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(0, 10_000), st.sampled_from(["m", "h", "d", "w", " minutes", " hours", " days"]))
def test_a_duration_is_its_number_of_units(count, unit):
    assert parse_duration(f"{count}{unit}") == count * parse_duration(f"1{unit}")


ALIASES = {
    "INT64": "bigint",
    "FLOAT64": "double",
    "BOOL": "boolean",
    "BYTES": "binary",
    "NUMERIC": "decimal(38,9)",
    "NUMERIC(10,2)": "decimal(10,2)",
    "DATETIME": "timestamp_ntz",
    "JSON": "string",
    "INTEGER": "int",
    "INT": "int",
    "FLOAT": "float",
    "Numeric( 12 , 3 )": "decimal(12,3)",
    "decimal": "decimal(10,0)",
    "array<int64>": "array<bigint>",
    "Map<String, Struct<a: INT64, b ARRAY<BOOL>>>": (
        "map<string,struct<a:bigint,b:array<boolean>>>"
    ),
    "record<`x:y` INT>": "struct<`x:y`:int>",
    "timestamp": "timestamp",
    "VARCHAR(10)": "varchar(10)",
}


BASE = "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n"


def with_fields(*fields: str, more: str = "") -> dict[str, str]:
    """The model with other fields beside `date`."""
    lines = "".join(f"      - {field}\n" for field in fields)
    return daily(BASE, f"schema:\n      - {{name: date, type: DATE}}\n{lines}", more=more)


def columns(project, number: int = 0) -> tuple[Column, ...]:
    return project.models["daily"].versions[number].schema.columns[1:]


@pytest.mark.parametrize(("written", "kind"), ALIASES.items())
def test_types_have_spark_s_names(load, written, kind):
    assert columns(load(with_fields(f"{{name: x, type: '{written}'}}"))) == (Column("x", kind),)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (
            "BIGNUMERIC",
            (
                "type-unsupported: BIGNUMERIC is not a type of Spark\n"
                "  hint: write DECIMAL(38,s), or STRING if that is too small"
            ),
        ),
        ("TIME", "type-unsupported: TIME is not a type of Spark\n  hint: write STRING"),
        ("GEOGRAPHY", "type-unsupported: GEOGRAPHY is not a type of Spark\n  hint: write STRING"),
        ("BIGIN", "unknown-type: 'BIGIN' is not a type\n  hint: did you mean 'BIGINT'?"),
        (
            "ARRAY<STRING, INT>",
            "unknown-type: 'ARRAY<STRING, INT>' is not a type\n  hint: did you mean 'ARRAY'?",
        ),
        (
            "STRUCT",
            'empty-struct: v1: field "x" is STRUCT without fields\n  hint: list them under fields:',
        ),
        (
            "STRUCT<a: STRUCT<>>",
            (
                'empty-struct: v1: field "x.a" is STRUCT without fields\n'
                "  hint: list them under fields:"
            ),
        ),
    ],
)
def test_types_that_are_none(findings, kind, says):
    code = says.partition(":")[0]
    column = 16 if code == "empty-struct" else 25

    assert findings(with_fields(f"{{name: x, type: '{kind}'}}"), hints=True) == [
        f"models/daily.yaml:12:{column}: error: {says}"
    ]
