"""A gate that looks at the whole table: what it found is of the version that is published."""

import pytest

from fakes.check_place import USERS, after
from spark.checks.test_block_cases import LOG, LOG_CONFIG, LOG_SQL, UNIQUE_EMAIL, UNIQUE_ID


def once_at(place, point, deed):
    """Let somebody else do something when the next step first passes a point."""
    left = [1]

    def fault(passed):
        if passed == point and left[0]:
            left[0] -= 1
            deed()

    place.fault = fault


@pytest.fixture
def log(stats):
    source = "sources: [{name: raw, tables: [{name: log, path: ../lake/log}]}]"
    stats.write({"models/log.yml": source})
    stats.model("m/log", LOG_SQL, UNIQUE_ID, on_failure="block", **LOG_CONFIG)
    stats.land("log", [(1, "2024-12-01 10:00")], LOG)
    assert stats.run("log").succeeded
    stats.land("log", [(2, "2024-12-01 12:00")], LOG)
    return stats


def insert(place, key):
    place.sql(
        f"INSERT INTO delta.`{place.root}/warehouse/m/log` "
        f"VALUES ({key}, TIMESTAMP '2024-12-01 11:00')"
    )


@pytest.mark.matrix
def test_rows_that_would_be_double_beside_those_of_somebody_else_are_not_published(log):
    once_at(log, "after-checks", lambda: insert(log, 2))

    report = log.run("log")

    assert after(report, "log") == {"unique_id": "failed 1 duplicate row"}
    assert sorted(row[0] for row in log.rows("m/log")) == ["1", "2"]
    assert log.version("m/log") == 1


def test_rows_that_pass_beside_those_of_somebody_else_are_published_and_both_are_told(log):
    once_at(log, "after-checks", lambda: insert(log, 7))

    report = log.run("log")

    assert after(report, "log") == {"unique_id": "passed unique"}
    assert sorted(row[0] for row in log.rows("m/log")) == ["1", "2", "7"]
    assert log.record("log").foreign[0].version == 1


@pytest.mark.matrix
def test_a_merge_looks_again_when_somebody_else_wrote_before_it_was_published(stats):
    stats.users()
    stats.users_model()
    stats.run("users")
    stats.users([(2, "b2@x"), (3, "c@x")])
    stats.users_model(UNIQUE_EMAIL | {"scope": "table"}, on_failure="block")
    table = f"delta.`{stats.root}/warehouse/{USERS}`"
    once_at(stats, "after-checks", lambda: stats.sql(f"INSERT INTO {table} VALUES (7, 'c@x')"))

    report = stats.run("users")

    assert after(report, "users") == {"unique_email": "failed 1 duplicate row"}
    assert ("3", "c@x") not in stats.rows(USERS)
