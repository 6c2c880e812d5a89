"""`penstock status`: what its flags ask, and how it ends."""

import datetime as dt

import pytest

from penstock.app.reports import ModelStatus, State, StateCount, StatusReport
from penstock.app.request import (
    StatusRequest,
)
from penstock.core.names import TableName

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)


DRIFTED = ModelStatus(
    "daily",
    TableName("s", "daily"),
    "partition",
    "DAY",
    22,
    (StateCount(State.MISSING, 1, (("2024-12-16", "2024-12-16"),), version=3),),
)


def test_status_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("commands.status", "status", StatusReport(NOON))

    words = "status -s daily --exclude x --state failed,missing --days 7 --as-of 2024-12-16"

    code, out, _ = call(*words.split())

    assert (code, out) == (0, "No partition is failed or missing.\n")
    moment = dt.datetime(2024, 12, 16, tzinfo=dt.UTC)
    wanted = StatusRequest(
        select=("daily",), exclude=("x",), states=("failed", "missing"), days=7, as_of=moment
    )
    assert [words[1:] for words in asked] == [(wanted,)]


@pytest.mark.parametrize(
    ("models", "words", "code"),
    [((DRIFTED,), [], 0), ((DRIFTED,), ["--fail-on-drift"], 1), ((), ["--fail-on-drift"], 0)],
)
def test_status_fails_on_drift_only_if_asked(models, words, code, use_case, call):
    use_case("commands.status", "status", StatusReport(NOON, models))

    assert call("status", *words)[0] == code
