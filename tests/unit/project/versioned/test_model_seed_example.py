"""The YAML that users have from bqdrift loads as it is."""

from __future__ import annotations

STATS = """\
name: daily_user_stats
destination:
  dataset: analytics
  table: user_stats
  partition:
    field: date
    type: DAY

versions:
  - version: 1
    effective_from: 2024-01-01
    sql: user_stats.v1.sql
    schema:
      - name: date
        type: DATE
      - name: user_count
        type: INT64
      - name: revenue
        type: FLOAT64

    invariants:
      before:
        - name: source_has_data
          sql: checks/source_data_check.sql
          description: "Ensure source table has data for partition"
          severity: error  # error | warning

      after:
        - name: min_users
          sql: checks/min_users_check.sql
          description: "At least 100 users per partition"
          severity: error

        - name: revenue_bounds
          type: column_check
          column: revenue
          check: "MIN(revenue) >= 0 AND MAX(revenue) < 1000000"
          severity: warning

        - name: null_check
          type: null_percentage
          column: user_count
          max_percentage: 5.0
          severity: warning
"""
WEEKLY = """\
name: weekly_summary
destination:
  dataset: analytics
  table: weekly_summary
  partition:
    field: week_start
    type: DAY

depends_on:
  - analytics.daily_user_stats
  - analytics.revenue_by_region

versions:
  - version: 1
    effective_from: 2024-01-01
    sql: weekly_summary.v1.sql
    schema:
      - name: week_start
        type: DATE
      - name: total_users
        type: INT64
"""
FILES = {
    "penstock.yml": "name: seed\nmodels: [queries]\n",
    "queries/analytics/daily_user_stats.yaml": STATS,
    "queries/analytics/user_stats.v1.sql": (
        "SELECT DATE(at) AS date, COUNT(*) AS user_count, SUM(paid) AS revenue FROM `raw.events`\n"
        "WHERE DATE(at) = @partition_date GROUP BY DATE(at)\n"
    ),
    "queries/analytics/checks/source_data_check.sql": "SELECT 1 FROM `{destination}` WHERE x\n",
    "queries/analytics/checks/min_users_check.sql": "SELECT 1 FROM `{destination}`\n",
    "queries/analytics/weekly_summary.yaml": WEEKLY,
    "queries/analytics/weekly_summary.v1.sql": (
        "SELECT week_start, SUM(user_count) AS total_users FROM analytics.user_stats\n"
        "WHERE week_start = @partition_date GROUP BY week_start\n"
    ),
    "queries/analytics/revenue_by_region.sql": "select 1 as region",
}


def test_the_example_of_the_seed_loads(load):
    project = load(FILES)

    assert {name: model.depends_on for name, model in project.models.items()} == {
        "daily_user_stats": (),
        "revenue_by_region": (),
        "weekly_summary": ("daily_user_stats", "revenue_by_region"),
    }
    assert [finding for finding in project.findings if finding.is_error] == []
