"""Fixture F before its first run: everything is to be run, and looking leaves nothing behind."""

import pytest

from fakes.drift_place import DriftPlace
from fakes.stranger import append_all_events


@pytest.fixture
def place(tmp_path):
    append_all_events(tmp_path)
    return DriftPlace(tmp_path)


def test_without_records_every_due_partition_never_ran(place):
    assert place.states() == {
        "daily_user_stats": [
            "never_run 2024-11-25..2024-11-28",
            "never_run 2024-11-29..2024-12-01",
            "never_run 2024-12-02..2024-12-16",
        ],
        "weekly_summary": ["never_run 2024-11-25..2024-12-16"],
        "monthly_report": ["never_run 2024-11..2024-12"],
    }
    assert not (place.root / ".penstock" / "state.db").exists()


def test_the_partitions_are_counted_by_model(place):
    report = place.status()

    assert [(m.model, m.partitions, m.drifted, m.pending) for m in report.models] == [
        ("daily_user_stats", 22, 22, 0),
        ("weekly_summary", 22, 22, 0),
        ("monthly_report", 2, 2, 0),
    ]
