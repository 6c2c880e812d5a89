from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.errors import SchemaError
from penstock.core.model import OnSchemaChange
from penstock.plan.evolution import Evolution, evolve, widens

MODEL = a_model("users")
SIMPLE = ["tinyint", "smallint", "int", "bigint", "float", "double", "string", "date", "timestamp"]
DECIMALS = st.integers(1, 38).flatmap(
    lambda digits: st.integers(0, digits).map(lambda scale: f"decimal({digits},{scale})")
)
TYPES = st.sampled_from(SIMPLE) | DECIMALS


def refused(query: str, table: str, mode: OnSchemaChange = OnSchemaChange.APPEND) -> SchemaError:
    model = replace(MODEL, on_schema_change=mode)
    with pytest.raises(SchemaError) as caught:
        evolve(model, columns(query), columns(table))
    return caught.value


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
        ("array<int>", "array<bigint>"),
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


def test_a_query_without_a_table_is_written_whole():
    assert evolve(MODEL, columns("id int, n int"), None) == Evolution(("id", "n"))


def test_differences_are_named_whatever_the_order_and_the_case():
    found = evolve(
        MODEL, columns("N bigint, more string, ID int"), columns("id int, gone date, n int")
    )

    assert found == Evolution(("N", "more", "ID"), ("more",), ("N",), ("gone",))
    assert found.changes_table


def test_a_narrower_query_fits_a_wider_table_as_it_is():
    found = evolve(MODEL, columns("id int"), columns("id bigint, gone date"))

    assert found == Evolution(("id",), gone=("gone",))
    assert not found.changes_table


def test_J16_incompatible_types_are_both_named_with_the_model():
    error = refused("id int, a int, b int", "id int, a string, b date")

    assert error.render() == (
        "models/users.sql:1: incompatible-type: column 'a' is INT in the query and STRING in "
        "s.users (and 1 more columns)\n"
        "  hint: cast it in the SELECT, or --full-refresh to replace the table"
    )


def test_on_schema_change_fail_names_every_difference():
    error = refused("id bigint, more int", "id int, gone int", OnSchemaChange.FAIL)

    assert error.code == "schema-changed"
    assert error.sentence == "users: added=[more], removed=[gone], widened=[id]"


def test_on_schema_change_ignore_leaves_new_columns_unwritten():
    model = replace(MODEL, on_schema_change=OnSchemaChange.IGNORE)

    found = evolve(model, columns("id bigint, more int"), columns("id int"))

    assert found == Evolution(("id",), (), ("id",))


def test_a_column_that_comes_twice_is_refused_before_there_is_a_table():
    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, columns("id int, ID int"), None)

    assert caught.value.code == "duplicate-column"
    assert caught.value.sentence == "the query of 'users' gives the column 'ID' twice"


def test_a_null_without_a_type_asks_for_a_cast():
    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, columns("id int, note void"), None)

    assert caught.value.code == "void-column"
    assert caught.value.hint == "write CAST(NULL AS STRING) AS note, or its real type"
