"""One step over several partitions."""

import pytest

from fakes.check_place import P1, P2, P3, P4, CheckPlace, after
from penstock.engine.session import SparkStepSession

AT_LEAST_2 = {"type": "row_count", "min": 2}


@pytest.fixture
def ran(monkeypatch):
    """The queries that steps read rows with."""
    queries, rows = [], SparkStepSession.rows

    def remembering(self, sql):
        queries.append(sql)
        return rows(self, sql)

    monkeypatch.setattr(SparkStepSession, "rows", remembering)
    return queries


@pytest.mark.matrix
def test_one_query_gives_each_partition_the_value_it_would_have_alone(
    stats, tmp_path, spark, ran
) -> None:
    apart = CheckPlace(tmp_path / "apart", spark)
    apart.events()
    for place in (stats, apart):
        place.checks(AT_LEAST_2)

    ran.clear()
    together = stats.backfill("user_stats", P1, P4)
    asked = len(ran)
    alone = [apart.on(day)["user_stats"].invariant_report.after for day in (P1, P2, P3, P4)]

    (result,) = together["user_stats"].invariant_report.after
    assert asked == 1
    assert result.partitions == (P3, P4)
    assert result.message == (
        "2 of 4 partitions failed: 2024-12-03: rows 0 < min 2; 2024-12-04: rows 1 < min 2"
    )
    assert result.values == tuple(value for (one,) in alone for value in one.values)
    assert stats.statuses() == {P1: "SUCCESS", P2: "SUCCESS", P3: "FAILED", P4: "FAILED"}
    assert apart.statuses() == stats.statuses()


def test_sql_without_a_partition_is_of_all_partitions(stats) -> None:
    stats.checks({"name": "none", "sql": "SELECT 1 AS one FROM {destination}"})
    services = stats.services()

    report = stats.backfill("user_stats", P1, P4)

    assert [(f.code, f.is_warning) for f in services.project.findings] == [
        ("check-not-partitioned", True)
    ]
    assert after(report) == {"none": "failed more than 5 rows (expected 0)"}
    assert set(stats.statuses().values()) == {"FAILED"}
    assert [flag.partition for flag in stats.flags()] == [P1, P2, P3, P4]
