"""The history of a model's checks.

`--skip-checks`: the history of a model says which of its steps were not checked.
"""

from __future__ import annotations

import pytest

from fakes.builders import a_model, a_project, a_source
from fakes.services import a_shop
from fakes.workshop import Workshop
from penstock.app.commands.history import CheckHistory, check_history, history
from penstock.app.read_requests import HistoryRequest
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.errors import UsageError
from penstock.core.findings import Location
from penstock.strategies.checks.types import RowCount

ROWS = Check("min_rows", Phase.AFTER, RowCount(1), Location("models/a.yml", 3))


@pytest.fixture
def services():
    return a_shop(a_project(a_model("a", checks=Checks((), (ROWS,))), a_model("b")))


def test_a_check_that_was_never_evaluated_has_no_history(services):
    assert check_history(services, HistoryRequest(".", "a")) == CheckHistory()
    assert check_history(services, HistoryRequest(".", "A"), "min_rows") == CheckHistory()


@pytest.mark.parametrize(
    ("model", "name", "limit", "code", "hint"),
    [
        ("c", None, 20, "unknown-model", "there are: a, b"),
        ("a", "min_row", 20, "unknown-check", "did you mean 'min_rows'?"),
        ("a", "x", 20, "unknown-check", "there are: min_rows"),
        ("b", "x", 20, "unknown-check", "b has no checks"),
        (
            "a",
            None,
            0,
            "bad-value",
            "use a value that the message names; penstock schema prints keys and values",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(model, name, limit, code, hint, services):
    with pytest.raises(UsageError) as caught:
        check_history(services, HistoryRequest(".", model, limit=limit), name)

    assert (caught.value.code, caught.value.hint) == (code, hint)


GATE = Check("rows", Phase.BEFORE, RowCount(9), Location("m.yml", 3), definition="d")


def test_the_row_of_an_unchecked_step_says_so():
    workshop = Workshop(a_source("events"), a_model("a", "raw.events", checks=Checks((GATE,))))

    workshop.run(skip_checks=True)
    workshop.run(full_refresh=True)

    rows = history(workshop.services(), HistoryRequest(".", "a")).rows
    assert [(str(row.execution.status), row.skipped_checks) for row in rows] == [
        ("FAILED", False),
        ("SUCCESS", True),
    ]
