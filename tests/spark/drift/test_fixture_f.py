"""Fixture F built, edited and repaired: the seed's own story."""

import pytest

from fakes.drift_place import DAILY_TABLE, MONTHLY_TABLE, WEEKLY_TABLE
from fakes.fixture_f import EDIT_E


def test_the_first_sync_builds_every_version_of_every_model(synced):
    assert synced.rows(DAILY_TABLE) == [
        ("2024-11-28", "1", None),
        ("2024-12-02", "2", "3"),
        ("2024-12-03", "1", "2"),
        ("2024-12-09", "1", "1"),
    ]
    assert synced.rows(WEEKLY_TABLE) == [
        ("2024-11-25", "1"),
        ("2024-12-02", "3"),
        ("2024-12-09", "1"),
    ]
    assert synced.rows(MONTHLY_TABLE) == [("2024-11-01", "1"), ("2024-12-01", "4")]


@pytest.mark.matrix
def test_a_cascade_repairs_what_an_edit_made_stale(synced):
    synced.write(EDIT_E)

    report = synced.sync(cascade=True)

    assert [(r.name, r.status, r.trigger) for r in report.results] == [
        ("daily_user_stats", "success", "sync"),
        ("weekly_summary", "success", "cascade"),
        ("weekly_summary", "success", "cascade"),
        ("weekly_summary", "unchanged", "cascade"),
        ("monthly_report", "success", "cascade"),
    ]
    assert synced.rows(DAILY_TABLE)[1:] == [
        ("2024-12-02", "3", "3"),
        ("2024-12-03", "2", "2"),
        ("2024-12-09", "1", "1"),
    ]
    assert synced.rows(WEEKLY_TABLE) == [
        ("2024-11-25", "1"),
        ("2024-12-02", "5"),
        ("2024-12-09", "1"),
    ]
    assert synced.rows(MONTHLY_TABLE) == [("2024-11-01", "1"), ("2024-12-01", "6")]
    assert synced.states() == {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}
