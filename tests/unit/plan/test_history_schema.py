import pytest

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, SystemColumns
from penstock.plan.evolution import check_history
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.table import Table

NEWER = NewerThan("at")
ALL = ColumnsDiffer(None)


def found(query, change=ALL, **settings):
    model = a_model("users", strategy=Snapshot(("id",), change, **settings))
    return [(f.code, f.sentence, f.hint) for f in check_history(model, columns(query))]


def test_only_histories_are_held_to_it():
    model = a_model("users", strategy=Table())

    assert check_history(model, columns("_ps_valid_from variant")) == ()


def test_key_updated_at_and_listed_columns_must_be_selected():
    listed = ColumnsDiffer(("value", "ID", "n"))

    assert found("user_id int, at timestamp", NEWER) == [
        ("column-not-selected", "unique_key 'id' is not selected", "the query gives user_id, at")
    ]
    assert found("id int, signup_at date", NewerThan("signup_dt")) == [
        (
            "column-not-selected",
            "updated_at 'signup_dt' is not selected",
            "did you mean 'signup_at'?",
        )
    ]
    assert found("Id int, valu int", listed) == [
        ("column-not-selected", "check_cols 'value' is not selected", "did you mean 'valu'?"),
        ("column-not-selected", "check_cols 'n' is not selected", "the query gives Id, valu"),
    ]


def test_a_long_list_of_columns_is_cut():
    query = ", ".join(f"c{n} int" for n in range(9))

    assert found(query)[0][2] == "the query gives c0, c1, c2, c3, c4 and 4 more"


@pytest.mark.parametrize("name", ["_PS_Valid_From", "_ps_is_deleted", "_ps_row_hash"])
def test_names_of_system_columns_are_reserved(name):
    assert found(f"id int, {name} string") == [
        (
            "reserved-column",
            f"column {name!r} is reserved",
            "rename it, or set system_columns.prefix",
        )
    ]


def test_only_the_tables_own_system_columns_are_reserved():
    own = SystemColumns.with_prefix("dlf_", "pascal")

    assert found("id int, _ps_valid_from int", columns=own) == []
    assert found("id int, DLF_validto int", columns=own)[0][0] == "reserved-column"


def test_names_of_the_engine_are_reserved():
    assert found("id int, __PENSTOCK_op int") == [
        ("reserved-column", "column '__PENSTOCK_op' is reserved", "rename it")
    ]


@pytest.mark.parametrize("kind", ["variant", "struct<a:array<variant>>"])
def test_variants_cannot_be_compared(kind):
    assert found(f"id int, v {kind}") == [
        (
            "uncomparable-column",
            f"column 'v' is {kind.upper()}, which cannot be compared",
            "compare to_json(v)",
        )
    ]


@pytest.mark.parametrize(
    "change",
    [NEWER, ColumnsDiffer(("at",)), HashDiffers("_ps_row_hash", ("at",)), HashDiffers("h")],
)
def test_a_variant_that_nobody_compares_is_fine(change):
    assert found("id int, at timestamp, v variant", change) == []


def test_compare_rows_compares_all_but_key_and_time():
    assert found("id int, at timestamp, v variant", NewerThan("AT", compare_rows=True)) == [
        (
            "uncomparable-column",
            "column 'v' is VARIANT, which cannot be compared",
            "compare to_json(v)",
        )
    ]


def test_a_collated_text_compares_and_has_no_hash():
    query = "id int, t string collate UNICODE_CI"

    assert found(query) == []
    assert found(query, HashDiffers("_ps_row_hash", ("t",))) == [
        (
            "uncomparable-column",
            "column 't' is STRING COLLATE UNICODE_CI, which has no row hash",
            "compare columns without row_hash",
        )
    ]


@pytest.mark.parametrize("kind", ["map<string,int>", "struct<a:map<int,int>>", "variant"])
def test_maps_and_variants_are_no_keys(kind):
    assert found(f"id {kind}") == [
        (
            "key-type",
            f"key column 'id' is {kind.upper()}",
            "a key can be compared: no MAP and no VARIANT in it",
        )
    ]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz", "string"])
@pytest.mark.parametrize("event_time", [False, True])
def test_updated_at_is_a_time_or_its_text(kind, event_time):
    assert found(f"id int, at {kind}", NEWER, event_time=event_time) == []


@pytest.mark.parametrize("kind", ["tinyint", "bigint", "decimal(10,2)"])
def test_numbers_order_rows_and_are_no_time_of_an_event(kind):
    assert found(f"id int, at {kind}", NEWER) == []
    assert found(f"id int, at {kind}", NEWER, event_time=True) == [
        (
            "updated-at-type",
            f"updated_at 'at' is {kind.upper()}",
            "it may be DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING",
        )
    ]


@pytest.mark.parametrize("kind", ["boolean", "double", "array<date>", "binary"])
def test_updated_at_of_another_type_is_refused(kind):
    assert found(f"id int, at {kind}", NEWER) == [
        (
            "updated-at-type",
            f"updated_at 'at' is {kind.upper()}",
            "it may be DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING, an integer or DECIMAL",
        )
    ]
