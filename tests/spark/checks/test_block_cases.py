"""Nothing that failed a gate is ever in the table."""

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from fakes.check_place import (
    EVENTS,
    NEW_USERS,
    P1,
    P2,
    P3,
    P4,
    SELECT,
    STATS,
    STATS_SQL,
    STATS_YAML,
    USERS,
    after,
)
from spark.checks.conftest import copied

LOG = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC")})
LOG_SQL = "SELECT id, at FROM {{ source('raw', 'log') }}\n"
LOG_CONFIG = {"materialized": "append", "time_column": "at"}
AT_LEAST_5 = {"type": "row_count", "min": 5}
AT_LEAST_2 = {"type": "row_count", "min": 2}
UNIQUE_EMAIL = {"type": "unique", "column": "email"}
UNIQUE_ID = {"type": "unique", "column": "id", "scope": "table"}


def watched_staging(place):
    """Give what lay in the staging folder whenever a step was about to commit."""
    seen = []
    place.fault = lambda point: seen.extend(place.staged() if point == "before-commit" else ())
    return seen


def test_a_partition_that_fails_stays_as_it_was(stats) -> None:
    stats.events([(P1, "eu", 1, 1.0)], "overwrite")
    stats.on(P1)
    old, version, rows = stats.partitions()[P1], stats.version(STATS), stats.rows()
    stats.events(EVENTS, "overwrite")
    stats.edit(STATS_SQL, "revenue\n", "revenue * 1 AS revenue\n")
    stats.checks(AT_LEAST_5, on_failure="block")

    report = stats.backfill("user_stats", P1, P1)

    assert after(report) == {"row_count": "failed rows 3 < min 5"}
    assert not report.succeeded
    assert (stats.version(STATS), stats.rows()) == (version, rows)
    record = stats.partitions()[P1]
    assert (record.status, record.fingerprint) == ("FAILED", old.fingerprint)
    assert record.commit_version == old.commit_version
    (kept,) = stats.quarantines()
    assert stats.quarantined() == [
        (P1, "eu", "120", "10.0"),
        (P1, "us", "80", "20.0"),
        (P1, None, None, "5.0"),
    ]
    assert report["user_stats"].consequence == f"rows kept in {kept.table} until 2024-12-12"
    assert kept.table == f"penstock_staging.analytics__user_stats__{kept.step.replace('-', '')}"
    assert (stats.staged(), stats.flags()) == ([], ())


def test_a_first_build_that_fails_makes_no_table(stats) -> None:
    stats.checks(AT_LEAST_5, on_failure="block")

    report = stats.on(P1)

    assert not report.succeeded
    assert not (stats.root / "warehouse" / STATS).exists()
    assert len(stats.quarantined()) == 3
    assert stats.statuses()[P1] == "FAILED"


@pytest.mark.matrix
def test_rows_are_written_anew_only_once_the_new_ones_have_passed(
    tmp_path, spark, two_days
) -> None:
    stats = copied(two_days, tmp_path / "shop", spark)
    version, rows = stats.version(STATS), stats.rows()
    as_text = {
        "name": "as_text",
        "sql": "SELECT * FROM `{destination}` WHERE typeof(revenue) <> 'string'",
    }

    stats.checks(AT_LEAST_5, as_text, on_failure="block")
    stats.edit(STATS_YAML, "revenue, type: DOUBLE", "revenue, type: STRING")
    failed = stats.backfill("user_stats", P1, P1, allow_breaking=True)
    left = stats.version(STATS), stats.rows()
    stats.edit(STATS_YAML, '"min": 5', '"min": 3')
    passed = stats.backfill("user_stats", P1, P1, allow_breaking=True)

    assert after(failed) == {"row_count": "failed rows 3 < min 5", "as_text": "passed no rows"}
    assert left == (version, rows)
    assert after(passed) == {"row_count": "passed rows 3", "as_text": "passed no rows"}
    assert (stats.version(STATS), stats.rows()) == (version + 2, rows)
    assert stats.partitions()[P1].commit_version == version + 2


@pytest.mark.matrix
def test_partitions_that_passed_are_published_by_one_commit(stats) -> None:
    stats.events([(P3, "old", 3, 3.0), (P4, "old", 4, 4.0)], "overwrite")
    stats.backfill("user_stats", P1, P4)
    version = stats.version(STATS)
    stats.events(EVENTS, "overwrite")
    stats.checks(AT_LEAST_2, on_failure="block")

    report = stats.backfill("user_stats", P1, P4)

    assert after(report) == {
        "row_count": "failed 2 of 4 partitions failed: "
        "2024-12-03: rows 0 < min 2; 2024-12-04: rows 1 < min 2"
    }
    assert stats.version(STATS) == version + 1
    assert stats.rows() == [
        (P1, "eu", "120", "10.0"),
        (P1, "us", "80", "20.0"),
        (P1, None, None, "5.0"),
        (P2, "eu", "150", "12.0"),
        (P2, "us", "110", "-3.5"),
        (P3, "old", "3", "3.0"),
        (P4, "old", "4", "4.0"),
    ]
    assert stats.quarantined() == [(P4, "eu", "200", None)]
    assert stats.statuses() == {P1: "SUCCESS", P2: "SUCCESS", P3: "FAILED", P4: "FAILED"}


@pytest.mark.matrix
def test_a_step_that_passes_leaves_what_an_unchecked_one_does(built) -> None:
    plain = built.backfill("user_stats", P1, P1)["user_stats"]
    seen, rows = watched_staging(built), built.rows()
    built.checks(AT_LEAST_2, on_failure="block")
    blocked = built.backfill("user_stats", P1, P1)["user_stats"]
    staged = len(seen)
    built.checks(AT_LEAST_5 | {"severity": "warning"}, on_failure="block")
    warned = built.on(P4)["user_stats"]
    built.checks(AT_LEAST_5, on_failure="block")
    skipped = built.backfill("user_stats", P1, P1, skip_checks=True)["user_stats"]

    statuses = [each.status for each in (plain, blocked, warned, skipped)]
    assert statuses == ["success"] * 4
    assert [each.version for each in (plain, blocked, warned, skipped)] == [2, 3, 4, 5]
    assert [each.rows.inserted for each in (plain, blocked, warned, skipped)] == [3, 3, 1, 3]
    assert blocked.metrics == plain.metrics
    assert (staged, len(seen)) == (1, 1)
    assert built.staged() == []
    assert built.rows() == [*rows, (P4, "eu", "200", None)]


def test_the_rows_that_were_checked_are_the_rows_published(stats) -> None:
    stats.users()
    least = {"type": "column_check", "column": "r", "check": "MIN({column}) >= 0"}
    sql = "SELECT id, rand() AS r FROM {{ source('raw', 'users') }}"
    stats.model("m/luck", sql, least, on_failure="block", materialized="table")

    report = stats.run("luck")

    (result,) = report["luck"].invariant_report.after
    drawn = min(float(row[1]) for row in stats.rows("m/luck"))
    assert result.values[0].values["MIN(r)"] == str(drawn)


@pytest.mark.matrix
def test_a_blocked_window_is_taken_again(stats) -> None:
    stats.write(
        {"models/log.yml": "sources: [{name: raw, tables: [{name: log, path: ../lake/log}]}]"}
    )
    stats.model("m/log", LOG_SQL, UNIQUE_ID, on_failure="block", **LOG_CONFIG)
    stats.land("log", [(1, "2024-12-01 10:00")], LOG)
    assert stats.run("log").succeeded
    version, watermarks = stats.version("m/log"), stats.record("log").watermarks
    stats.land("log", [(1, "2024-12-01 11:00"), (2, "2024-12-01 12:00")], LOG)

    blocked = stats.run("log")

    assert after(blocked, "log") == {"unique_id": "failed 1 duplicate row"}
    assert (stats.version("m/log"), stats.record("log").watermarks) == (version, watermarks)
    assert stats.record("log").status == "FAILED"
    assert len(stats.quarantined()) == 2
    stats.sql(f"DELETE FROM delta.`{stats.root}/lake/log` WHERE id = 1 AND at > '2024-12-01 10:30'")
    repaired = stats.run("log")
    assert after(repaired, "log") == {"unique_id": "passed unique"}
    assert [row[0] for row in stats.rows("m/log")] == ["1", "2"]
    assert stats.staged() == []


@pytest.mark.matrix
def test_a_published_window_is_never_taken_again_whatever_came_before_it(stats) -> None:
    source = "sources: [{name: raw, tables: [{name: log, path: ../lake/log}]}]"
    stats.write({"models/log.yml": source})
    said = {"columns": [{"name": "id", "description": "told to the table by the second run"}]}
    stats.model("m/log", LOG_SQL, UNIQUE_ID, on_failure="block", **LOG_CONFIG, **said)
    stats.land("log", [(1, "2024-12-01 10:00")], LOG)
    stats.run("log")
    stats.land("log", [(2, "2024-12-01 12:00")], LOG)
    second = stats.run("log")

    third = stats.run("log")

    assert [each["log"].status for each in (second, third)] == ["success", "unchanged"]
    assert [row[0] for row in stats.rows("m/log")] == ["1", "2"]


@pytest.mark.matrix
def test_a_first_build_that_passes_is_on_record(stats) -> None:
    stats.checks(AT_LEAST_2, on_failure="block")
    stats.backfill("user_stats", P1, P2)

    again = stats.sync("user_stats", first=P1, last=P2)

    assert again.plan.steps == ()
    assert {row[0] for row in stats.rows()} == {P1, P2}


@pytest.mark.matrix
def test_a_blocked_merge_leaves_no_version_and_no_clone(stats) -> None:
    stats.users()
    stats.users_model()
    stats.run("users")
    version = stats.version(USERS)
    stats.users([(2, "b2@x"), (3, "a@x")])
    stats.users_model(UNIQUE_EMAIL, on_failure="block")

    blocked = stats.run("users")

    assert after(blocked, "users") == {"unique_email": "failed 1 duplicate row"}
    assert stats.rows(USERS) == [("1", "a@x"), ("2", "b@x"), ("9", None)]
    assert stats.quarantined() == [("2", "b2@x"), ("3", "a@x")]
    assert (stats.version(USERS), stats.staged()) == (version, [])
    stats.users(NEW_USERS)
    assert stats.run("users").succeeded
    assert stats.rows(USERS) == [("1", "a@x"), ("2", "b2@x"), ("3", None), ("9", None)]
    assert stats.staged() == []


@pytest.mark.matrix
def test_a_failed_step_changes_no_schema_and_its_rows_go_after_a_week(built) -> None:
    built.write({STATS_SQL: SELECT.replace("revenue\n", "revenue, 1L AS more\n")})
    built.checks(AT_LEAST_5, on_failure="block")
    built.edit(
        "models/analytics/user_stats.yml",
        "      - {name: revenue, type: DOUBLE}\n",
        "      - {name: revenue, type: DOUBLE}\n      - {name: more, type: BIGINT}\n",
    )

    built.backfill("user_stats", P1, P1)
    columns = [f.name for f in DeltaTable(str(built.root / "warehouse" / STATS)).schema().fields]
    (kept,) = built.quarantines()
    built.clock.advance(days=8)
    is_there = Path(kept.uri).is_dir()
    built.users()
    built.users_model()
    built.run("users")
    built.edit("penstock.yml", "name: stats\n", "name: stats\nchecks: {quarantine_days: 0}\n")
    again = built.backfill("user_stats", P1, P1)

    assert columns == ["date", "region", "user_count", "revenue"]
    assert is_there
    assert not Path(kept.uri).exists()
    assert built.quarantines() == ()
    assert again["user_stats"].consequence == "nothing published"
    assert list((built.root / "warehouse" / "penstock_staging").glob("*")) == []


@pytest.mark.matrix
def test_a_reader_never_sees_a_row_that_failed(stats) -> None:
    good = {"type": "value_range", "column": "revenue", "min": 0}
    stats.checks(good, on_failure="block")
    stats.on(P1)
    done, seen = threading.Event(), [stats.rows()]

    def read() -> None:
        while not done.wait(0.002):
            seen.append(stats.rows())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        report = stats.backfill("user_stats", P1, P4)
    finally:
        done.set()
        reader.join()

    assert stats.statuses() == {P1: "SUCCESS", P2: "FAILED", P3: "SUCCESS", P4: "SUCCESS"}
    assert report["user_stats"].status == "failed"
    published = [*seen[0], (P4, "eu", "200", None)]
    assert [rows for rows in seen if rows not in (seen[0], published)] == []
    assert len(seen) > 1
    versions = range(1, stats.version(STATS) + 1)
    assert [stats.texts(f"{stats.root}/warehouse/{STATS}", each) for each in versions] == [
        seen[0],
        published,
    ]


@pytest.mark.matrix
def test_replaced_partitions_are_checked_beside_those_that_stay(stats) -> None:
    config = {"materialized": "table", "overwrite": "partitions", "partition_by": "id"}
    sql = "SELECT id, email FROM {{ source('raw', 'users') }}\n"
    few = {"name": "few", "sql": "SELECT 1 FROM {destination} HAVING count(*) > 3"}
    checks = (UNIQUE_EMAIL | {"scope": "table"}, few, {"type": "row_count", "max": 2})
    stats.users()
    stats.model("m/parts", sql, **config)
    stats.run("parts")
    version = stats.version("m/parts")
    stats.model("m/parts", sql, *checks, on_failure="block", **config)
    stats.users([(2, "b2@x"), (3, "a@x")])

    blocked = stats.run("parts")
    kept = stats.rows("m/parts"), stats.version("m/parts")
    stats.users([(2, "b2@x"), (9, "c@x")])
    passed = stats.run("parts")

    assert after(blocked, "parts") == {
        "unique_email": "failed 1 duplicate row",
        "few": "failed 1 row (expected 0)",
        "row_count": "passed rows 2",
    }
    assert kept == ([("1", "a@x"), ("2", "b@x"), ("9", None)], version)
    assert after(passed, "parts") == {
        "unique_email": "passed unique",
        "few": "passed no rows",
        "row_count": "passed rows 2",
    }
    assert stats.rows("m/parts") == [("1", "a@x"), ("2", "b2@x"), ("9", "c@x")]
    assert stats.version("m/parts") == version + 1
    assert stats.staged() == []


@pytest.mark.matrix
def test_a_blocked_snapshot_opens_and_closes_nothing(stats) -> None:
    config = {
        "materialized": "snapshot",
        "strategy": "check",
        "unique_key": "id",
        "check_cols": ["email"],
    }
    sql = "SELECT id, email FROM {{ source('raw', 'users') }}\n"
    stats.users()
    stats.model("m/people", sql, **config)
    stats.snap("people")
    version, rows = stats.version("m/people"), stats.rows("m/people")
    filled = {"type": "not_null", "column": "email"}
    stats.model("m/people", sql, filled, UNIQUE_EMAIL, on_failure="block", **config)
    stats.users([(1, None), (2, "b2@x"), (9, None)])

    blocked = stats.snap("people")
    left = stats.version("m/people"), stats.rows("m/people")
    stats.users([(1, "a@x"), (2, "b2@x"), (9, None)])
    passed = stats.snap("people")

    assert after(blocked, "people") == {
        "not_null_email": "failed 1 NULL in email",
        "unique_email": "passed unique",
    }
    assert left == (version, rows)
    assert len(stats.quarantined()) == 2
    assert passed.succeeded
    assert [row[:2] for row in stats.rows("m/people")] == [
        ("1", "a@x"),
        ("2", "b2@x"),
        ("2", "b@x"),
        ("9", None),
    ]
    assert stats.staged() == []


@pytest.mark.matrix
def test_a_new_column_comes_with_the_rows_that_pass(stats) -> None:
    sql = "SELECT id, email FROM {{ source('raw', 'users') }}\n"
    config = {"materialized": "append", "time_column": "id"}
    stats.users()
    stats.model("m/added", sql, **config)
    stats.run("added")
    more = sql.replace("email", "email, id * 2 AS twice")
    few = {"type": "row_count", "max": 1}
    filled = {"type": "not_null", "column": "twice", "scope": "table", "severity": "warning"}
    stats.model("m/added", more, few, filled, on_failure="block", **config)
    stats.users([(10, "c@x"), (11, "d@x")])

    blocked = stats.run("added")
    columns = DeltaTable(f"{stats.root}/warehouse/m/added").schema().fields
    stats.model("m/added", more, filled, on_failure="block", **config)
    passed = stats.run("added")

    assert after(blocked, "added") == {
        "row_count": "failed rows 2 > max 1",
        "not_null_twice": "failed 3 NULLs in twice",
    }
    assert [column.name for column in columns] == ["id", "email"]
    assert after(passed, "added") == {"not_null_twice": "failed 3 NULLs in twice"}
    assert passed.succeeded
    assert ("10", "c@x", "20") in stats.rows("m/added")
