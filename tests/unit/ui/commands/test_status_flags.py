"""`penstock status`, `audit`, `diff` and `history`: what their flags ask, and how they end."""

import datetime as dt

import pytest

from penstock.app.read_requests import DiffRequest, HistoryRequest
from penstock.app.reports import (
    AuditReport,
    AuditRow,
    DiffReport,
    HistoryReport,
    ModelStatus,
    StateCount,
    StatusReport,
)
from penstock.app.request import AuditRequest, StatusRequest
from penstock.core.names import TableName
from penstock.plan.values import State

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


def test_diff_history_and_audit_pass_their_flags_on(use_case, call):
    diffed = use_case("commands.diff", "diff", DiffReport(NOON))
    told = use_case("commands.history", "history", HistoryReport("daily", "2024-12-01"))
    audited = use_case("commands.audit", "audit", AuditReport())

    call("diff")
    call("diff", "daily", "--partition", "2024-12-01", "--context", "2")
    call("history", "daily")
    call("history", "daily", "--partition", "2024-12-01", "--show-sql", "--limit", "3")
    call("audit", "-s", "daily", "--diff")

    assert [words[1:] for words in diffed] == [
        (DiffRequest(),),
        (DiffRequest(".", "daily", partition="2024-12-01"),),
    ]
    assert [words[1:] for words in told] == [
        (HistoryRequest(".", "daily"),),
        (HistoryRequest(".", "daily", partition="2024-12-01", show_sql=True, limit=3),),
    ]
    assert [words[1:] for words in audited] == [(AuditRequest(select=("daily",), diffs=True),)]


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--modified-only"], 1)])
def test_an_audit_of_modified_versions_exits_1_if_there_are_any(words, code, use_case, call):
    row = AuditRow("daily", 3, 0, "daily.v3.sql", "modified", 15)
    use_case("commands.audit", "audit", AuditReport((row,)))

    assert call("audit", *words)[0] == code
