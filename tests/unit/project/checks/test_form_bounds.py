"""Bounds and values in the type of their column: exact, or refused."""

from __future__ import annotations

import pytest

from penstock.project.checks.form import bound_text
from penstock.strategies.checks.types import AcceptedValues


@pytest.mark.parametrize("value", ["yes", "007", "0x1F", "1.10", "12:30:15", "true", "5"])
def test_a_text_that_yaml_takes_for_something_else_must_be_quoted(said, value):
    (found,) = said(f"{{name: a, type: accepted_values, column: region, values: [eu, {value}]}}")

    assert found.partition(': check "a": ')[0] == "bad-bound"
    assert found.partition("\n  hint: ")[2] == "quote it"


def test_quoted_texts_and_dates_are_values_as_they_are_written(after):
    listed = "'yes', '007', \"0x1F\", '1.10', '12:30:15', eu, 2024-12-01"

    (check,) = after(f"{{name: a, type: accepted_values, column: region, values: [{listed}]}}")

    assert check.rule == AcceptedValues(
        "region", ("yes", "007", "0x1F", "1.10", "12:30:15", "eu", "2024-12-01")
    )


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("1e400", "double", None),
        ("-1e400", "double", None),
        ("1e39", "float", None),
        ("1e39", "double", "1" + "0" * 39),
        (3.4028235e38, "float", "340282350000000000000000000000000000000"),
        (5, "varchar(3)", None),
        ("5", "varchar(3)", "5"),
        (
            "1234567890123456789012345678901.23",
            "decimal(38,2)",
            "1234567890123456789012345678901.23",
        ),
        ("1234567890123456789012345678901.234", "decimal(38,2)", None),
        ("0.10", "decimal(3,1)", "0.10"),
        (100, "decimal(3,0)", "100"),
        ("1e999999999", "decimal(38,2)", None),
    ],
)
def test_a_bound_is_exact_or_refused(value, kind, text):
    assert bound_text(value, kind) == text


def test_a_bound_too_great_for_its_column_is_told(said):
    assert said("{type: value_range, column: revenue, max: 1e400}") == [
        (
            'bad-bound: check "value_range_revenue": max 1e400 is not a value of DOUBLE\n'
            "  hint: the column is DOUBLE"
        )
    ]
