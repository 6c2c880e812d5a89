"""What `status` says of synced fixture F after its source changed."""

from fakes import stranger
from fakes.fixture_f import EVENTS_PATH
from penstock.plan.values import State


def test_new_events_of_a_day_change_its_source(synced):
    stranger.append_event(synced.root, "u4", "2024-12-03 13:00:00")

    assert synced.states() == {
        "daily_user_stats": ["source_changed 2024-12-03"],
        "weekly_summary": ["upstream_changed pending 2024-12-02"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }
    (told,) = synced.status("daily_user_stats").models[0].states
    assert (told.state, told.because) == (State.SOURCE_CHANGED, ("raw.events",))


def test_events_that_no_known_partition_reads_change_nothing(synced):
    stranger.append_event(synced.root, "u4", "2025-01-05 10:00:00")

    assert synced.states() == {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}


def test_another_table_in_the_place_of_a_source_changed_everywhere(synced):
    stranger.replace(synced.root / EVENTS_PATH)

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": [
            "source_changed 2024-11-25..2024-11-28",
            "source_changed 2024-11-29..2024-12-01",
            "source_changed 2024-12-02..2024-12-16",
        ]
    }


def test_upstream_added_after_the_partitions_were_built_changed_for_all(synced):
    synced.edit(
        "queries/reporting/monthly_report.yaml",
        "\nversions:",
        "depends_on: [daily_user_stats]\n\nversions:",
    )

    assert synced.states("monthly_report") == {
        "monthly_report": ["upstream_changed 2024-11..2024-12"]
    }
