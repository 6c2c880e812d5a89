"""Columns of a query against those that its version declares."""

import pytest

from fakes.lake import columns
from penstock.core.columns.schema import Schema
from penstock.core.errors import SchemaError
from penstock.core.findings import Location
from penstock.strategies.partition import check_columns

WHERE = Location("queries/daily.yaml", 7)


def refusal(declared: Schema, described: Schema) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        check_columns("daily", WHERE, declared, described)
    return caught.value


def test_a_missing_column_is_named() -> None:
    error = refusal(columns("date date, events bigint"), columns("date date"))

    assert error.render() == (
        "queries/daily.yaml:7: output-column-missing: daily: the query gives no column 'events' "
        "(BIGINT)\n  hint: select it, or take it out of the schema"
    )


def test_an_extra_column_is_named() -> None:
    error = refusal(columns("date date"), columns("date date, events bigint"))

    assert (error.code, error.sentence) == (
        "output-column-extra",
        "daily: the schema has no column 'events' (BIGINT)",
    )


def test_a_type_without_a_cast_is_named() -> None:
    error = refusal(columns("date date"), columns("date boolean"))

    assert (error.code, error.sentence) == (
        "output-type-mismatch",
        "daily: column 'date' is BOOLEAN in the query and DATE in the schema",
    )


def test_all_differences_come_together_missing_ones_first_and_no_more_than_five() -> None:
    declared = columns("a int, b int, c int, d date, e int, s struct<x:int,y:int>")

    error = refusal(declared, columns("d boolean, f int, s struct<X:int,z:int>"))

    assert (error.code, error.sentence) == (
        "output-column-missing",
        (
            "daily: the query gives no column 'a' (INT); the query gives no column 'b' (INT); "
            "the query gives no column 'c' (INT); the query gives no column 'e' (INT); "
            "the query gives no column 's.y' (INT); and 3 more"
        ),
    )


@pytest.mark.parametrize(
    ("declared", "described"),
    [
        ("date date, n bigint", "N string, DATE timestamp"),
        ("d decimal(10,2)", "d boolean"),
        ("s struct<a:int,b:string>", "s struct<B:int,A:string>"),
        ("a array<bigint>", "a array<int>"),
        ("n int", "n void"),
        ("", "anything int"),
    ],
)
def test_what_can_be_cast_fits(declared, described) -> None:
    schema = columns(declared) if declared else Schema()

    check_columns("daily", WHERE, schema, columns(described))
