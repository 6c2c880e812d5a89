"""What `check` says where it evaluated nothing, and which way out it hints at."""

from __future__ import annotations

import pytest

from fakes.check_story import BOUNDS, NO_BASE
from fakes.reports import a_check_result
from penstock.app.checking.results import CheckReport, ModelChecked
from penstock.app.request import CheckRequest
from penstock.core.check_results import InvariantReport
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.ui.render.check import nothing_checked

SKIPPED = CheckStatus.SKIPPED
UNBUILT = a_check_result("a", SKIPPED, "partition 2024-12-09 was never built")
NO_TABLE = a_check_result("a", SKIPPED, "table does not exist yet")


def report(*results):
    found = InvariantReport((), results)
    return CheckReport((ModelChecked("a", (("*", "*"),), 1, 7, found),) if results else ())


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({}, "select models that have checks, or all of them with --all"),
        ({"everything": True}, "no model with checks has been built: penstock run"),
        ({"sources": True}, "give a source freshness, with warn_after or error_after"),
        (
            {"checks": ("a",)},
            "checks of that name are in the other phase, or in other versions or partitions",
        ),
        (
            {"phases": frozenset({Phase.BEFORE})},
            "leave --before out: no selected model has checks of that phase",
        ),
    ],
)
def test_without_any_check_the_hint_is_about_what_was_asked(asked, hint):
    error = nothing_checked(CheckRequest(**asked), report())

    assert error is not None
    assert (error.code, error.sentence, error.hint) == (
        "nothing-checked",
        "no check was selected, none evaluated",
        hint,
    )


@pytest.mark.parametrize(
    ("result", "hint"),
    [
        (UNBUILT, "penstock run builds what is not there yet"),
        (NO_TABLE, "penstock run builds what is not there yet"),
        (NO_BASE, "read why the checks were skipped, or select others"),
    ],
)
def test_where_all_were_skipped_the_hint_is_about_the_reason(result, hint):
    error = nothing_checked(CheckRequest(), report(result))

    assert error is not None
    assert (error.sentence, error.hint) == ("1 check skipped, none evaluated", hint)


def test_what_was_evaluated_is_no_error():
    assert nothing_checked(CheckRequest(), report(BOUNDS, UNBUILT)) is None
