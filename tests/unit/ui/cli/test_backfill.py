"""`penstock backfill`: what its flags ask."""

from fakes.reports import a_plan, a_report
from penstock.app.request import (
    BackfillRequest,
)

NOTHING = a_report(a_plan(current=("daily",)))


def test_backfill_names_a_model_and_a_range(use_case, call):
    asked = use_case("commands.sync", "preview_sync", NOTHING)

    call("backfill", "daily", "--from", "2024-12-02", "--to", "2024-12-04", "--dry-run")

    assert asked[0][1] == BackfillRequest(
        ".",
        "daily",
        from_="2024-12-02",
        to="2024-12-04",
        dry_run=True,
        arguments="backfill daily --from 2024-12-02 --to 2024-12-04 --dry-run",
    )
