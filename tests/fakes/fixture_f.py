"""Fixture F: three versioned models over one source, as files by path."""

from __future__ import annotations

from collections.abc import Mapping

DAILY = "queries/analytics/daily_user_stats.yaml"
DAILY_V1 = "queries/analytics/daily_user_stats.v1.sql"
DAILY_V2 = "queries/analytics/daily_user_stats.v2.sql"
DAILY_V3 = "queries/analytics/daily_user_stats.v3.sql"
WEEKLY = "queries/analytics/weekly_summary.yaml"
WEEKLY_V1 = "queries/analytics/weekly_summary.v1.sql"
MONTHLY = "queries/reporting/monthly_report.yaml"
MONTHLY_V1 = "queries/reporting/monthly_report.v1.sql"
SOURCES = "queries/sources.yml"
EVENTS_PATH = "lake/raw/events"
"""The folder of the Delta table raw.events, from the project's root."""

EVENTS: tuple[tuple[str | None, str], ...] = (
    ("u9", "2024-11-28 23:59:59"),
    ("u1", "2024-12-02 08:00:00"),
    ("u2", "2024-12-02 09:00:00"),
    (None, "2024-12-02 10:00:00"),
    ("u1", "2024-12-03 11:00:00"),
    (None, "2024-12-03 12:00:00"),
    ("u3", "2024-12-09 00:00:00"),
)
"""The rows of raw.events (user_id STRING, created_at TIMESTAMP), one file each, in UTC."""

FIXTURE_F: Mapping[str, str] = {
    "penstock.yml": "name: stats\nmodels: [queries]\n",
    SOURCES: f"""\
sources:
  - name: raw
    tables:
      - name: events
        path: ../{EVENTS_PATH}
""",
    DAILY: """\
name: daily_user_stats
destination:
  dataset: analytics
  table: daily_user_stats
  partition:
    field: date
    type: DAY

versions:
  - version: 1
    effective_from: 2024-11-25
    sql: daily_user_stats.v1.sql
    schema:
      - name: date
        type: DATE
      - name: unique_users
        type: INT64

  - version: 2
    effective_from: 2024-11-29
    sql: daily_user_stats.v2.sql
    schema: ${{ versions.1.schema }}

  - version: 3
    effective_from: 2024-12-02
    sql: daily_user_stats.v3.sql
    schema:
      base: ${{ versions.1.schema }}
      add:
        - name: events
          type: INT64
""",
    DAILY_V1: """\
SELECT DATE(created_at) AS date, COUNT(DISTINCT user_id) AS unique_users
FROM raw.events
WHERE DATE(created_at) = @partition_date
GROUP BY DATE(created_at)
""",
    DAILY_V2: """\
SELECT DATE(created_at) date, COUNT(DISTINCT user_id) unique_users
FROM raw.events
WHERE DATE(created_at) = @partition_date
GROUP BY DATE(created_at)
""",
    DAILY_V3: """\
SELECT DATE(created_at) AS date,
       COUNT(DISTINCT user_id) AS unique_users,
       COUNT(*) AS events
FROM raw.events
WHERE DATE(created_at) = @partition_date
GROUP BY DATE(created_at)
""",
    WEEKLY: """\
name: weekly_summary
destination:
  dataset: analytics
  table: weekly_summary
  partition:
    field: week_start
    type: DAY

depends_on:
  - analytics.daily_user_stats

versions:
  - version: 1
    effective_from: 2024-11-25
    sql: weekly_summary.v1.sql
    schema:
      - name: week_start
        type: DATE
      - name: total_users
        type: INT64
""",
    WEEKLY_V1: """\
SELECT CAST(DATE_TRUNC('WEEK', date) AS DATE) AS week_start, SUM(unique_users) AS total_users
FROM analytics.daily_user_stats
WHERE CAST(DATE_TRUNC('WEEK', date) AS DATE) = @partition_date
GROUP BY 1
""",
    MONTHLY: """\
name: monthly_report
destination:
  dataset: reporting
  table: monthly_report
  partition:
    field: month
    type: MONTH

versions:
  - version: 1
    effective_from: 2024-11-01
    sql: monthly_report.v1.sql
    schema:
      - name: month
        type: DATE
      - name: total_users
        type: INT64
""",
    MONTHLY_V1: """\
SELECT CAST(DATE_TRUNC('MONTH', week_start) AS DATE) AS month, SUM(total_users) AS total_users
FROM analytics.weekly_summary
WHERE week_start >= @start_date AND week_start < @end_date
GROUP BY 1
""",
}

EDIT_E: Mapping[str, str] = {
    DAILY_V3: FIXTURE_F[DAILY_V3].replace(
        "COUNT(DISTINCT user_id)", "COUNT(DISTINCT COALESCE(user_id, 'anon'))"
    ),
}
"""Edit E: the file of version 3 that counts users without a name as one."""
