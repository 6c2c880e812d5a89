"""Which input columns each column of a query is computed from."""

import pytest

from penstock.project.sql.lineage import column_lineage

ORDERS = {"raw.orders": {"id": "int", "amount": "double", "tags": "array<string>"}}
USERS = {"raw.users": {"id": "int", "odd.name": "string"}}


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select * from raw.orders", {"id": "id", "amount": "amount", "tags": "tags"}),
        (
            "with o as (select amount * 2 as x from raw.orders) select x + 1 as y from o",
            {"y": "amount"},
        ),
        ("select explode(tags) as tag from raw.orders", {"tag": "tags"}),
        ("select count(*) as n from raw.orders where id > 1", {"n": ""}),
        ("select id from raw.orders where id = @partition_date", {"id": "id"}),
    ],
)
def test_columns_are_followed_through_the_query(sql, columns):
    found = column_lineage(sql, ORDERS)

    assert {name: [read for _, read in reads] for name, reads in found.items()} == {
        name: [read] if read else [] for name, read in columns.items()
    }


def test_a_join_names_the_table_of_each_column():
    sql = "select o.id, u.`odd.name` as name from raw.orders o join raw.users u on u.id = o.id"

    assert column_lineage(sql, ORDERS | USERS) == {
        "id": (("raw.orders", "id"),),
        "name": (("raw.users", "odd.name"),),
    }


@pytest.mark.parametrize("sql", ["select nope( from", "drop table x", ""])
def test_what_the_parser_cannot_follow_has_no_lineage(sql):
    assert column_lineage(sql, ORDERS) == {}


def test_a_star_of_an_unknown_table_is_among_the_columns():
    assert column_lineage("select *, 1 as x from raw.x", {}) == {"x": (), "*": ()}
