"""`penstock audit`, `diff` and `history`: what their flags ask, and how they end."""

import datetime as dt

import pytest

from penstock.app.reports import AuditReport, AuditRow, DiffReport, HistoryReport
from penstock.app.request import AuditRequest, DiffRequest, HistoryRequest

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)


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
