"""Projects whose one model is that of fixture S, with checks."""

from __future__ import annotations

SQL = (
    "SELECT DATE(created_at) AS date, region, user_count, revenue FROM raw.events\n"
    "WHERE DATE(created_at) = @partition_date\n"
)
SCHEMA = """\
    schema:
      - {name: date, type: DATE}
      - {name: region, type: STRING}
      - {name: user_count, type: BIGINT}
      - {name: revenue, type: DOUBLE}
"""
HEAD = """\
name: user_stats
destination:
  dataset: analytics
  table: user_stats
  partition: {field: date, type: DAY}
"""
FIRST = f"""\
  - version: 1
    effective_from: 2024-01-01
    sql: user_stats.v1.sql
{SCHEMA}"""
PATH = "models/user_stats.yml"

C3 = """\
        - {type: rowcount, min: 1}
        - {type: row_count}
        - {name: bounds, type: row_count, min: 10, max: 5}
        - {type: null_percentage, column: region, max_percentage: 150}
        - {name: a, type: row_count, min: 1}
        - {name: a, type: row_count, max: 9}
        - {name: gone, sql: checks/gone.sql}
        - {name: deletes, sql: DELETE FROM t}
        - {name: braces, sql: "select * from {table} where date = @partition_date"}
        - name: dates
          sql: |
            select * from {destination}
            where date = @partition_day
        - {type: accepted_values, column: region, values: []}
        - {type: not_null, column: revenu}
        - {name: severe, type: row_count, min: 1, severity: critical}
        - {type: value_range, column: user_count, min: 1.5}
"""
"""Thirteen checks with a mistake each, to stand under a version."""


def user_stats(*after: str, more: str = "", **files: str) -> dict[str, str]:
    """Give the files of the project; each check is a flow mapping under after."""
    listed = "".join(f"      - {each}\n" for each in after)
    checks = f"checks:\n  after:\n{listed}" if after else ""
    text = f"{HEAD}{checks}{more}versions:\n{FIRST}"
    return {PATH: text, "models/user_stats.v1.sql": SQL, **files}


def versions(*more: str, beside: str = "") -> dict[str, str]:
    """Give the model with a text in each of its versions, and one beside them."""
    listed = [
        FIRST.replace("version: 1", f"version: {number}").replace(
            "2024-01-01", f"2024-0{number}-01"
        )
        + text
        for number, text in enumerate(more, start=1)
    ]
    text = f"{HEAD}{beside}versions:\n{''.join(listed)}"
    return {PATH: text, "models/user_stats.v1.sql": SQL}
