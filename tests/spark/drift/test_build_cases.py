"""Fixture F built, and partitions of hours and integers."""

import sqlite3

import pytest
from deltalake import DeltaTable

from fakes import stranger
from fakes.drift_place import DAILY_TABLE, DriftPlace
from fakes.fixture_f import EVENTS_PATH


def table_of(place, path):
    return DeltaTable(str(place.root / "warehouse" / path))


def records(place, model):
    with sqlite3.connect(place.root / ".penstock" / "state.db") as store:
        return store.execute(
            'SELECT "partition", version, status, rows_written, commit_version, settled_version '
            "FROM partition_state_full WHERE model = ? ORDER BY 1",
            (model,),
        ).fetchall()


def test_a_create_then_a_commit_for_each_segment_an_empty_one_where_none_has_rows(synced):
    found = list(reversed(table_of(synced, DAILY_TABLE).history()))

    assert [entry["operation"] for entry in found] == ["CREATE TABLE", "WRITE", "WRITE", "WRITE"]
    written = [entry["operationMetrics"].get("numOutputRows") for entry in found[1:]]
    assert written == ["1", None, "3"]


def test_a_partition_is_on_record_with_its_rows_and_commits(synced):
    found = records(synced, "daily_user_stats")

    assert [partition for partition, *_ in found] == [
        *(f"2024-11-{day}" for day in range(25, 31)),
        *(f"2024-12-{day:02}" for day in range(1, 17)),
    ]
    assert [row for row in found if row[3] or row[0] < "2024-12-02"] == [
        ("2024-11-25", 1, "SUCCESS", 0, 1, 1),
        ("2024-11-26", 1, "SUCCESS", 0, 1, 1),
        ("2024-11-27", 1, "SUCCESS", 0, 1, 1),
        ("2024-11-28", 1, "SUCCESS", 1, 1, 1),
        ("2024-11-29", 2, "SUCCESS", 0, None, 2),
        ("2024-11-30", 2, "SUCCESS", 0, None, 2),
        ("2024-12-01", 2, "SUCCESS", 0, None, 2),
        ("2024-12-02", 3, "SUCCESS", 1, 3, 3),
        ("2024-12-03", 3, "SUCCESS", 1, 3, 3),
        ("2024-12-09", 3, "SUCCESS", 1, 3, 3),
    ]


def test_a_partition_whose_source_rows_are_gone_is_emptied(synced):
    where = "created_at >= '2024-12-03T00:00:00Z' AND created_at < '2024-12-04T00:00:00Z'"
    stranger.delete(synced.root / EVENTS_PATH, where)
    before = set(table_of(synced, DAILY_TABLE).file_uris())

    report = synced.sync("daily_user_stats")

    assert [(r.status, r.partitions) for r in report.results] == [
        ("success", (("2024-12-03", "2024-12-03"),))
    ]
    assert synced.rows(DAILY_TABLE) == [
        ("2024-11-28", "1", None),
        ("2024-12-02", "2", "3"),
        ("2024-12-09", "1", "1"),
    ]
    gone = before - set(table_of(synced, DAILY_TABLE).file_uris())
    assert [name.split("/")[-2] for name in gone] == ["date=2024-12-03"]
    assert synced.states() == {
        "daily_user_stats": [],
        "weekly_summary": ["upstream_changed 2024-12-02"],
        "monthly_report": ["upstream_changed pending 2024-12"],
    }


HOURS = """\
name: hours
destination: {dataset: a, table: hours, partition: {field: at, type: HOUR}}
versions:
  - version: 1
    effective_from: 2024-12-16
    sql: |
      SELECT at, 1 AS n FROM VALUES
        (TIMESTAMP'2024-12-16 10:00:00'), (TIMESTAMP'2024-12-16 10:59:59.999999'),
        (TIMESTAMP'2024-12-16 11:00:00') AS t(at)
      WHERE at >= @start_date AND at < @end_date
    schema: [{name: at, type: TIMESTAMP}, {name: n, type: INT}]
"""
HUNDREDS = """\
name: hundreds
destination:
  dataset: a
  table: hundreds
  partition: {field: id, type: RANGE, start: 0, end: 250, interval: 100}
versions:
  - version: 1
    effective_from: 2024-12-16
    sql: |
      SELECT id, 1 AS n FROM VALUES (99), (100), (150), (199), (200) AS t(id)
      WHERE id >= @start_date AND id < @end_date
    schema: [{name: id, type: INT64}, {name: n, type: INT}]
"""


@pytest.mark.matrix
def test_hours_and_integer_ranges_are_replaced_exactly(tmp_path, spark):
    hours, hundreds = "queries/hours.yaml", "queries/hundreds.yaml"
    files = {"penstock.yml": "name: kinds\nmodels: [queries]\n", hours: HOURS, hundreds: HUNDREDS}
    place = DriftPlace(tmp_path, spark, files)
    place.sync()
    place.edit(hours, "(TIMESTAMP'2024-12-16 10:00:00'), ", "")
    place.edit(hours, "10:59:59.999999", "10:30:00")
    place.edit(hundreds, "(100), (150), (199)", "(120)")

    place.backfill("hours", "2024-12-16T10", "2024-12-16T10")
    place.backfill("hundreds", "100", "100")

    assert place.sql(f"SELECT CAST(at AS STRING) FROM {place.table('a/hours')} ORDER BY 1") == [
        ("2024-12-16 10:30:00",),
        ("2024-12-16 11:00:00",),
    ]
    assert place.rows("a/hundreds") == [("99", "1"), ("120", "1"), ("200", "1")]
    place.edit(hundreds, "(200)", "(260)")
    place.edit(hundreds, "id < @end_date", "id < @end_date + 50")
    (result,) = place.backfill("hundreds", "200", "200").results
    assert result.error.sentence == "a.hundreds 200: the query returned id = 260"
