from penstock.core.statement import Commit
from penstock.core.strategy import Layout, WindowSettings
from penstock.strategies.append import Append
from unit.strategies.builds import a_build, read


def test_the_first_append_makes_the_table() -> None:
    work = Append(None).work(a_build(Append(None)))

    assert work.decide({}) == Commit(
        "CREATE OR REPLACE TABLE delta.`/w/s/users` USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') "
        "AS SELECT `id`, `name` FROM `penstock_query`"
    )


def test_rows_are_added_by_name_in_a_commit_that_counts_once() -> None:
    work = Append(None).work(a_build(Append(None), table="name string, id int, more int"))

    assert work.decide({}) == Commit(
        "INSERT INTO delta.`/w/s/users` BY NAME SELECT `id`, `name` FROM `penstock_query`",
    )


def test_new_columns_come_with_the_rows_that_need_them() -> None:
    work = Append(None).work(a_build(Append(None), table="id int", evolves=True))

    assert work.decide({}) == Commit(
        "INSERT WITH SCHEMA EVOLUTION INTO delta.`/w/s/users` BY NAME "
        "SELECT `id`, `name` FROM `penstock_query`",
    )


def test_rows_are_only_added_where_something_says_which_are_new() -> None:
    by_day = WindowSettings("day")

    assert read(Append, by_day) == (Append(by_day), [])
    assert read(Append, window="none") == (Append(None), [])
    assert read(Append) == (Append(None), ["materialized: append-without-window"])
    assert read(Append, by_day, lookback="1 day") == (
        Append(by_day),
        ["lookback: option-conflict"],
    )


def test_rows_that_are_read_again_take_the_place_of_what_was_made_of_them() -> None:
    work = Append(None).work(a_build(Append(None), table="id int", replaced="`id` = 7"))

    assert work.decide({}) == Commit(
        "INSERT INTO delta.`/w/s/users` BY NAME REPLACE WHERE `id` = 7 "
        "SELECT `id`, `name` FROM `penstock_query`"
    )


def test_the_window_decides_rows() -> None:
    assert Append(None).fingerprint(Layout()) == {"window": None}
    assert Append(WindowSettings("day")).fingerprint(Layout())["window"] == {
        "time_column": "day",
        "lookback": None,
        "on": {},
        "null_watermark": "error",
        "string_watermark": False,
    }
