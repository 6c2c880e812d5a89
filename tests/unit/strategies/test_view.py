from penstock.core.statement import Commit
from penstock.strategies.view import View
from unit.strategies.builds import a_build


def test_a_view_of_a_catalog_is_made_anew() -> None:
    build = a_build(View(), target="`main`.`s`.`v`", view_sql="select 1 as n")

    assert View().work(build).decide({}) == Commit(
        "CREATE OR REPLACE VIEW `main`.`s`.`v` AS select 1 as n", once=False
    )


def test_a_view_over_folders_runs_nothing() -> None:
    work = View().work(a_build(View()))

    assert (work.stages, work.decide({})) == ((), None)
