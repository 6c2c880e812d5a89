"""What `history --checks` prints, and its document."""

import json
from dataclasses import replace

from fakes.builders import NOON
from fakes.check_story import BOUNDS, NULLS
from penstock.app.commands.history import CheckHistory
from penstock.app.documents import printed
from penstock.core.check_results import CheckRecord
from penstock.core.checks.check import CheckScope
from penstock.ui.commands.history import check_history_document, check_history_text

RAN = CheckRecord("user_stats", "step-1", "run-1", NULLS, ("2024-12-01",), 7, NOON)


LOOKED = CheckRecord(
    "user_stats", "", "run-2", BOUNDS, ("2024-12-01..2024-12-03", "2024-12-05"), 7, NOON
)


def test_the_history_of_checks_has_a_row_for_each_result():
    assert check_history_text(CheckHistory((RAN, LOOKED))) == (
        "STARTED              PARTITIONS                            PHASE  CHECK           STATUS"
        "  SEVERITY  MESSAGE\n"
        "2024-03-01 12:00:00  2024-12-01                            after  null_check      failed"
        "  warning   nulls 33.33 % > max 5.00 %\n"
        "2024-03-01 12:00:00  2024-12-01 to 2024-12-03, 2024-12-05  after  revenue_bounds  passed"
        "  error     condition is true"
    )


def test_a_table_without_partitions_names_none_and_verbose_says_who_looked():
    whole = [replace(record, partitions=("*",)) for record in (RAN, LOOKED)]

    assert check_history_text(CheckHistory(whole), verbose=True) == (
        "STARTED              PHASE  CHECK           STATUS  SEVERITY  BY           MESSAGE\n"
        "2024-03-01 12:00:00  after  null_check      failed  warning   step step-1"
        "  nulls 33.33 % > max 5.00 %\n"
        "2024-03-01 12:00:00  after  revenue_bounds  passed  error     check run-2"
        "  condition is true"
    )


def test_a_check_of_the_whole_table_says_so_and_a_cut_list_too():
    whole = replace(RAN, result=replace(NULLS, scope=CheckScope.TABLE), partitions=("*",))

    assert check_history_text(CheckHistory((whole,), truncated=True)).splitlines()[1:] == [
        (
            "2024-03-01 12:00:00  after  null_check  failed  warning"
            "   nulls 33.33 % > max 5.00 % (whole table)"
        ),
        "the newest 1; there are older ones, see --limit",
    ]


def test_no_results_are_said():
    assert check_history_text(CheckHistory()) == "no results of checks"


def test_the_document_of_the_history_has_the_results_whole():
    document = json.loads(
        printed(check_history_document("user_stats", CheckHistory((LOOKED,), truncated=True)))
    )

    (found,) = document.pop("checks")
    assert document == {"command": "history", "model": "user_stats", "truncated": True}
    assert {key: found[key] for key in ("started", "step", "run", "groups", "version", "name")} == {
        "started": "2024-03-01T12:00:00Z",
        "step": None,
        "run": "run-2",
        "groups": ["2024-12-01..2024-12-03", "2024-12-05"],
        "version": 7,
        "name": "revenue_bounds",
    }
