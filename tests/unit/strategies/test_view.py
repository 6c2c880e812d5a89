from penstock.core.statement import Commit
from penstock.strategies.view import view


def test_a_view_of_a_catalog_is_made_anew() -> None:
    assert view("`main`.`s`.`v`", "select 1 as n").decide({}) == Commit(
        "CREATE OR REPLACE VIEW `main`.`s`.`v` AS select 1 as n", once=False
    )


def test_a_view_over_folders_runs_nothing() -> None:
    work = view("", "select 1 as n")

    assert (work.stages, work.decide({})) == ((), None)
