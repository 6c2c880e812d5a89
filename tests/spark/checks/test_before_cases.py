"""Looking ahead of a step."""

import pytest

from fakes.check_place import EVENTS, P1, P2, P3, P4, STATS, STATS_SQL, after, before, said
from penstock.core.errors import ProjectError

HAS_DATA = """\
-- Returns 1 row if source has NO data (violation)
SELECT 1 AS violation
WHERE NOT EXISTS (
    SELECT 1
    FROM `raw.events`
    WHERE DATE(created_at) = @partition_date
    LIMIT 1
)
"""
SOURCE_HAS_DATA = {"name": "source_has_data", "sql": "checks/source_data_check.sql"}


@pytest.fixture
def seeded(stats):
    """Fixture S with the check of the seed."""
    stats.write({"models/analytics/checks/source_data_check.sql": HAS_DATA})
    stats.checks(before=[SOURCE_HAS_DATA])
    return stats


def test_a_typed_check_sees_the_part_of_its_input_that_the_partition_reads(stats) -> None:
    stats.users()
    enough = {"type": "row_count", "min": 4}
    joined = "FROM raw.events CROSS JOIN (SELECT count(*) FROM raw.users)"
    stats.edit(STATS_SQL, "FROM raw.events", joined)
    stats.checks(before=[enough])
    with pytest.raises(ProjectError) as refused:
        stats.services()
    stats.checks(before=[enough | {"input": "raw.events"}])

    report = stats.on(P1)

    (finding,) = [f for f in refused.value.findings if f.code == "check-needs-input"]
    assert finding.sentence == (
        'check "row_count": the model reads raw.events, raw.users; which of them is checked?'
    )
    assert before(report) == {"row_count": "failed rows 3 < min 4"}


def test_a_failed_gate_ahead_leaves_everything_as_it_is(seeded) -> None:
    seeded.events([(P3, "old", 3, 3.0)])
    seeded.on(P3)
    old, count = seeded.partitions()[P3], len(seeded.executions())
    seeded.events(EVENTS, "overwrite")
    seeded.checks({"type": "row_count", "min": 0}, before=[SOURCE_HAS_DATA])
    below = (
        "SELECT date, count(*) AS n FROM analytics.user_stats "
        "WHERE date = @partition_date GROUP BY date\n"
    )
    seeded.write(
        {
            "models/analytics/below.v1.sql": below,
            "models/analytics/below.yml": """\
name: below
destination: {dataset: analytics, table: below, partition: {field: date, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-12-01
    sql: below.v1.sql
    schema: [{name: date, type: DATE}, {name: n, type: BIGINT}]
""",
        }
    )

    report = seeded.run("user_stats below", first=P3, last=P3)

    result = report["user_stats"]
    assert (result.status, report["below"].status) == ("skipped", "skipped")
    assert before(report) == {"source_has_data": "failed 1 row (expected 0)"}
    assert after(report) == {"row_count": "skipped step did not run"}
    assert str(result.error) == "user_stats 2024-12-03: source_has_data: 1 row (expected 0)"
    assert result.error.code == "before-check-failed"
    assert result.error.hint == "penstock check --query user_stats --date 2024-12-03 --before"
    assert (seeded.version(STATS), seeded.rows()) == (1, [(P3, "old", "3", "3.0")])
    now = seeded.partitions()[P3]
    assert (now.status, now.step_seq, now.commit_version) == ("FAILED", old.step_seq, 1)
    (row,) = seeded.executions()[: len(seeded.executions()) - count]
    assert (row.partition, row.failure.code, row.rows_written) == (P3, "before-check-failed", None)


def test_partitions_that_hold_are_built_without_those_that_fail(seeded) -> None:
    report = seeded.backfill("user_stats", P1, P4)

    assert seeded.statuses() == {P1: "SUCCESS", P2: "SUCCESS", P3: "FAILED", P4: "SUCCESS"}
    assert [said(result.invariant_report.before) for result in report.results] == [
        {"source_has_data": "failed 1 row (expected 0)"},
        {"source_has_data": "passed no rows"},
    ]
    told = [(str(row.result.status), row.partitions) for row in seeded.check_records()]
    assert told == [("passed", (f"{P1}..{P2}", P4)), ("failed", (P3,))]
    assert len(seeded.rows()) == 6
    assert not report.succeeded
    assert seeded.version(STATS) == 1


def test_a_warning_ahead_stops_nothing(seeded) -> None:
    seeded.checks(
        before=[
            SOURCE_HAS_DATA | {"severity": "warning"},
            {"name": "is_there", "sql": "SELECT * FROM {destination}"},
        ]
    )

    report = seeded.on(P3)

    assert before(report) == {
        "source_has_data": "failed 1 row (expected 0)",
        "is_there": "skipped table does not exist yet",
    }
    assert report["user_stats"].invariant_report.has_warnings()
    assert report.succeeded
    assert seeded.statuses()[P3] == "SUCCESS"


@pytest.mark.matrix
def test_a_range_without_a_partition_is_two_steps(seeded) -> None:
    ranged = "WHERE created_at >= @start_date AND created_at < @end_date"
    seeded.edit(STATS_SQL, "WHERE DATE(created_at) = @partition_date", ranged)

    report = seeded.backfill("user_stats", P1, P4)

    assert [(result.status, result.partitions) for result in report.results] == [
        ("skipped", ((P3, P3),)),
        ("success", ((P1, P2),)),
        ("success", ((P4, P4),)),
    ]
    told = [(str(row.result.status), row.partitions) for row in seeded.check_records()]
    assert told == [("passed", (P4,)), ("passed", (f"{P1}..{P2}",)), ("failed", (P3,))]
    assert len(seeded.rows()) == 6
