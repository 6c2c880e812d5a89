"""What `history` and `audit` tell of fixture F."""

import sqlite3
from hashlib import sha256

import pytest

from fakes.fixture_f import DAILY, DAILY_V1, DAILY_V2, DAILY_V3, EDIT_E, FIXTURE_F
from penstock.core.records import Status

A = FIXTURE_F[DAILY_V3]
B = EDIT_E[DAILY_V3]
DAY = ("2024-12-02", "2024-12-02")
V3_R1 = """\
    sql: daily_user_stats.v3.sql
    sql_revisions:
      - revision: 1
        effective_from: 2024-12-17
        sql: daily_user_stats.v3.r1.sql
"""
WITHOUT_V2 = """\
  - version: 2
    effective_from: 2024-11-29
    sql: daily_user_stats.v2.sql
    schema: ${{ versions.1.schema }}

"""


def rows(report):
    """Give each row as status, trigger, whether it was reverted."""
    return [(str(r.execution.status), r.execution.triggered_by, r.reverted) for r in report.rows]


def audited(place, **asked):
    """Give the audit of daily as version, status, partitions."""
    report = place.audit(select=("daily_user_stats",), **asked)
    return [(row.label, row.status, row.partitions) for row in report.rows]


def test_history_tells_every_execution_and_which_one_was_taken_back(synced):
    synced.write({DAILY_V3: B})
    synced.sync("daily_user_stats", first=DAY[0], last=DAY[1])
    synced.write({DAILY_V3: A})
    synced.sync("daily_user_stats", first=DAY[0], last=DAY[1])

    told = synced.history("daily_user_stats", DAY[0], show_sql=True)
    synced.write({DAILY_V3: A.replace("AS events", "AS evnts")})
    synced.sync("daily_user_stats", first=DAY[0], last=DAY[1])
    failed = synced.history("daily_user_stats", DAY[0])

    assert rows(told) == [
        ("SUCCESS", "sync", False),
        ("SUCCESS", "sync", True),
        ("SUCCESS", "sync", False),
    ]
    assert [row.sql for row in told.rows] == [A, B, A]
    with sqlite3.connect(synced.root / ".penstock" / "state.db") as store:
        hashes = [sha256(text.encode()).hexdigest() for text in (A, B)]
        kept = store.execute("SELECT count(*) FROM contents WHERE hash IN (?, ?)", hashes)
        assert kept.fetchone() == (2,)
    assert rows(failed)[0] == ("FAILED", "sync", False)
    newest = failed.rows[0].execution
    assert (newest.status, newest.failure.code) == (Status.FAILED, "output-column-missing")
    assert "events" in newest.failure.message


def test_history_is_cut_at_its_limit(synced):
    assert len(synced.history("daily_user_stats").rows) == 20
    assert len(synced.history("daily_user_stats", limit=3).rows) == 3


def test_audit_says_which_version_was_modified(synced):
    synced.write(EDIT_E)

    report = synced.audit(select=("daily_user_stats",))

    assert [(r.label, r.status, r.partitions, r.source) for r in report.rows] == [
        ("v1", "current", 4, "analytics/daily_user_stats.v1.sql"),
        ("v2", "current", 3, "analytics/daily_user_stats.v2.sql"),
        ("v3", "modified", 15, "analytics/daily_user_stats.v3.sql"),
    ]
    assert audited(synced, modified_only=True) == [("v3", "modified", 15)]


def test_audit_tells_cosmetic_never_executed_and_deleted_versions(synced):
    synced.edit(DAILY_V1, "SELECT ", "select -- users by day\n  ")
    synced.write({"queries/analytics/daily_user_stats.v3.r1.sql": B})
    synced.edit(DAILY, "    sql: daily_user_stats.v3.sql\n", V3_R1)
    synced.edit(DAILY, WITHOUT_V2, "")
    (synced.root / DAILY_V2).unlink()

    assert audited(synced) == [
        ("v1", "cosmetic", 4),
        ("v2", "deleted", 3),
        ("v3", "current", 15),
        ("v3.r1", "never_executed", 0),
    ]


def test_a_version_that_was_built_by_other_sql_too_is_modified(synced):
    synced.write(EDIT_E)
    synced.sync("daily_user_stats", first="2024-12-05", last="2024-12-16")

    assert audited(synced) == [("v1", "current", 4), ("v2", "current", 3), ("v3", "modified", 15)]
    found = synced.audit(select=("daily_user_stats",), modified_only=True, diffs=True)
    (row,) = found.rows
    assert [(d.before, d.after, d.count, d.partitions) for d in row.diffs] == [
        (A, B, 3, (("2024-12-02", "2024-12-04"),))
    ]


@pytest.mark.matrix
def test_history_tells_a_sync_from_a_cascade(cascaded):
    daily = cascaded.history("daily_user_stats", "2024-12-02")
    weekly = cascaded.history("weekly_summary", "2024-12-02")
    monthly = cascaded.history("monthly_report", "2024-12")

    assert [row[1] for row in rows(daily)] == ["sync", "sync"]
    assert [row[1] for row in rows(weekly)] == ["cascade", "sync"]
    assert [row[1] for row in rows(monthly)] == ["cascade", "sync"]
    assert [row.execution.rows_written for row in weekly.rows] == [1, 1]
