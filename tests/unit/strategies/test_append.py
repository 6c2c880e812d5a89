from penstock.core.statement import Commit
from penstock.strategies.append import Append
from unit.strategies.builds import a_build


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
