"""What follows from a re-run: the cascade cases on synced fixture F."""

import datetime as dt
import shutil

import pytest

from fakes import stranger
from fakes.drift_place import DAILY_TABLE, DriftPlace
from fakes.fixture_f import EDIT_E
from penstock.app.commands.sync import sync
from penstock.app.reports import Cascaded
from penstock.app.request import BackfillRequest

ALL_CURRENT = {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}


def steps(report):
    """Give the planned steps as model, first and last partition, trigger."""
    return [(step.model, *step.keys[0], step.trigger) for step in report.plan.steps]


def results(report):
    """Give what became of each step as model, first partition, status."""
    return [(each.name, each.partitions[0][0], each.status) for each in report.results]


def stored(root):
    """Give every byte of tables and records."""
    folders = [root / "lake", root / "warehouse"]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    files += root.glob(".penstock/state.db*")
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def test_a_dry_run_of_a_cascade_plans_19_partitions_in_5_steps(synced):
    synced.write(EDIT_E)
    before = stored(synced.root)
    synced.spark = None

    report = synced.preview(cascade=True)

    assert steps(report) == [
        ("daily_user_stats", "2024-12-02", "2024-12-16", "sync"),
        ("weekly_summary", "2024-12-02", "2024-12-02", "cascade"),
        ("weekly_summary", "2024-12-09", "2024-12-09", "cascade"),
        ("weekly_summary", "2024-12-16", "2024-12-16", "cascade"),
        ("monthly_report", "2024-12", "2024-12", "cascade"),
    ]
    assert [step.count for step in report.plan.steps] == [15, 1, 1, 1, 1]
    assert [(m.model, m.drifted) for m in report.preview.drifted] == [("daily_user_stats", 15)]
    assert report.preview.cascaded == (
        Cascaded("weekly_summary", 3, ("daily_user_stats",)),
        Cascaded("monthly_report", 1, ("weekly_summary",)),
    )
    (changed,) = report.preview.diffs
    assert [(d.version, d.count, d.schema) for d in changed.diffs] == [("v3", 15, ())]
    assert stored(synced.root) == before


def test_without_cascade_a_sync_runs_what_drifted_and_names_what_follows(synced):
    synced.write(EDIT_E)

    report = synced.sync()

    assert results(report) == [
        ("daily_user_stats", "2024-12-02", "success"),
        ("weekly_summary", "*", "unchanged"),
        ("monthly_report", "*", "unchanged"),
    ]
    assert report.preview.left == (
        Cascaded("weekly_summary", 3, ("daily_user_stats",)),
        Cascaded("monthly_report", 1, ("weekly_summary",)),
    )
    assert synced.states() == {
        "daily_user_stats": [],
        "weekly_summary": ["upstream_changed 2024-12-02,2024-12-09,2024-12-16"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }


EVERYTHING = "queries/analytics/everything.yaml"
VIEW = "queries/analytics/daily_view.yaml"
BY_VIEW = "queries/analytics/by_view.yaml"
READERS = {
    EVERYTHING: """\
name: everything
destination: {dataset: analytics, table: everything, partition: {field: date}}
versions:
  - version: 1
    effective_from: 2024-12-02
    sql: >
      SELECT explode(sequence(@start_date, date_sub(@end_date, 1))) AS date, users
      FROM (SELECT SUM(unique_users) AS users FROM analytics.daily_user_stats)
    schema: [{name: date, type: DATE}, {name: users, type: INT64}]
""",
    VIEW: """\
name: daily_view
strategy: view
destination: {dataset: analytics, table: daily_view}
versions:
  - version: 1
    effective_from: 2024-11-25
    sql: SELECT date, unique_users AS users FROM analytics.daily_user_stats
    schema: [{name: date, type: DATE}, {name: users, type: INT64}]
""",
    BY_VIEW: """\
name: by_view
destination: {dataset: analytics, table: by_view, partition: {field: date}}
versions:
  - version: 1
    effective_from: 2024-12-02
    sql: >
      SELECT date, users FROM analytics.daily_view
      WHERE date >= @start_date AND date < @end_date
    schema: [{name: date, type: DATE}, {name: users, type: INT64}]
""",
}
NOTHING = {**ALL_CURRENT, "everything": [], "daily_view": [], "by_view": []}


@pytest.fixture(scope="module")
def readers(tmp_path_factory, spark, synced_folder):
    """Fixture F with a model that reads all of daily, and one that reads it through a view."""
    root = tmp_path_factory.mktemp("readers") / "f"
    shutil.copytree(synced_folder, root)
    place = DriftPlace(root, spark, files=READERS)
    place.clock.advance(hours=1)
    built = place.sync()
    assert built.succeeded, built.results
    assert place.states() == NOTHING
    return place


@pytest.fixture(scope="module")
def emptied(readers):
    """What a backfill of an empty partition that stays empty did, and the states after it."""
    before = readers.version(DAILY_TABLE)
    report = readers.backfill("daily_user_stats", "2024-12-05", "2024-12-05")
    return report, readers.version(DAILY_TABLE) - before, readers.states()


@pytest.fixture(scope="module")
def refilled(readers, emptied):
    """What a backfill of three partitions with rows did, and the states after it."""
    before = readers.version(DAILY_TABLE)
    report = readers.backfill("daily_user_stats", "2024-12-02", "2024-12-04")
    return report, readers.version(DAILY_TABLE) - before, readers.states()


@pytest.mark.matrix
def test_a_model_that_reads_all_of_its_upstream_is_warned_of(readers):
    (note,) = (note for note in readers.preview().notes if "upstream-mapping-all" in note)

    assert note.splitlines()[-1].strip() == (
        "hint: depends_on: [{model: daily_user_stats, partitions: all}]"
    )


def test_emptying_an_empty_partition_changes_nothing_downstream(emptied):
    report, commits, states = emptied

    assert results(report) == [("daily_user_stats", "2024-12-05", "unchanged")]
    assert commits == 1  # it holds the step's transaction and no row
    assert states == NOTHING


def test_a_backfill_runs_current_partitions_in_one_step(refilled, readers):
    report, commits, _ = refilled

    assert [(r.name, r.status, r.count, r.trigger) for r in report.results] == [
        ("daily_user_stats", "success", 3, "backfill")
    ]
    assert commits == 1
    rows = readers.history("daily_user_stats", limit=3).rows
    assert {(row.execution.partition, row.execution.triggered_by) for row in rows} == {
        ("2024-12-02", "backfill"),
        ("2024-12-03", "backfill"),
        ("2024-12-04", "backfill"),
    }


def test_any_run_of_an_upstream_that_is_read_whole_marks_all(refilled):
    _, _, states = refilled

    assert states["everything"] == ["upstream_changed 2024-12-02..2024-12-16"]
    assert states["weekly_summary"] == ["upstream_changed 2024-12-02"]


def test_a_mapping_passes_through_a_view(refilled):
    _, _, states = refilled

    assert states["daily_view"] == []
    assert states["by_view"] == ["upstream_changed 2024-12-02..2024-12-04"]


def test_another_sql_of_a_view_marks_all_that_reads_it(refilled, readers):
    readers.sync("by_view")
    readers.edit(VIEW, "unique_users AS users", "unique_users + 1 AS users")
    edited = readers.states()
    readers.sync("daily_view")
    remade = readers.states()

    assert (edited["daily_view"], edited["by_view"]) == (
        ["sql_changed *"],
        ["upstream_changed pending 2024-12-02..2024-12-16"],
    )
    assert (remade["daily_view"], remade["by_view"]) == (
        [],
        ["upstream_changed 2024-12-02..2024-12-16"],
    )


def at(place, *moment):
    """Set the clock, back too."""
    moved = dt.datetime(*moment, tzinfo=dt.UTC) - place.clock.now()
    place.clock.advance(seconds=moved.total_seconds())


def test_a_first_run_of_a_day_that_a_week_was_built_without_changes_the_week(synced):
    at(synced, 2024, 12, 18, 12)
    wednesday = synced.backfill("weekly_summary", "2024-12-16", "2024-12-16")
    before = synced.states("weekly_summary")
    stranger.append_event(synced.root, "u5", "2024-12-19 08:00:00")
    at(synced, 2024, 12, 20, 12)
    friday = synced.sync("daily_user_stats")

    assert results(wednesday) == [("weekly_summary", "2024-12-16", "unchanged")]
    assert before == {
        "weekly_summary": [
            "never_run 2024-12-17..2024-12-18",
            "upstream_changed pending 2024-12-16",
        ]
    }
    assert results(friday) == [("daily_user_stats", "2024-12-17", "success")]
    assert synced.states("weekly_summary") == {
        "weekly_summary": [
            "never_run 2024-12-17..2024-12-20",
            "upstream_changed 2024-12-16",
        ]
    }


def test_a_clock_that_was_set_back_does_not_hide_what_came_later(synced):
    at(synced, 2024, 12, 15, 11)
    synced.backfill("daily_user_stats", "2024-12-03", "2024-12-03")

    assert synced.states() == {
        "daily_user_stats": [],
        "weekly_summary": ["upstream_changed 2024-12-02"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }


def test_a_commit_between_pin_and_commit_of_a_reader_is_news_to_it(synced):
    stranger.append_event(synced.root, "u5", "2024-12-03 08:00:00")
    request = BackfillRequest(".", "weekly_summary", from_="2024-12-02", to="2024-12-02")
    other = DriftPlace(synced.root, synced.spark, files={}, clock=synced.clock)
    meanwhile = []

    def upstream_commits(point):
        if point == "before-commit" and not meanwhile:
            meanwhile.append(True)
            meanwhile.append(other.sync("daily_user_stats"))

    def read_late(services):
        services.fault = upstream_commits
        return sync(services, request)

    report = synced.with_shop(read_late)

    assert results(meanwhile[1]) == [("daily_user_stats", "2024-12-03", "success")]
    assert results(report) == [("weekly_summary", "2024-12-02", "success")]
    assert synced.states() == {
        "daily_user_stats": [],
        "weekly_summary": ["upstream_changed 2024-12-02"],
        "monthly_report": ["upstream_changed 2024-12"],
    }


RUNNING = {
    "queries/analytics/running.yaml": """\
name: running
destination: {dataset: analytics, table: running, partition: {field: date}}
versions:
  - version: 1
    effective_from: 2024-12-13
    sql: >
      SELECT @partition_date AS date,
             (SELECT COUNT(*) FROM raw.events WHERE DATE(created_at) = @partition_date)
             + COALESCE((SELECT SUM(events) FROM analytics.running
                         WHERE date = date_sub(@partition_date, 1)), 0) AS events
    schema: [{name: date, type: DATE}, {name: events, type: INT64}]
"""
}


@pytest.mark.matrix
def test_a_model_that_reads_its_day_before_is_run_day_by_day_in_order(synced):
    synced.write(RUNNING)
    built = synced.sync("running")
    stranger.append_event(synced.root, "u7", "2024-12-13 08:00:00")
    synced.sync("running", first="2024-12-13", last="2024-12-13")
    states = synced.states("running")
    planned = synced.preview("running", cascade=True)
    report = synced.sync("running", cascade=True)

    days = ["2024-12-13", "2024-12-14", "2024-12-15", "2024-12-16"]
    assert results(built) == [("running", day, "success") for day in days]
    assert states == {
        "running": [
            "upstream_changed 2024-12-14",
            "upstream_changed pending 2024-12-15..2024-12-16",
        ]
    }
    assert steps(planned) == [
        ("running", "2024-12-14", "2024-12-14", "sync"),
        ("running", "2024-12-15", "2024-12-15", "cascade"),
        ("running", "2024-12-16", "2024-12-16", "cascade"),
    ]
    assert results(report) == [("running", day, "success") for day in days[1:]]
    assert synced.rows("analytics/running") == [(day, "1") for day in days]
    assert synced.states("running") == {"running": []}
