from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import SchemaChangeError, SchemaError
from penstock.core.history import ColumnsDiffer
from penstock.core.strategy import Layout, OnSchemaChange
from penstock.plan.evolution import Evolution, evolve
from penstock.strategies.append import Append
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.table import Table
from penstock.strategies.view import View

MODEL = a_model("users")
HISTORY = a_model("users", strategy=Snapshot(("id",), ColumnsDiffer(None)))


def refused(query: str, table: str, mode: OnSchemaChange = OnSchemaChange.APPEND) -> SchemaError:
    model = replace(MODEL, on_schema_change=mode)
    with pytest.raises(SchemaError) as caught:
        evolve(model, columns(query), columns(table))
    return caught.value


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

    assert found == Evolution(("id",), removed=("gone",))
    assert not found.changes_table


def test_incompatible_types_are_both_named_with_the_model():
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


FUNCTION = replace(MODEL, strategy=Table(), on_schema_change=OnSchemaChange.EXACT)
ADDED_TO = replace(FUNCTION, strategy=Append(None))


def test_a_table_of_a_function_that_is_replaced_may_change_in_everything():
    query, table = columns("id string, new int"), columns("id int, gone int")

    with pytest.raises(SchemaChangeError) as caught:
        evolve(FUNCTION, query, table)

    assert caught.value.passes
    assert "--allow-schema-change" in caught.value.hint
    assert evolve(FUNCTION, query, table, may_change=True).written == ("id", "new")


def test_a_table_of_a_function_that_keeps_rows_may_gain_and_lack_columns_and_take_what_fits():
    query, table = columns("id int, new int"), columns("id bigint, gone int")

    found = evolve(ADDED_TO, query, table, may_change=True)

    assert found == Evolution(("id", "new"), ("new",), removed=("gone",))


@pytest.mark.parametrize(("query", "table"), [("id string", "id int"), ("id bigint", "id int")])
@pytest.mark.parametrize("may_change", [False, True])
def test_another_type_takes_a_full_refresh_of_a_table_that_keeps_rows(query, table, may_change):
    with pytest.raises(SchemaChangeError) as caught:
        evolve(ADDED_TO, columns(query), columns(table), may_change=may_change)

    assert not caught.value.passes
    assert caught.value.hint == "run with full_refresh=True (--full-refresh) to replace the table"


def test_a_column_that_comes_twice_is_refused_before_there_is_a_table():
    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, columns("id int, ID int"), None)

    assert caught.value.code == "duplicate-column"
    assert caught.value.sentence == "the query of 'users' gives the column 'ID' twice"


def test_a_null_without_a_type_asks_for_a_cast():
    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, columns("id int, note void"), None)

    assert caught.value.code == "void-column"
    assert caught.value.hint == (
        "write CAST(NULL AS STRING) AS note, or its real type; in Python F.lit(None).cast('string')"
    )


def evolved(query: str, table: str, model=MODEL, **properties: str) -> Evolution:
    return evolve(model, columns(query), columns(table), properties)


def test_parts_of_columns_are_added_and_widened_by_their_paths():
    found = evolved(
        "id int, address struct<zip:bigint,city:string>, tags array<struct<a:int,b:int>>, "
        "m map<int,struct<x:double,y:map<int,bigint>>>",
        "id int, Address struct<zip:int>, tags array<struct<A:int>>, "
        "m map<int,struct<x:float,y:map<int,int>>>",
    )

    assert found == Evolution(
        ("id", "address", "tags", "m"),
        added=("address.city", "tags.element.b"),
        widened=("address.zip", "m.value.x", "m.value.y.value"),
    )


def test_a_struct_in_another_order_and_with_narrower_fields_fits():
    found = evolved("v struct<b:int,a:float>", "v struct<a:double,B:bigint>")

    assert found == Evolution(("v",))


@pytest.mark.parametrize(
    ("query", "table"),
    [
        ("array<string>", "array<int>"),
        ("struct<a:date>", "struct<a:timestamp>"),
        ("map<string,int>", "map<int,int>"),
        ("struct<a:int>", "map<string,int>"),
    ],
)
def test_parts_of_another_type_are_incompatible(query, table):
    error = refused(f"id int, v {query}", f"id int, v {table}")

    assert error.code == "incompatible-type"
    assert error.sentence == (
        f"column 'v' is {query.upper()} in the query and {table.upper()} in s.users"
    )


def test_a_struct_that_lacks_a_field_fits_a_history_only():
    query, table = "id int, v array<struct<a:int>>", "id int, v array<struct<a:int,b:int>>"

    assert refused(query, table).code == "incompatible-type"
    assert evolved(query, table, HISTORY) == Evolution(("id", "v"))


def test_new_fields_can_be_left_out_of_a_history_only():
    query, table = "id int, v struct<a:int,b:int>, w int", "id int, v struct<a:int>"
    history = replace(HISTORY, on_schema_change=OnSchemaChange.IGNORE)

    assert refused(query, table, OnSchemaChange.IGNORE).code == "incompatible-type"
    assert evolved(query, table, history) == Evolution(("id", "v"))


def test_a_table_that_takes_no_wider_types_makes_them_incompatible():
    off = {"delta.enableTypeWidening": "false"}
    on = replace(MODEL, layout=Layout(properties={"delta.enableTypeWidening": "true"}))
    never = replace(MODEL, layout=Layout(properties=off))

    with pytest.raises(SchemaError, match="'n' is BIGINT in the query and INT in"):
        evolved("n bigint", "n int", **off)
    with pytest.raises(SchemaError, match="'n' is BIGINT"):
        evolved("n bigint", "n int", never)
    assert evolved("n bigint", "n int", on, **off).widened == ("n",)
    assert evolved("n int", "n bigint", **off) == Evolution(("n",))


STORED = (
    "id int, note string, _ps_valid_from timestamp, _ps_valid_to timestamp, _PS_IS_CURRENT boolean"
)


@pytest.mark.parametrize("mode", [each for each in OnSchemaChange if each != "exact"])
def test_system_columns_are_not_compared_and_not_gone(mode):
    model = replace(HISTORY, on_schema_change=mode)

    assert evolved("id int", STORED, model) == Evolution(("id",), removed=("note",))


@pytest.mark.parametrize("query", ["id int, city string", "id bigint"])
def test_on_schema_change_fail_lets_a_history_neither_add_nor_widen(query):
    with pytest.raises(SchemaError) as caught:
        evolved(query, STORED, replace(HISTORY, on_schema_change=OnSchemaChange.FAIL))

    assert caught.value.code == "schema-changed"
    assert caught.value.hint == "allow it with on_schema_change='append'"


@pytest.mark.parametrize(
    ("query", "table"),
    [("string", "int"), ("date", "timestamp")],
)
def test_another_type_is_refused_with_both_types(query, table):
    with pytest.raises(SchemaError) as caught:
        evolved(f"id int, amount {query}", f"{STORED}, amount {table}", HISTORY)

    assert caught.value.render() == (
        f"models/users.sql:1: incompatible-type: column 'amount' is {query.upper()} in the query "
        f"and {table.upper()} in s.users\n"
        "  hint: cast it in the SELECT"
    )


def test_a_narrower_type_fits():
    found = evolved("id int, amount int", f"{STORED}, amount bigint", HISTORY)

    assert found == Evolution(("id", "amount"), removed=("note",))


def test_columns_that_differ_by_case_are_refused():
    with pytest.raises(SchemaError) as caught:
        evolve(HISTORY, columns("id int, Value int, value int"), None)

    assert caught.value.code == "duplicate-column"


def test_all_that_is_wrong_with_a_history_is_one_error():
    with pytest.raises(SchemaError) as caught:
        evolved("id string, Id int, _ps_valid_to date, note void", STORED, HISTORY)

    assert caught.value.code == "duplicate-column"
    assert caught.value.sentence == (
        "the query of 'users' gives the column 'Id' twice; "
        "column 'note' of 'users' is NULL without a type; "
        "column '_ps_valid_to' is reserved; "
        "column 'id' is STRING in the query and INT in s.users (and 1 more columns)"
    )


def test_an_array_of_nothing_has_no_type():
    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, columns("id int, tags array<void>"), None)

    assert caught.value.render() == (
        "models/users.sql:1: void-column: column 'tags' of 'users' is ARRAY<VOID>: a part of it "
        "has no type\n"
        "  hint: cast it in the SELECT"
    )


MAPPED = {"delta.columnMapping.mode": "name"}
ODD = Schema((Column("id", "int"), Column("unit price", "int"), Column("s", "struct<a;b:int>")))


def named(model, table=None, properties=None) -> str:
    """Give the error of a query with odd names, or how many columns are written."""
    try:
        return str(len(evolve(model, ODD, table, properties).written))
    except SchemaError as error:
        return error.render()


def test_names_that_delta_refuses_are_named_with_a_way_out():
    assert named(MODEL) == (
        "models/users.sql:1: column-name: Delta refuses the name of column 'unit price' of "
        "'users': it has a space; Delta refuses the name of column 's.a;b' of 'users': it has ';'\n"
        "  hint: rename it, or set table_properties: {'delta.columnMapping.mode': 'name'}"
    )


def test_a_mapped_table_and_a_view_take_every_name():
    mapped = replace(MODEL, layout=Layout(properties=MAPPED))

    assert [named(mapped), named(replace(MODEL, strategy=View()))] == ["3", "3"]
    assert named(HISTORY, columns("id int"), MAPPED) == "3"
    assert "column-name" in named(replace(MODEL, strategy=Table()), columns("id int"), MAPPED)


def test_fields_that_differ_by_case_are_refused_as_columns_are():
    twice = Schema((Column("s", "array<struct<a:int,A:int>>"),))

    with pytest.raises(SchemaError) as caught:
        evolve(MODEL, twice, None)

    assert (caught.value.code, caught.value.sentence) == (
        "duplicate-column",
        "the query of 'users' gives the column 's.A' twice",
    )
    assert evolve(replace(MODEL, strategy=View()), twice, None).written == ("s",)
