"""Rows of the source with their hash, their time and what is wrong with them."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.columns.schema import Column
from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, Retention, SystemColumns
from penstock.strategies.history.source import (
    add_hash,
    is_unique,
    joined_columns,
    rehashes,
    rewrite_hash,
    rows_of,
    rules,
    stored_hash,
    with_hash,
)
from penstock.strategies.history.terms import SOURCE_SIDE, TABLE_SIDE, Sides, Terms
from penstock.strategies.values import hash_of_values, row_hash
from unit.strategies.builds import a_build, columns

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
TIME = Terms(("id",), NewerThan("at"), moment=T)
EVENT = replace(TIME, event_time=True)
HASH = HashDiffers("h", ("V", "w", "gone"))
HASHED = Terms(("id",), HASH, moment=T)


def sides(terms, query="id int, at timestamp", table="id int, at timestamp", **more):
    return Sides.of(a_build(query=query, table=table, **more), terms)


@pytest.mark.parametrize(
    ("query", "table", "again"),
    [
        ("id int, v int", "id int, v int", False),
        ("id int, v bigint", "id int, v int", False),
        ("id int, v double", "id int, v int", True),
        ("id int, x double", "id int, x int", False),
        ("id int, v double", "id int", False),
    ],
)
def test_hashes_are_made_anew_where_a_value_gets_another_text(query, table, again):
    assert rehashes(sides(HASHED, query, table)) is again


def test_a_stored_hash_is_made_of_what_the_table_will_hold():
    both = sides(HASHED, "id int, v double, w int, x int", "id int, v int, x int")
    held = (Column("v", "double"), "(CAST(`v` AS double))")

    assert stored_hash(both) == hash_of_values([held])
    assert [*joined_columns(both)][:5] == [
        *("coalesce(s.`id`, c.`id`) AS `id`", "s.`v`", "s.`w`", "s.`x`"),
        "coalesce(s.`h`, c.`__penstock_c0`) AS `h`",
    ]
    first = sides(HASHED, "id int, v int", "")
    assert [*joined_columns(first)][:3] == ["s.`id`", "s.`v`", "s.`h`"]
    same = hash_of_values([(Column("v", "int"), "`v`")])
    assert f"{same} AS `h`" in rows_of(first)


def test_a_table_is_given_hashes_of_the_columns_that_it_has():
    table = columns("id int, v int, H string")
    made = row_hash([Column("v", "int")])

    assert with_hash(HASH, table, "t") == f"SELECT `id`, `v`, {made} AS `h` FROM `t`"
    assert add_hash(HASH, "T") == "ALTER TABLE T ADD COLUMNS (`h` STRING)"
    assert rewrite_hash(HASH, SystemColumns.with_prefix(), table, "T") == (
        f"UPDATE T SET `h` = {made} WHERE `_ps_is_current` = true AND `_ps_valid_to` IS NULL "
        f"AND NOT (`h` <=> {made})"
    )


@pytest.mark.parametrize(
    ("source", "table", "met", "source_only", "table_only", "unique"),
    [
        (3, 5, 2, 1, 3, True),
        (3, 5, 3, 1, 3, False),
        (3, 5, 2, 0, 3, False),
        (3, 5, 2, 1, 2, False),
        (None, None, None, None, None, True),
        (2, None, None, 2, None, True),
    ],
)
def test_rows_met_tell_whether_every_key_has_one(
    source, table, met, source_only, table_only, unique
):
    sizes = {SOURCE_SIDE: source, TABLE_SIDE: table}
    row = {"met": met, "source_only": source_only, "table_only": table_only}

    assert is_unique(sizes | row) is unique


@pytest.mark.parametrize(
    ("terms", "part"),
    [
        (TIME, "(`id` IS NULL) AS `__penstock_null_key`"),
        (replace(TIME, match_null_keys=True), "false AS `__penstock_null_key`"),
        (TIME, "`at` IS NULL AS `__penstock_null_time`, false AS `__penstock_ignored`"),
        (
            replace(TIME, ignore_null_time=True),
            "false AS `__penstock_null_time`, `at` IS NULL AS `__penstock_ignored`",
        ),
        (TIME, "ELSE count(*) OVER (PARTITION BY `id`) END AS `__penstock_copies`, 1 AS"),
        (
            replace(TIME, ignore_null_time=True),
            (
                "ELSE count_if(NOT `__penstock_ignored`) OVER (PARTITION BY `id`) END AS "
                "`__penstock_copies`, 1 AS `__penstock_place` FROM"
            ),
        ),
        (
            replace(TIME, ignore_null_time=True, retention=Retention(2)),
            "row_number() OVER (PARTITION BY `id` ORDER BY `__penstock_ignored`) AS",
        ),
        (replace(TIME, retention=Retention(2)), "AS `__penstock_copies`, 1 AS `__penstock_place`"),
        (EVENT, "OVER (PARTITION BY `id`, `__penstock_time`) END AS `__penstock_copies`, 1 AS"),
        (EVENT, "count_if(NOT `__penstock_ignored`) OVER (PARTITION BY `id`) AS"),
    ],
)
def test_rows_are_marked_with_what_is_wrong_with_them(terms, part):
    assert part in rows_of(sides(terms))


def test_a_text_that_is_no_time_is_told_apart_from_null():
    text = rows_of(sides(TIME, "id int, at string"))
    none = rows_of(sides(Terms(("id",), ColumnsDiffer(None), moment=T)))

    assert "(`at` IS NOT NULL AND try_cast(`at` AS TIMESTAMP) IS NULL) AS" in text
    assert "false AS `__penstock_no_time`" in rows_of(sides(TIME))
    assert "NULL AS `__penstock_time`" in none


@pytest.mark.parametrize(
    ("terms", "codes", "copied"),
    [
        (EVENT, ["tied-versions", "tied-versions"], "times a key of 'users' has two rows with"),
        (TIME, ["duplicate-keys"], "keys occur more than once in the source of 'users'"),
    ],
)
def test_two_rows_of_a_key_are_wrong_or_of_one_instant(terms, codes, copied):
    found = {rule.count: rule for rule in rules(sides(terms), "users", "v", "late_")}

    assert [each.code for each in found.values() if "tied" in each.code or "dup" in each.code] == (
        codes
    )
    assert copied in found["late_copied"].sentence
    assert found["late_copied"].hint.startswith("one row for each") is terms.event_time
    by = "`id`, `__penstock_time`" if terms.event_time else "`id`"
    assert f"GROUP BY {by} ORDER BY" in found["late_copied"].samples
    assert "`at`)" in found["late_no_times"].samples
