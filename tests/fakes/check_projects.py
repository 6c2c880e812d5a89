"""Projects whose one model is that of fixture S, with checks (spec/checks.md §11)."""

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
