"""Gates of views on real tables: what is read through a view is looked at first."""

import pytest

from fakes.check_place import EVENTS, P1, P2, STATS, STATS_SQL, after

SEEN_SQL = "SELECT * FROM {{ source('raw', 'events') }}\n"
FILES_SQL = "SELECT * FROM {{ source('raw', 'files') }}\n"
POSITIVE = {"type": "value_range", "column": "revenue", "min": 0}
THROUGH = """\
SELECT DATE(created_at) AS date, region, user_count, revenue
FROM m.seen
WHERE DATE(created_at) = @partition_date
"""
GOOD = [row for row in EVENTS if row[3] is None or row[3] >= 0]
BAD = (P2, "us", 1, -1.0)


@pytest.mark.matrix
def test_partitions_that_read_a_view_are_not_built_on_rows_that_fail_its_gate(stats) -> None:
    stats.events(GOOD, "overwrite")
    stats.model("m/seen", SEEN_SQL, POSITIVE, materialized="view")
    stats.write({STATS_SQL: THROUGH})
    assert stats.backfill("seen", None, None).succeeded
    assert stats.backfill("user_stats", P1, P2).succeeded
    rows, version = stats.rows(), stats.version(STATS)
    stats.events([BAD])

    failed = stats.backfill("user_stats", P1, P2)
    left, statuses = (stats.rows(), stats.version(STATS)), stats.statuses()
    stats.events([*GOOD, (P2, "us", 1, 1.0)], "overwrite")
    mended = stats.sync("user_stats", first=P1, last=P2)

    assert after(failed, "seen") == {"value_range_revenue": "failed min -1.0 < 0"}
    assert failed["user_stats"].error.sentence == (
        f"user_stats {P1} to {P2}: view seen: value_range_revenue: min -1.0 < 0"
    )
    assert (left, statuses) == ((rows, version), {P1: "FAILED", P2: "FAILED"})
    assert after(mended, "seen") == {"value_range_revenue": "passed range 1.0 to 20.0"}
    assert mended.succeeded
    assert stats.statuses() == {P1: "SUCCESS", P2: "SUCCESS"}
    assert stats.sync("user_stats", first=P1, last=P2).plan.is_empty
