"""Merges with dbt's settings, contracts and replaced keys, on real tables."""

import pytest

from fakes.place import Place

pytestmark = pytest.mark.matrix

COLUMNS = "id INT, day DATE, status STRING, made INT"


@pytest.fixture
def place(tmp_path, spark):
    place = Place(tmp_path, spark)
    place.source("orders", COLUMNS)
    place.insert("orders", "(1, DATE'2024-06-01', 'new', 1), (2, DATE'2024-06-01', 'new', 2)")
    return place


def merge(place, query="select * from {{ source('raw', 'orders') }}", **config):
    place.model("orders", query, materialized="merge", unique_key="id", window="none", **config)
    place.run()


def change(place, *rows):
    place.sql(f"INSERT OVERWRITE {place.landing('orders')} VALUES {', '.join(rows)}")
    place.run()


def statuses(place):
    return place.sql(
        f"SELECT id, status, made FROM {place.table('orders')} ORDER BY id, status, made"
    )


def test_columns_that_are_not_in_the_list_keep_their_values(place) -> None:
    merge(place, merge_update_columns=["status"])

    change(place, "(1, DATE'2024-06-01', 'paid', 7)", "(3, DATE'2024-06-02', 'new', 8)")

    assert statuses(place) == [(1, "paid", 1), (2, "new", 2), (3, "new", 8)]


def test_a_stored_row_outside_the_predicates_is_not_read(place) -> None:
    merge(place, incremental_predicates=["DBT_INTERNAL_DEST.day >= '2024-06-02'"])

    change(place, "(1, DATE'2024-06-02', 'paid', 1)")
    change(place, "(1, DATE'2024-06-02', 'sent', 1)")

    assert statuses(place) == [(1, "new", 1), (1, "sent", 1), (2, "new", 2)]


def test_all_rows_of_a_key_are_replaced_in_one_commit(place) -> None:
    merge(place, on_duplicate="replace")
    change(place, "(1, DATE'2024-06-01', 'a', 1)", "(1, DATE'2024-06-01', 'b', 2)")
    before = place.version("orders")

    change(place, "(1, DATE'2024-06-01', 'c', 3)", "(4, DATE'2024-06-01', 'd', 4)")

    assert statuses(place) == [(1, "c", 3), (2, "new", 2), (4, "d", 4)]
    assert place.version("orders") == before + 1


def test_a_query_that_breaks_its_contract_writes_nothing_and_names_every_difference(place) -> None:
    place.model("typed", "select 1 as id, 2 as amount, 'x' as more", materialized="table")
    place.write(
        "models/m/typed.yml",
        """\
        models:
          - name: typed
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int}
              - {name: amount, data_type: "decimal(9,2)"}
              - {name: note, data_type: string}
        """,
    )

    error = place.run("typed")["typed"].error

    assert error.code == "contract-broken"
    assert error.sentence.split("; ") == [
        "typed: amount is INT in the query and DECIMAL(9,2) in the contract",
        "typed: note is not in the query",
        "typed: more is not in the contract",
    ]
    assert place.version("typed") == -1
