"""What `sync`, `backfill`, `run` and `rollback` do on synced fixture F."""

import shutil
import sqlite3
import threading
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from fakes import stranger
from fakes.drift_place import (
    DAILY_TABLE,
    MONTHLY_TABLE,
    WEEKLY_TABLE,
    DriftPlace,
)
from fakes.fixture_f import DAILY, DAILY_V3, EDIT_E, SOURCES
from penstock.app.commands.plan import preview
from penstock.app.commands.sync import overwrites, plan_sync, preview_sync, sync
from penstock.app.reports import Overwrite
from penstock.app.request import BackfillRequest, RunRequest, SyncRequest
from penstock.core.errors import PenstockError
from penstock.core.steps.token import signed_by

ALL_CURRENT = {"daily_user_stats": [], "weekly_summary": [], "monthly_report": []}
THE_15 = (("2024-12-02", "2024-12-16"),)


def results(report):
    """Give what became of each step as model, first partition, status."""
    return [(each.name, each.partitions[0][0], each.status) for each in report.results]


def planned(report):
    """Give the planned steps as model, first and last partition."""
    return [(step.model, *step.keys[0]) for step in report.plan.steps]


def stored(root):
    """Give every byte of tables and records."""
    folders = [root / "lake", root / "warehouse"]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    files += root.glob(".penstock/state.db*")
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def records(place):
    """Give what is on record of every partition."""
    with sqlite3.connect(place.root / ".penstock" / "state.db") as store:
        return store.execute(
            'SELECT model, "partition", version, canonical_checksum, status, rows_written '
            "FROM partition_state_full ORDER BY 1, 2"
        ).fetchall()


def never(overwrites):
    """Fail, because there is nothing to ask about."""
    raise AssertionError(overwrites)


def a_model(name, sql):
    """Write a model of 40 days with the columns date and users."""
    return f"""\
name: {name}
destination: {{dataset: forty, table: {name}, partition: {{field: date}}}}
versions:
  - version: 1
    effective_from: 2024-11-07
    sql: >
      SELECT DATE(created_at) AS date, COUNT(DISTINCT user_id) AS users
      FROM raw.events WHERE {sql} GROUP BY 1
    schema: [{{name: date, type: DATE}}, {{name: users, type: INT64}}]
"""


ONE = "DATE(created_at) = @partition_date"
MANY = "DATE(created_at) >= @start_date AND DATE(created_at) < @end_date"


@pytest.mark.matrix
def test_forty_days_go_in_as_few_commits_as_the_sql_allows(fresh):
    shutil.rmtree(fresh.root / "queries")
    fresh.write(
        {
            SOURCES: "sources: [{name: raw, tables: [{name: events, path: ../lake/raw/events}]}]\n",
            "queries/one.yaml": a_model("one", ONE),
            "queries/many.yaml": a_model("many", MANY),
        }
    )

    report = fresh.sync("one many", ask=never)
    rows = [fresh.rows("forty/one"), fresh.rows("forty/many")]
    cut = fresh.backfill("many", "2024-11-07", "2024-12-16", batch_size=10)

    assert [(r.name, r.partitions[0], r.count) for r in (*report.results, *cut.results)] == [
        ("many", ("2024-11-07", "2024-12-16"), 40),
        ("one", ("2024-11-07", "2024-12-07"), 31),
        ("one", ("2024-12-08", "2024-12-16"), 9),
        ("many", ("2024-11-07", "2024-11-16"), 10),
        ("many", ("2024-11-17", "2024-11-26"), 10),
        ("many", ("2024-11-27", "2024-12-06"), 10),
        ("many", ("2024-12-07", "2024-12-16"), 10),
    ]
    found = [("2024-11-28", "1"), ("2024-12-02", "2"), ("2024-12-03", "1"), ("2024-12-09", "1")]
    assert [*rows, fresh.rows("forty/many")] == [found] * 3
    assert fresh.version("forty/one") == 2


def jobs_of(place, work):
    """Count the jobs that Spark numbers while something is done; nothing forgets them."""
    scheduler = place.spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    work()
    return scheduler.numTotalJobs() - before


@pytest.mark.matrix
def test_many_partitions_take_one_commit_and_the_jobs_of_one_query(fresh):
    shutil.rmtree(fresh.root / "queries")
    fresh.write(
        {
            SOURCES: "sources: [{name: raw, tables: [{name: events, path: ../lake/raw/events}]}]\n",
            "queries/one.yaml": a_model("one", ONE),
            "queries/many.yaml": a_model("many", MANY),
        }
    )
    fresh.sync("one many", ask=never)
    days = [f"2024-12-{day:02}" for day in range(1, 11, 2)]
    days += [f"2024-11-{day:02}" for day in range(8, 30, 4)]
    for day in days:
        stranger.append_event(fresh.root, "u7", f"{day} 08:00:00")
    versions = {name: fresh.version(f"forty/{name}") for name in ("one", "many")}

    report = fresh.sync("one many")
    jobs = [
        jobs_of(fresh, lambda name=name: fresh.backfill(name, "2024-11-07", "2024-12-07"))
        for name in ("one", "many")
    ]

    assert [(result.name, result.count) for result in report.results] == [("many", 11), ("one", 11)]
    assert fresh.states("one many") == {"one": [], "many": []}
    rows = fresh.rows("forty/one")
    assert rows == fresh.rows("forty/many")
    assert {row[0] for row in rows} == {*days, "2024-11-28", "2024-12-02"}
    assert {name: fresh.version(f"forty/{name}") for name in versions} == {
        name: version + 2 for name, version in versions.items()
    }
    assert jobs[0] <= 1.5 * jobs[1]


def test_a_step_takes_neighbours_of_one_version(synced):
    for day in ("11-29", "11-30", "12-01", "12-02", "12-05", "12-06"):
        stranger.append_event(synced.root, "u7", f"2024-{day} 08:00:00")

    assert planned(synced.preview("daily_user_stats")) == [
        ("daily_user_stats", "2024-11-29", "2024-12-01"),
        ("daily_user_stats", "2024-12-02", "2024-12-02"),
        ("daily_user_stats", "2024-12-05", "2024-12-06"),
    ]


TOO_MANY = {
    DAILY_V3: EDIT_E[DAILY_V3].replace(
        " AS unique_users",
        " + IF(DATE(created_at) = DATE '2024-12-02', 9223372036854775804, 0) AS unique_users",
    )
}
"""Edit E with so many users on 2024-12-02 that the sum of its week is not a BIGINT."""


@pytest.mark.matrix
def test_after_a_failure_what_does_not_hang_on_it_goes_on(synced):
    synced.write(TOO_MANY)

    report = synced.sync(cascade=True)
    again = synced.preview(cascade=True)

    assert [(r.name, r.partitions[0][0], r.status, r.reason) for r in report.results] == [
        ("daily_user_stats", "2024-12-02", "success", "sql_changed"),
        ("weekly_summary", "2024-12-02", "failed", "upstream_changed: after daily_user_stats"),
        ("weekly_summary", "2024-12-09", "success", "upstream_changed: after daily_user_stats"),
        ("weekly_summary", "2024-12-16", "unchanged", "upstream_changed: after daily_user_stats"),
        ("monthly_report", "2024-12", "skipped", "upstream failed"),
    ]
    assert not report.succeeded
    assert report.resume == "penstock sync --cascade --yes"
    assert synced.states() == {
        "daily_user_stats": [],
        "weekly_summary": ["failed 2024-12-02 also upstream_changed"],
        "monthly_report": ["upstream_changed 2024-12"],
    }
    assert planned(again) == [
        ("weekly_summary", "2024-12-02", "2024-12-02"),
        ("monthly_report", "2024-12", "2024-12"),
    ]
    skipped = synced.history("monthly_report", "2024-12").rows
    assert [row.execution.triggered_by for row in skipped] == ["sync"]


@pytest.mark.matrix
def test_with_fail_fast_nothing_new_starts_after_a_failure(synced):
    synced.write(TOO_MANY)

    report = synced.sync(cascade=True, fail_fast=True)

    assert [(r.name, r.partitions[0][0], r.status, r.reason) for r in report.results] == [
        ("daily_user_stats", "2024-12-02", "success", "sql_changed"),
        ("weekly_summary", "2024-12-02", "failed", "upstream_changed: after daily_user_stats"),
        ("weekly_summary", "2024-12-09", "skipped", "fail-fast"),
        ("weekly_summary", "2024-12-16", "skipped", "fail-fast"),
        ("monthly_report", "2024-12", "skipped", "fail-fast"),
    ]


def test_max_partitions_keeps_the_first_ones_and_counts_the_rest(synced):
    synced.write(EDIT_E)

    report = synced.preview(cascade=True, max_partitions=10)

    assert planned(report) == [("daily_user_stats", "2024-12-02", "2024-12-11")]
    assert (report.preview.remaining, report.plan.remaining) == (9, 9)


def test_all_knows_no_limit_of_the_project(synced):
    synced.write(EDIT_E)
    synced.edit("penstock.yml", "name: stats", "name: stats\nsync: {max_partitions: 10}")

    limited = synced.preview(cascade=True)
    everything = synced.preview(cascade=True, everything=True)

    assert (limited.plan.remaining, everything.plan.remaining) == (9, 0)


def test_a_sync_that_is_not_confirmed_does_nothing(synced):
    synced.write(EDIT_E)
    stranger.update(
        synced.root / "warehouse" / DAILY_TABLE, "date = '2024-12-03'", unique_users="99"
    )
    before, asked = stored(synced.root), []

    def no(overwrites):
        asked.extend(overwrites)
        return False

    report = synced.sync("daily_user_stats", ask=no)

    assert (report.aborted, report.succeeded, report.results) == (True, False, ())
    assert asked == [
        Overwrite(
            model="daily_user_stats",
            count=15,
            partitions=THE_15,
            last_success=asked[0].last_success,
            foreign=(("2024-12-03", "2024-12-03"),),
            foreign_count=1,
        )
    ]
    assert f"{asked[0].last_success:%Y-%m-%d %H:%M}" == "2024-12-16 12:00"
    assert stored(synced.root) == before


def test_partitions_whose_rows_are_gone_are_nothing_to_ask_about(synced):
    shutil.rmtree(synced.root / "warehouse" / WEEKLY_TABLE)

    request = SyncRequest(select=("weekly_summary",))
    asked = synced.with_shop(lambda services: overwrites(services, plan_sync(services, request)))

    assert asked == ()


IMMUTABLE = ("name: daily_user_stats\n", "name: daily_user_stats\nimmutable: true\n")


def test_sql_of_an_immutable_model_that_built_something_may_not_change(synced):
    synced.write(EDIT_E)
    synced.edit(DAILY, *IMMUTABLE)

    refused = synced.sync("daily_user_stats", ask=never)
    allowed = synced.preview("daily_user_stats", allow_source_mutation=True)

    (result,) = refused.results
    assert (result.status, refused.succeeded) == ("failed", False)
    assert result.error.code == "source-mutated"
    assert result.error.sentence == (
        "v3 of daily_user_stats has built 15 partitions and its SQL changed "
        "(analytics/daily_user_stats.v3.sql)"
    )
    assert planned(allowed) == [("daily_user_stats", "2024-12-02", "2024-12-16")]


def test_failures_freeze_nothing(fresh):
    fresh.edit(DAILY, *IMMUTABLE)
    fresh.edit(DAILY_V3, "COUNT(*) AS events", "COUNT(*) AS evnts")
    failed = fresh.sync("daily_user_stats", first="2024-12-02", last="2024-12-16")
    fresh.edit(DAILY_V3, "COUNT(*) AS evnts", "COUNT(*) AS events")

    report = fresh.preview("daily_user_stats", first="2024-12-02", last="2024-12-16")

    assert [(r.status, r.error.code) for r in failed.results] == [
        ("failed", "output-column-missing")
    ]
    assert report.plan.blocked == ()
    assert planned(report) == [("daily_user_stats", "2024-12-02", "2024-12-16")]


def test_a_sync_below_unselected_drift_runs_nothing_and_warns_once(synced):
    synced.write(EDIT_E)
    before = stored(synced.root)

    report = synced.sync("weekly_summary", ask=never)

    assert report.plan.is_empty
    assert report.preview.lines == (
        "not selected, though drifted, and read here: daily_user_stats",
    )
    assert stored(synced.root) == before


@pytest.mark.matrix
def test_dry_runs_write_nothing(cascaded):
    cascaded.edit(DAILY_V3, "'anon'", "'nobody'")
    rolled = first_step(cascaded, "daily_user_stats")
    before = stored(cascaded.root)
    cascaded.spark = None

    reports = [
        cascaded.preview(),
        cascaded.preview(cascade=True),
        cascaded.preview(full_refresh=True),
        cascaded.with_shop(
            lambda services: (
                preview_sync(
                    services,
                    BackfillRequest(".", "daily_user_stats", from_="2024-12-02", to="2024-12-03"),
                ).report
            )
        ),
        cascaded.with_shop(lambda services: preview(services, RunRequest()).report),
    ]
    back = cascaded.rollback("daily_user_stats", rolled, dry_run=True)

    assert [len(report.plan.steps) for report in reports] == [1, 5, 5, 1, 3]
    assert (back.count, back.dry_run) == (15, True)
    assert stored(cascaded.root) == before


def test_of_two_syncs_the_second_names_the_first_or_waits_and_does_nothing(synced):
    synced.write(EDIT_E)
    others = [DriftPlace(synced.root, synced.spark, {}, synced.clock) for _ in range(2)]
    request = SyncRequest(select=("daily_user_stats",), threads=1)
    refused, waited, started = [], [], threading.Event()

    def waits(services):
        waited.append(sync(services, replace(request, wait=60), lambda _: started.set()))

    late = threading.Thread(target=lambda: others[1].with_shop(waits))

    def meanwhile(point):
        if point == "before-commit" and not refused:
            refused.append(others[0].sync("daily_user_stats"))
            late.start()
            assert started.wait(30)

    def first(services):
        services.fault = meanwhile
        return sync(services, request)

    report = synced.with_shop(first)
    late.join(60)

    (result,) = refused[0].results
    assert (result.status, result.error.code) == ("failed", "lease-held")
    assert result.error.sentence.startswith(
        f"analytics.daily_user_stats is being written by run {report.run_id} "
    )
    assert " since 2024-12-16 12:01:" in result.error.sentence
    assert results(report) == [("daily_user_stats", "2024-12-02", "success")]
    assert [(r.status, r.reason) for r in waited[0].results] == [
        ("unchanged", "another run built it")
    ]
    assert synced.version(DAILY_TABLE) == 4


@pytest.mark.matrix
def test_on_four_threads_rows_and_records_are_those_of_one(synced, cascaded):
    synced.write(EDIT_E)

    synced.sync(cascade=True, threads=4)

    for table in (DAILY_TABLE, WEEKLY_TABLE, MONTHLY_TABLE):
        assert synced.rows(table) == cascaded.rows(table)
    assert records(synced) == records(cascaded)


def first_step(place, model):
    """Give the newest step of a model."""
    return place.history(model, limit=1).rows[0].execution.step


def marks(place, model):
    """Give which SQL is on record for the partitions of a model, and how many of each."""
    with sqlite3.connect(place.root / ".penstock" / "state.db") as store:
        return store.execute(
            "SELECT version, sql_checksum, count(*) FROM partition_state_full "
            "WHERE model = ? GROUP BY 1, 2 ORDER BY 1",
            (model,),
        ).fetchall()


@pytest.mark.matrix
def test_a_rollback_brings_rows_and_records_of_the_step_before_back(cascaded, synced):
    rolled = first_step(cascaded, "daily_user_stats")

    report = cascaded.rollback("daily_user_stats", rolled)

    assert (report.partitions, report.count, report.deleted) == (THE_15, 15, 0)
    assert report.lines == (
        "the restored partitions count as drifted until the code is reverted",
        "downstream becomes upstream_changed: weekly_summary",
    )
    assert cascaded.rows(DAILY_TABLE) == [
        ("2024-11-28", "1", None),
        ("2024-12-02", "2", "3"),
        ("2024-12-03", "1", "2"),
        ("2024-12-09", "1", "1"),
    ]
    assert marks(cascaded, "daily_user_stats") == marks(synced, "daily_user_stats")
    assert cascaded.states() == {
        "daily_user_stats": ["sql_changed 2024-12-02..2024-12-16"],
        "weekly_summary": ["upstream_changed 2024-12-02,2024-12-09,2024-12-16"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }
    rows = cascaded.history("daily_user_stats", limit=15).rows
    assert {row.execution.triggered_by for row in rows} == {"rollback"}


def refusal(place, *given):
    """Give the code that refuses a rollback of daily."""
    with pytest.raises(PenstockError) as caught:
        place.rollback("daily_user_stats", *given)
    return caught.value.code


def test_a_rollback_that_cannot_be_is_refused_and_nothing_is_written(cascaded):
    table = cascaded.root / "warehouse" / DAILY_TABLE
    last = first_step(cascaded, "daily_user_stats")
    created, _ = signed_by(DeltaTable(str(table)).history()[-1]["userMetadata"])
    foreign = shutil.copytree(cascaded.root, cascaded.root.parent / "foreign")
    stranger.update(foreign / "warehouse" / DAILY_TABLE, "date = '2024-12-03'", unique_users="9")
    vacuumed = shutil.copytree(cascaded.root, cascaded.root.parent / "vacuumed")
    stranger.vacuum(vacuumed / "warehouse" / DAILY_TABLE)
    folders = [cascaded.root, foreign, vacuumed]
    before = [stored(each) for each in folders]
    places = [DriftPlace(each, None, {}, cascaded.clock) for each in folders]

    codes = [
        refusal(places[0], created),
        refusal(places[0], "nothing-like-it"),
        refusal(places[0], first_step(cascaded, "weekly_summary")),
        refusal(places[1], last),
        refusal(places[2], last),
    ]

    assert codes == [
        "rollback-nothing-before",
        "rollback-unknown-step",
        "rollback-unknown-step",
        "rollback-foreign-commits",
        "rollback-vacuumed",
    ]
    assert [stored(each) for each in folders] == before


@pytest.mark.matrix
def test_a_run_of_a_date_builds_the_partitions_that_hold_it(fresh):
    report = fresh.run(first="2024-12-09", last="2024-12-09")
    again = fresh.run(first="2024-12-09", last="2024-12-09")

    assert [(r.name, r.partitions[0][0], r.status, r.trigger) for r in report.results] == [
        ("daily_user_stats", "2024-12-09", "success", "run"),
        ("weekly_summary", "2024-12-09", "success", "run"),
        ("monthly_report", "2024-12", "success", "run"),
    ]
    assert fresh.rows(DAILY_TABLE) == [("2024-12-09", "1", "1")]
    assert fresh.rows(WEEKLY_TABLE) == [("2024-12-09", "1")]
    assert fresh.rows(MONTHLY_TABLE) == [("2024-12-01", "1")]
    assert again.plan.is_empty
