"""`penstock rollback`: what its flags ask, and how it ends."""

import json
from dataclasses import replace

import pytest

from penstock.app.commands.rollback import RollbackReport
from penstock.app.request import (
    RollbackRequest,
)

ROLLED = RollbackReport(
    "daily",
    "0190a3c4",
    version=4,
    partitions=(("2024-12-02", "2024-12-16"),),
    count=15,
    deleted=1,
    lines=("downstream becomes upstream_changed: weekly_summary",),
)


def test_rollback_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("commands.rollback", "rollback", replace(ROLLED, dry_run=True))
    words = "rollback daily --to 0190a3 --include-foreign --dry-run --wait 5"

    code, out, _ = call(*words.split())

    assert asked[0][1] == RollbackRequest(
        ".", "daily", to="0190a3", include_foreign=True, dry_run=True, wait=5, arguments=words
    )
    assert code == 0
    assert out == (
        "daily: would be restored to version 4, before step 0190a3c4 (15 partitions)\n"
        "    2024-12-02 to 2024-12-16\n"
        "    1 partition without an earlier success: records deleted\n"
        "downstream becomes upstream_changed: weekly_summary\n"
        "Nothing was done.\n"
    )


@pytest.mark.parametrize(
    ("report", "code", "last"),
    [
        (replace(ROLLED, committed=9), 0, "Next: penstock status"),
        (replace(ROLLED, aborted=True), 1, "Aborted, nothing was done."),
    ],
)
def test_a_rollback_that_is_not_confirmed_exits_1(report, code, last, use_case, call):
    use_case("commands.rollback", "rollback", report)
    words = ("rollback", "daily", "--to", "0190", "--yes")

    shown, as_json = call(*words), call(*words, "--json")

    assert (shown[0], as_json[0]) == (code, code)
    assert shown[1].splitlines()[-1] == last
    assert json.loads(as_json[1])["committed"] == report.committed
