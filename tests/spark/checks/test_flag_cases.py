"""A failed gate leaves rows and flags them."""

import pyarrow as pa
import pytest

from fakes.check_place import EVENTS, NEW_USERS, P1, P2, P3, P4, STATS, STATS_YAML, after
from penstock.app.checking.flags import accept
from penstock.core.checks.check import OnFailure

LOG = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC")})
LOG_SQL = "SELECT id, at FROM {{ source('raw', 'log') }}\n"
GROWTH = {"type": "row_count_change"}
NO_NULL = {"type": "not_null", "column": "email"}


@pytest.mark.matrix
def test_a_check_of_another_text_is_no_drift(stats) -> None:
    stats.checks({"type": "row_count", "min": 1})
    stats.on(P1)
    stats.checks({"type": "row_count", "min": 2})

    planned = stats.preview("user_stats", first=P1, last=P1)
    before = stats.status("user_stats").models[0].lines
    stats.check("user_stats", first=P1, last=P1)

    assert planned.plan.is_empty
    command = f"penstock check --query user_stats --partition {P1}"
    assert before == (f"1 check not yet evaluated (run: {command})",)
    assert stats.status("user_stats").models[0].lines == ()


@pytest.mark.matrix
def test_what_a_check_reads_is_built_first_unless_that_closes_a_circle(stats) -> None:
    stats.users()
    related = {"type": "relationships", "column": "id", "to": "ref('customers')", "field": "id"}
    stats.model("m/baskets", "SELECT 1L AS id", related, materialized="table")
    stats.model("m/customers", "SELECT 1L AS id", materialized="table")

    report = stats.run("baskets customers")
    stats.model("m/customers", "SELECT id FROM {{ ref('baskets') }}", materialized="table")
    services = stats.services()

    assert list(report) == ["customers", "baskets"]
    assert after(report, "baskets") == {"relationships_id": "passed every row has a partner"}
    assert [(f.code, f.severity) for f in services.project.findings] == [
        ("check-order-dropped", "info")
    ]


@pytest.mark.matrix
def test_the_number_of_rows_is_compared_with_the_last_success(stats) -> None:
    stats.checks(
        GROWTH | {"name": "by_half", "max_increase_percent": 50},
        GROWTH | {"name": "by_all", "max_increase_percent": 100},
        GROWTH | {"name": "shrunk", "max_decrease_percent": 50},
    )

    first = stats.backfill("user_stats", P1, P3)
    stats.events([*EVENTS[:3], *EVENTS[:3], (P3, "eu", 1, 1.0), (P3, "us", 1, 1.0)], "overwrite")
    second = stats.backfill("user_stats", P1, P3)

    assert after(first) == dict.fromkeys(
        ("by_half", "by_all", "shrunk"), "skipped no earlier execution"
    )
    report = second["user_stats"].invariant_report
    told = {
        (result.name, value.group): f"{value.status} {value.message}"
        for result in report.after
        for value in result.values
    }
    assert told == {
        ("by_half", P1): "failed rows 6, +100.0 % of 3 (max increase 50 %)",
        ("by_all", P1): "passed rows 6, +100.0 % of 3",
        ("shrunk", P1): "passed rows 6, +100.0 % of 3",
        ("by_half", P2): "passed rows 0, -100.0 % of 2",
        ("by_all", P2): "passed rows 0, -100.0 % of 2",
        ("shrunk", P2): "failed rows 0, -100.0 % of 2 (max decrease 50 %)",
        ("by_half", P3): "failed rows 2, infinite increase from 0 (max increase 50 %)",
        ("by_all", P3): "failed rows 2, infinite increase from 0 (max increase 100 %)",
        ("shrunk", P3): "passed rows 2, infinite increase from 0",
    }


@pytest.mark.matrix
def test_a_trailing_base_is_the_mean_of_partitions_that_have_a_success(stats) -> None:
    trailing = GROWTH | {"compare": "trailing", "last": 2}
    stats.checks(
        trailing | {"name": "by_60", "max_decrease_percent": 60},
        trailing | {"name": "by_59", "max_decrease_percent": 59},
    )
    stats.backfill("user_stats", P1, P2)

    report = stats.on(P4)

    assert after(report) == {
        "by_60": "passed rows 1, -60.0 % of 2.5",
        "by_59": "failed rows 1, -60.0 % of 2.5 (max decrease 59 %)",
    }


def test_flagged_rows_stay_and_are_built_again_until_they_pass(stats) -> None:
    stats.checks({"type": "row_count", "min": 5})

    first = stats.on(P1)
    flagged = stats.partitions()[P1]
    (flag,) = stats.flags()
    again = stats.sync("user_stats", first=P1, last=P1)
    stats.edit(STATS_YAML, '"min": 5', '"min": 3')
    built = stats.sync("user_stats", first=P1, last=P1)

    assert after(first) == {"row_count": "failed rows 3 < min 5"}
    assert first["user_stats"].consequence == "rows written and flagged"
    assert str(first["user_stats"].error) == "user_stats 2024-12-01: row_count: rows 3 < min 5"
    assert not first.succeeded
    assert first.resume == "penstock sync --query user_stats --from 2024-12-01 --to 2024-12-01"
    assert (flagged.status, flagged.commit_version, flagged.fingerprint > 0) == ("FAILED", 1, True)
    assert (flag.partition, flag.checks, flag.version) == (P1, ("row_count",), 1)
    assert again.plan.steps[0].reason.state == "failed"
    assert after(again) == {"row_count": "failed rows 3 < min 5"}
    assert after(built) == {"row_count": "passed rows 3"}
    assert stats.statuses()[P1] == "SUCCESS"
    assert (stats.flags(), len(stats.rows()), stats.version(STATS)) == ((), 3, 3)


@pytest.mark.matrix
def test_a_flagged_window_is_never_taken_again(stats) -> None:
    stats.write(
        {"models/log.yml": "sources: [{name: raw, tables: [{name: log, path: ../lake/log}]}]"}
    )
    stats.land("log", [(1, "2024-12-01 10:00"), (2, "2024-12-01 11:00")], LOG)
    config = {"materialized": "append", "time_column": "at"}
    stats.model("m/log", LOG_SQL, {"type": "value_range", "column": "id", "min": 3}, **config)

    first = stats.run("log")
    record = stats.record("log")
    stats.land("log", [(3, "2024-12-01 12:00")], LOG)
    second = stats.run("log")
    passed, lines = stats.record("log"), stats.status("log").models[0].lines
    (flag,) = stats.flags()
    stats.with_shop(lambda services: accept(services, flag.step, "known"))
    fresh = {"type": "freshness", "column": "at", "max_age": "5 days"}
    stats.model("m/log", LOG_SQL, fresh, fresh | {"name": "all", "scope": "table"}, **config)
    stats.land("log", [(0, "2024-12-01 09:00")], LOG)
    third = stats.run("log")

    assert after(first, "log") == {"value_range_id": "failed min 1 < 3"}
    assert record.status == "FAILED"
    assert record.watermarks[0].value.text == "2024-12-01T11:00:00.000000Z"
    assert after(second, "log") == {"value_range_id": "passed range 3 to 3"}
    assert [row[0] for row in stats.rows("m/log")] == ["1", "2", "3"]
    assert passed.status == "SUCCESS"
    assert lines == (f"flagged: 1 step ({flag.step}): value_range_id",)
    assert stats.flags() == ()
    assert after(third, "log") == {
        "freshness_at": "skipped nothing was written",
        "all": "passed newest 2024-12-01 12:00:00, age 4d",
    }


@pytest.mark.matrix
def test_rows_of_a_merge_are_those_it_was_fed_as_they_stand_afterwards(stats) -> None:
    stats.users()
    stats.users_model()
    stats.run("users")
    stats.users(NEW_USERS)
    stats.users_model(NO_NULL, NO_NULL | {"name": "all", "scope": "table"})
    second = stats.run("users")
    stats.users([(3, "a@x")])
    stats.users_model({"type": "unique", "column": "email"})
    third = stats.run("users")

    assert after(second, "users") == {
        "not_null_email": "failed 1 NULL in email",
        "all": "failed 2 NULLs in email",
    }
    assert after(third, "users") == {"unique_email": "failed 1 duplicate row"}
    assert stats.rows("staging/users") == [("1", "a@x"), ("2", "b2@x"), ("3", "a@x"), ("9", None)]


@pytest.mark.matrix
def test_rows_of_a_snapshot_are_the_versions_it_opened(stats) -> None:
    config = {
        "materialized": "snapshot",
        "strategy": "check",
        "unique_key": "id",
        "check_cols": ["email"],
    }
    sql = "SELECT id, email FROM {{ source('raw', 'users') }}\n"
    unique = {"type": "unique", "column": "id"}
    everyone = [(number, "a@x") for number in range(1000)]
    stats.users(everyone)
    stats.model("m/people", sql, **config)
    stats.snap("people")
    stats.users([(0, "b@x"), *everyone[1:]])
    stats.model(
        "m/people", sql, NO_NULL, unique, unique | {"name": "all", "versions": "all"}, **config
    )

    report = stats.snap("people")

    assert after(report, "people") == {
        "not_null_email": "passed no NULL",
        "unique_id": "passed unique",
        "all": "failed 1 duplicate row",
    }
    seen = report["people"].invariant_report.after[0]
    assert [value.values["rows"] for value in seen.values] == ["1"]


@pytest.mark.matrix
def test_what_reads_a_flagged_table_is_skipped_and_later_warned(stats) -> None:
    stats.users()
    table = {"materialized": "table"}
    stats.model("m/top", "SELECT id FROM {{ source('raw', 'users') }}", **table)
    stats.model(
        "m/bad", "SELECT id FROM {{ ref('top') }}", {"type": "row_count", "max": 2}, **table
    )
    stats.model("m/good", "SELECT id FROM {{ ref('top') }}", **table)
    stats.model(
        "m/end",
        "SELECT b.id FROM {{ ref('bad') }} b JOIN {{ ref('good') }} g ON b.id = g.id",
        **table,
    )

    first = stats.run("top bad good end")
    second = stats.run("end")

    assert {name: result.status for name, result in first.items()} == {
        "top": "success",
        "bad": "failed",
        "good": "success",
        "end": "skipped",
    }
    assert second["end"].status == "success"
    assert second["end"].notes == ("upstream-flagged: end reads bad, which failed row_count",)
    assert after(first, "bad") == {"row_count": "failed rows 3 > max 2"}


@pytest.mark.matrix
def test_a_flag_stays_open_while_its_rows_stay(stats) -> None:
    stats.checks({"type": "row_count", "min": 5})
    stats.on(P1)
    (flag,) = stats.flags()

    blocked = stats.sync("user_stats", first=P1, last=P1, on_failure=OnFailure.BLOCK)
    still = stats.flags()
    stats.events([(P1, "eu", 1, 1.0), (P1, "eu", 2, 2.0)])
    stats.sync("user_stats", first=P1, last=P1, on_failure=OnFailure.BLOCK)

    assert after(blocked) == {"row_count": "failed rows 3 < min 5"}
    assert still == (flag,)
    assert (stats.flags(), stats.statuses()[P1]) == ((), "SUCCESS")
    assert (len(stats.rows()), stats.version(STATS)) == (5, 2)


@pytest.mark.matrix
def test_a_full_refresh_closes_the_flags_of_what_it_replaces(stats) -> None:
    stats.users()
    stats.users_model({"type": "row_count", "max": 2})
    stats.run("users")
    opened = len(stats.flags())
    stats.users([(1, "a@x")])

    stats.run("users", full_refresh=True)

    assert (opened, stats.flags()) == (1, ())
    assert stats.rows("staging/users") == [("1", "a@x")]


def test_a_partition_is_compared_with_what_was_measured_of_its_neighbours(stats) -> None:
    usual = {"type": "anomaly", "min_history": 2, "sensitivity": 1, "severity": "warning"}
    stats.checks(usual, usual | {"name": "users", "measure": "sum(user_count)", "empty": "pass"})

    first = stats.backfill("user_stats", P1, P3)
    stats.events([*EVENTS, *EVENTS[:3]], "overwrite")
    again = stats.backfill("user_stats", P1, P1)

    assert each_group(first) == {
        ("anomaly", P1): "passed rows 3, not compared: 0 earlier values, 2 needed",
        ("anomaly", P2): "passed rows 2, not compared: 1 earlier value, 2 needed",
        ("anomaly", P3): (
            "failed rows 0 < 1.5, expected 1.5 to 3.5 (2 earlier values, median 2.5)"
        ),
        ("users", P1): "passed sum(user_count) 200, not compared: 0 earlier values, 2 needed",
        ("users", P2): "passed sum(user_count) 260, not compared: 1 earlier value, 2 needed",
        ("users", P3): "passed no rows",
    }
    assert each_group(again) == {
        ("anomaly", P1): "failed rows 6 > 2.483, expected 0 to 2.483 (2 earlier values, median 1)",
        ("users", P1): "passed sum(user_count) 400, not compared: 1 earlier value, 2 needed",
    }


def each_group(report):
    """Give what was said of each group of each check."""
    return {
        (result.name, value.group): f"{value.status} {value.message}"
        for result in report["user_stats"].invariant_report.after
        for value in result.values
    }
