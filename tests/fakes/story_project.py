"""The project that stories are told about: every strategy with a window, and what reads it."""

from __future__ import annotations

from collections.abc import Mapping

EVENTS = ("id", "v", "at", "day")
_COLUMNS = ", ".join(EVENTS)
LATEST = "on_duplicate='latest', order_by=['at', 'v']"


def _windowed(settings: str, read: str) -> str:
    config = f"{{{{ config({settings}, time_column='at') }}}}\n"
    return f"{config}select {_COLUMNS} from {read}\n"


DAILY = """\
name: daily
destination: {dataset: m, table: daily, partition: {field: day, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-03-01
    sql: daily.sql
    schema: [{name: day, type: DATE}, {name: n, type: INT64}, {name: total, type: INT64}]
"""
THREE = DAILY.replace("daily", "three").replace(" {name: n, type: INT64},", "")

STORY_FILES: Mapping[str, str] = {
    "penstock.yml": "name: story\nmodels: [models]\n",
    "models/sources.yml": """\
sources:
  - name: raw
    tables:
      - {name: events, path: ../landing/events}
""",
    "models/m/log.sql": _windowed("materialized='append'", "raw.events"),
    "models/m/again.sql": _windowed("materialized='append'", "m.log"),
    "models/m/seen.sql": f"{{{{ config(materialized='view') }}}}\nselect {_COLUMNS} from m.log\n",
    "models/m/through.sql": _windowed("materialized='append'", "m.seen"),
    "models/m/last.sql": _windowed(
        f"materialized='merge', unique_key='id', lookback='2 days', {LATEST}", "raw.events"
    ),
    "models/m/final.sql": _windowed(f"materialized='merge', unique_key='id', {LATEST}", "m.log"),
    "models/m/sums.sql": "{{ config(materialized='table') }}\n"
    "select id, count(*) as n, sum(v) as total from m.again group by id\n",
    "models/m/daily.yaml": DAILY,
    "models/m/daily.sql": """\
select day, count(*) as n, sum(v) as total from raw.events where day = @partition_date group by day
""",
    "models/m/three.yaml": THREE,
    "models/m/three.sql": """\
select @partition_date as day, sum(total) as total from m.daily
where day between date_sub(@partition_date, 2) and @partition_date having count(*) > 0
""",
}
