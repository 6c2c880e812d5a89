"""What `status` says of synced fixture F after somebody else touched its tables or the store."""

import shutil
import sqlite3

from deltalake import DeltaTable

from fakes import stranger
from fakes.fixture_f import EVENTS_PATH
from penstock.app.execution.recover import rebuild

DAILY = "warehouse/analytics/daily_user_stats"
ALL_CURRENT = {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}
BY_VERSION = ("2024-11-25..2024-11-28", "2024-11-29..2024-12-01", "2024-12-02..2024-12-16")


def daily(place):
    return place.root / DAILY


def test_an_update_by_others_tampers_with_the_partition_it_touched(synced):
    stranger.update(daily(synced), "date = '2024-12-03'", unique_users="99")

    assert synced.states() == {
        "daily_user_stats": ["tampered 2024-12-03"],
        "weekly_summary": ["upstream_changed pending 2024-12-02"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }
    (told,) = synced.status("daily_user_stats").models[0].states
    assert told.because[0].startswith("version 4 UPDATE at ")


def test_a_partition_deleted_by_others_is_missing(synced):
    stranger.delete(daily(synced), "date = '2024-12-03'")

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["missing 2024-12-03 also tampered"]
    }


def test_a_restore_by_others_tampers_where_files_changed(synced):
    stranger.restore(daily(synced), 1)

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": ["missing 2024-12-02..2024-12-03,2024-12-09 also tampered"]
    }


def test_rows_of_others_outside_of_all_known_partitions_are_a_line(synced):
    stranger.update(daily(synced), "date = '2024-12-09'", date="DATE '2025-03-01'")
    stranger.update(daily(synced), "date = '2025-03-01'", unique_users="5")

    (model,) = synced.status("daily_user_stats").models

    assert [line.partition(" at ")[0] for line in model.lines] == [
        "foreign rows: version 5 UPDATE",
    ]


def test_without_its_folder_every_success_is_missing(synced):
    shutil.rmtree(daily(synced))

    assert synced.states("daily_user_stats") == {
        "daily_user_stats": [f"missing {each}" for each in BY_VERSION]
    }


def test_in_a_table_of_others_every_success_is_missing(synced):
    stranger.replace(daily(synced))

    (model,) = synced.status("daily_user_stats").models

    assert [(told.state, told.count, told.because) for told in model.states] == [
        ("missing", 4, ("another table took its place",)),
        ("missing", 3, ("another table took its place",)),
        ("missing", 15, ("another table took its place",)),
    ]


def test_a_table_dropped_and_made_anew_is_foreign(synced):
    table = daily(synced)
    schema = DeltaTable(str(table)).schema()
    shutil.rmtree(table)
    DeltaTable.create(str(table), schema, partition_by=["date"])

    assert synced.states("daily_user_stats") == {"daily_user_stats": ["foreign_table *"]}


def test_maintenance_of_others_changes_nothing(synced):
    for table in (daily(synced), synced.root / EVENTS_PATH):
        stranger.optimize(table)
        stranger.set_property(table, "delta.logRetentionDuration", "interval 90 days")
        stranger.vacuum(table)

    assert synced.version("analytics/daily_user_stats") > 2
    assert synced.states() == ALL_CURRENT
    assert synced.preview().plan.is_empty


def test_a_log_cut_above_what_was_seen_is_a_gap(synced):
    table = daily(synced)
    for users in ("97", "98", "99"):
        stranger.update(table, "date = '2024-12-03'", unique_users=users)
    DeltaTable(str(table)).create_checkpoint()
    for version in (0, 1, 2, 3, 4, 5):
        (table / "_delta_log" / f"{version:020}.json").unlink()

    report = synced.status("daily_user_stats")

    assert report.models[0].lines == (
        (
            "log-gap: versions 4 to 5 of the Delta log of analytics.daily_user_stats are missing; "
            "their changes are unknown"
        ),
    )
    assert synced.states("daily_user_stats") == {"daily_user_stats": ["tampered 2024-12-03"]}


def test_without_the_store_tables_of_ours_are_unrecorded(synced):
    lose_the_store(synced)

    assert synced.states() == {
        "daily_user_stats": ["unrecorded *"],
        "weekly_summary": ["unrecorded *"],
        "monthly_report": ["unrecorded *"],
    }
    assert [each.error.code for each in synced.preview().plan.blocked] == ["unrecorded"] * 3


def test_the_logs_give_back_the_records_of_all_that_was_built(synced):
    before = records(synced)
    lose_the_store(synced)

    report = synced.with_shop(rebuild)

    assert (report.steps, report.models, report.untold) == (
        8,
        ("daily_user_stats", "weekly_summary", "monthly_report"),
        (),
    )
    assert records(synced) == before
    assert synced.states() == ALL_CURRENT


def lose_the_store(place):
    for name in ("state.db", "state.db.good"):
        (place.root / ".penstock" / name).unlink()


def records(place):
    """Give what is on record of every partition, and what each step read."""
    with sqlite3.connect(place.root / ".penstock" / "state.db") as store:
        return store.execute(
            'SELECT model, "partition", version, canonical_checksum, schema_checksum, status, '
            "rows_written, commit_version, settled_version, upstream_states "
            "FROM partition_state_full ORDER BY 1, 2"
        ).fetchall()
