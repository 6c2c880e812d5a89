"""Strategies on real tables."""

import datetime as dt

import pytest

from fakes.place import Place, statuses


@pytest.fixture
def events(place: Place) -> Place:
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    return place


@pytest.mark.matrix
def test_append_takes_each_row_once_and_an_empty_window_makes_no_commit(events) -> None:
    events.model(
        "log",
        "select id, ts from {{ source('raw', 'events') }}",
        materialized="append",
        time_column="ts",
    )
    events.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 1), (3, '2024-01-03', 1)")
    first = events.run()
    events.sql(f"UPDATE {events.landing('events')} SET amount = 2 WHERE id = 1")
    second = events.run()
    events.insert("events", "(4, '2024-01-04', 1), (5, '2024-01-05', 1)")
    third = events.run()

    assert [r["log"].rows.inserted for r in (first, second, third)] == [3, 0, 2]
    assert [r["log"].status for r in (first, second, third)] == ["success", "unchanged", "success"]
    assert [r["log"].version for r in (first, second, third)] == [0, 0, 1]
    assert first["log"].watermarks == second["log"].watermarks
    assert str(third["log"].watermarks[0].value) == "TIMESTAMP 2024-01-05T00:00:00.000000Z"
    assert [row[0] for row in events.rows("log")] == [1, 2, 3, 4, 5]


@pytest.mark.matrix
def test_late_rows_are_counted_from_the_log_and_taken_in_by_lookback(events) -> None:
    query = "select id, ts from {{ source('raw', 'events') }}"
    events.model("log", query, materialized="append", time_column="ts")
    events.model(
        "caught", query, materialized="merge", unique_key="id", time_column="ts", lookback="2 days"
    )
    events.insert("events", "(1, '2024-01-05', 1)")
    events.run()
    events.insert("events", "(2, '2024-01-04', 1), (3, '2024-01-06', 1)")

    report = events.run()

    assert report["log"].rows.late == 1
    assert [row[0] for row in events.rows("log")] == [1, 3]
    assert [row[0] for row in events.rows("caught")] == [1, 2, 3]
    assert report["caught"].rows.late == 0


@pytest.mark.matrix
def test_duplicate_keys_are_refused_before_anything_is_written(events) -> None:
    events.model(
        "users",
        "select id, amount from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
    )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    events.insert("events", ", ".join(f"({i % 7}, '2024-01-02', {i})" for i in range(14)))

    report = events.run()

    error = report["users"].error
    assert error.code == "duplicate-keys"
    assert error.sentence == (
        "7 keys (id) occur more than once in the query of 'users' "
        "(e.g. id=0 ×2, id=1 ×3, id=2 ×2, id=3 ×2, id=4 ×2)"
    )
    assert str(error.where) == "models/m/users.sql:1"
    assert events.version("users") == 0
    assert report.resume == "penstock run --select users"


@pytest.mark.matrix
def test_a_null_key_is_refused_or_matches_null(events) -> None:
    events.model(
        "strict",
        "select id, amount from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
    )
    events.model(
        "loose",
        "select id, amount from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
        null_keys="match",
    )
    events.insert("events", "(null, '2024-01-01', 1)")
    report = events.run()
    events.sql(f"UPDATE {events.landing('events')} SET amount = 2")
    again = events.run()

    assert report["strict"].error.code == "null-key"
    assert events.version("strict") == -1
    assert again["loose"].rows.updated == 1
    assert events.rows("loose") == [(None, 2)]


def test_on_duplicate_latest_keeps_the_newest_row_of_a_key(events) -> None:
    events.model(
        "users",
        "select id, ts, amount from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
        on_duplicate="latest",
        order_by="ts",
    )
    events.insert("events", "(1, '2024-01-01', 1), (1, '2024-01-02', 2), (2, '2024-01-01', 3)")
    events.run()

    assert [(r[0], r[2]) for r in events.rows("users")] == [(1, 2), (2, 3)]


@pytest.mark.matrix
def test_merge_writes_only_changed_and_new_rows(events) -> None:
    events.model(
        "users",
        "select id, amount, id % 2 as part from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
        partition_by="part",
    )
    events.sql(
        f"INSERT INTO {events.landing('events')} "
        "SELECT CAST(id AS INT), timestamp'2024-01-01', 1 FROM range(1000)"
    )
    events.run()
    events.sql(f"UPDATE {events.landing('events')} SET amount = 2 WHERE id = 4")
    events.insert("events", "(1000, '2024-01-02', 1)")

    report = events.run()

    metrics = report["users"].metrics
    assert (report["users"].rows.updated, report["users"].rows.inserted) == (1, 1)
    assert metrics["numTargetRowsCopied"] == 0
    assert metrics["numTargetFilesRemoved"] == 0
    assert metrics["numTargetDeletionVectorsAdded"] == 1


@pytest.mark.matrix
def test_a_merge_that_changes_nothing_makes_no_commit(events) -> None:
    events.model(
        "users",
        "select id, amount from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
    )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    events.sql(f"UPDATE {events.landing('events')} SET ts = '2024-01-09'")

    report = events.run()

    assert statuses(report) == {"users": "unchanged"}
    assert events.version("users") == 0
    assert events.run().plan.is_empty


@pytest.mark.matrix
def test_a_reader_of_the_old_version_sees_the_old_rows(events) -> None:
    events.model("t", "select id, amount from {{ source('raw', 'events') }}", materialized="table")
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    old = events.spark.read.format("delta").option("versionAsOf", 0)
    held = old.load(f"{events.root}/warehouse/m/t")
    events.sql(f"UPDATE {events.landing('events')} SET amount = 2")

    events.run()

    assert [tuple(row) for row in held.collect()] == [(1, 1)]
    assert events.rows("t") == [(1, 2)]


@pytest.mark.matrix
def test_a_new_column_is_added_in_the_commit_that_needs_it(events) -> None:
    events.model(
        "users",
        "select id from {{ source('raw', 'events') }} where id < 3",
        materialized="merge",
        unique_key="id",
    )
    events.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-01', 1)")
    events.run()
    events.model(
        "users",
        "select id, amount from {{ source('raw', 'events') }} where id > 1",
        materialized="merge",
        unique_key="id",
    )
    events.insert("events", "(3, '2024-01-01', 7)")

    report = events.run()

    assert report["users"].version == 1
    assert report["users"].schema_changes == ("added amount",)
    assert events.rows("users") == [(1, None), (2, 1), (3, 7)]


@pytest.mark.matrix
def test_a_new_column_of_an_append_is_added_too_and_on_schema_change_can_refuse(events) -> None:
    for name, more in (("log", {}), ("strict", {"on_schema_change": "fail"})):
        events.model(
            name,
            "select id, ts from {{ source('raw', 'events') }}",
            materialized="append",
            time_column="ts",
            **more,
        )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    for name, more in (("log", {}), ("strict", {"on_schema_change": "fail"})):
        events.model(
            name,
            "select id, ts, amount from {{ source('raw', 'events') }}",
            materialized="append",
            time_column="ts",
            **more,
        )
    events.insert("events", "(2, '2024-01-02', 8)")

    report = events.run()

    assert [(r[0], r[2]) for r in events.rows("log")] == [(1, None), (2, 8)]
    assert report["strict"].error.code == "schema-changed"


@pytest.mark.matrix
def test_a_wider_type_is_taken_in_after_a_step_that_allows_it(events) -> None:
    events.model(
        "log",
        "select id, ts from {{ source('raw', 'events') }}",
        materialized="append",
        time_column="ts",
    )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    events.model(
        "log",
        "select id + 5000000000 as id, ts from {{ source('raw', 'events') }}",
        materialized="append",
        time_column="ts",
    )
    events.insert("events", "(2, '2024-01-02', 1)")

    report = events.run()

    assert report["log"].schema_changes == ("widened id",)
    assert report["log"].version == 2
    assert [row[0] for row in events.rows("log")] == [1, 5000000002]
    assert events.run().plan.is_empty


def test_another_type_is_refused_before_writing_and_both_are_named(events) -> None:
    events.model(
        "users",
        "select id, 'x' as kind from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
    )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()
    events.model(
        "users",
        "select id, 1 as kind from {{ source('raw', 'events') }}",
        materialized="merge",
        unique_key="id",
    )

    report = events.run()

    assert report["users"].error.render() == (
        "models/m/users.sql:1: incompatible-type: column 'kind' is INT in the query and STRING "
        "in m.users\n  hint: cast it in the SELECT, or --full-refresh to replace the table"
    )
    assert events.version("users") == 0


def test_a_source_path_that_is_gone_is_named_with_its_declaration(place) -> None:
    place.write(
        "models/sources.yml",
        """\
        sources:
          - name: raw
            tables:
              - {name: gone, path: ../landing/gone, format: parquet}
        """,
    )
    place.model("t", "select * from {{ source('raw', 'gone') }}")

    report = place.run()

    error = report["t"].error
    assert error.code == "source-missing"
    assert error.sentence == (
        f"source raw.gone has no files: {place.root}/landing/gone does not exist"
    )
    assert str(error.where).startswith("models/sources.yml:4")
    assert not report.succeeded


@pytest.mark.matrix
def test_overwrite_partitions_replaces_only_those_in_the_result(events) -> None:
    events.model(
        "t",
        "select id, amount from {{ source('raw', 'events') }} where amount > 0",
        materialized="table",
        partition_by="id",
        overwrite="partitions",
    )
    events.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-01', 1)")
    events.run()
    events.sql(f"DELETE FROM {events.landing('events')} WHERE id = 1")
    events.sql(f"UPDATE {events.landing('events')} SET amount = 5")

    events.run()

    assert events.rows("t") == [(1, 1), (2, 5)]


def test_a_spark_error_names_the_line_of_the_model(events) -> None:
    events.write(
        "models/m/t.sql",
        """\
        {{ config(
            materialized='table',
        ) }}
        select
            id,
            amuont
        from {{ source('raw', 'events') }}
        """,
    )

    error = events.run()["t"].error

    assert error.code == "spark-unresolved-column"
    assert str(error.where) == "models/m/t.sql:6"


def test_layout_and_comments_are_those_of_the_project(events) -> None:
    events.model(
        "t",
        "select id, amount from {{ source('raw', 'events') }}",
        materialized="table",
        partition_by="id",
        description="Events by id",
        table_properties={"delta.enableChangeDataFeed": "true"},
    )
    events.insert("events", "(1, '2024-01-01', 1)")
    events.run()

    told = events.services().log.facts(f"{events.root}/warehouse/m/t")

    assert told.partition_by == ("id",)
    assert told.properties["delta.enableDeletionVectors"] == "false"
    assert told.properties["delta.enableChangeDataFeed"] == "true"


@pytest.mark.matrix
def test_a_date_window_is_measured_by_the_log_and_takes_the_same_rows(place) -> None:
    place.source("days", "id INT, day DATE")
    place.model(
        "log",
        "select id, day from {{ source('raw', 'days') }}",
        materialized="append",
        time_column="day",
    )
    place.insert("days", "(1, '2024-01-01')")
    place.run()
    place.insert("days", "(2, '2024-01-03'), (3, '2024-01-02')")
    place.insert("days", "(4, '2023-12-31')")

    second = place.run()
    place.insert("days", "(5, null)")
    third = place.run()

    assert [row[0] for row in place.rows("log")] == [1, 2, 3]
    assert (second["log"].rows.inserted, second["log"].rows.late) == (2, 1)
    assert str(second["log"].watermarks[0].value) == "DATE 2024-01-03"
    assert third["log"].error.code == "null-watermark"
    assert "NULL in 1 rows" in third["log"].error.sentence


@pytest.mark.matrix
def test_rows_after_as_of_are_read_by_a_later_run(place) -> None:
    place.source("events", "id INT, ts TIMESTAMP")
    place.model(
        "log",
        "select id, ts from {{ source('raw', 'events') }}",
        materialized="append",
        time_column="ts",
    )
    place.insert("events", "(1, '2024-01-01'), (2, '2024-01-05')")

    first = place.run(as_of=dt.datetime(2024, 1, 3, tzinfo=dt.UTC))
    second = place.run()

    assert (first["log"].rows.inserted, second["log"].rows.inserted) == (1, 1)
    assert [row[0] for row in place.rows("log")] == [1, 2]
    assert place.run().plan.is_empty


@pytest.mark.matrix
def test_a_habit_of_as_of_hides_no_late_row_and_no_change_above(place) -> None:
    place.source("events", "id INT, ts TIMESTAMP")
    place.model(
        "log",
        "select id, ts from {{ source('raw', 'events') }}",
        materialized="append",
        time_column="ts",
    )
    place.model("copy", "select id, ts from m.log", materialized="append", time_column="ts")
    place.insert("events", "(1, '2024-01-01'), (2, '2024-01-05'), (9, '2024-01-09')")
    day = dt.datetime(2024, 1, 6, tzinfo=dt.UTC)

    place.run(as_of=day)
    same = place.run(as_of=day)
    place.insert("events", "(3, '2024-01-03')")
    late = place.run(as_of=day)
    place.run("log", full_refresh=True)
    told = place.run()
    after = place.run()

    assert same.plan.is_empty
    assert (late["log"].status, late["log"].rows.late) == ("unchanged", 1)
    assert [row[0] for row in place.rows("log")] == [1, 2, 3, 9]
    assert [row[0] for row in place.rows("copy")] == [1, 2, 9]
    assert told["copy"].notes == (
        "log changed rows that it had read; penstock sync --select copy rebuilds it",
    )
    assert after.plan.is_empty
    assert after.notes == (
        "copy: log changed rows that it had read; penstock sync --select copy rebuilds it",
    )
