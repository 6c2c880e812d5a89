"""`penstock run`: what its flags ask."""

from pathlib import Path

from fakes.reports import a_plan, a_report
from penstock.app.request import (
    RunRequest,
)

NOTHING = a_report(a_plan(current=("daily",)))


def test_run_and_plan_take_dates(use_case, call):
    ran = use_case("commands.run", "run", NOTHING)

    call("run", "--date", "2024-12-09", "--batch-size", "3", "--allow-breaking")
    call("run", "shop", "--from", "2024-12-01", "--to", "2024-12-02", "--allow-source-mutation")

    assert [request for _, request, *_ in ran] == [
        RunRequest(
            date="2024-12-09",
            batch_size=3,
            allow_breaking=True,
            arguments="run --date 2024-12-09 --batch-size 3 --allow-breaking",
        ),
        RunRequest(
            project=Path("shop"),
            from_="2024-12-01",
            to="2024-12-02",
            allow_source_mutation=True,
            arguments="run shop --from 2024-12-01 --to 2024-12-02 --allow-source-mutation",
        ),
    ]
