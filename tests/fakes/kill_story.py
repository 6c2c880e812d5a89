"""A project whose steps are checked, and a delivery after which one partition fails a gate."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from fakes.check_place import CheckPlace
from fakes.check_projects import HEAD
from fakes.kill_project import PROJECT

_CONFIG = "{{{{ config(materialized={}, checks={{'after': [{}]}}, on_failure='block') }}}}"
_COLUMNS = "SELECT id, at, amount FROM raw.orders"

KILLED: Mapping[str, str] = {
    "penstock.yml": PROJECT,
    "models/sources.yml": """\
sources:
  - name: raw
    tables:
      - {name: events, path: ../lake/events}
      - {name: orders, path: ../lake/orders}
""",
    "models/user_stats.yml": f"""\
{HEAD}checks:
  after: [{{type: row_count, max: 2}}, {{type: unique, columns: [id]}}]
versions:
  - version: 1
    effective_from: 2024-12-01
    sql: user_stats.v1.sql
    schema: [{{name: date, type: DATE}}, {{name: id, type: INT64}}]
""",
    "models/user_stats.v1.sql": (
        "SELECT DATE(created_at) AS date, id FROM raw.events\n"
        "WHERE DATE(created_at) = @partition_date\n"
    ),
    "models/m/log.sql": "\n".join(
        (
            _CONFIG.format("'append', time_column='at'", "{'type': 'row_count', 'min': 1}"),
            f"{_COLUMNS}\n",
        )
    ),
    "models/m/users.sql": "\n".join(
        (
            _CONFIG.format(
                "'merge', unique_key='id'",
                "{'type': 'not_null', 'column': 'id'}, {'type': 'unique', 'column': 'id'}",
            ),
            f"{_COLUMNS}\n",
        )
    ),
}

EVENT = pa.schema({"id": pa.int64(), "created_at": pa.timestamp("us", "UTC")})
ORDER = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "amount": pa.int64()})


def first_delivery(place: CheckPlace) -> None:
    """One row in P1, two in P2; two orders."""
    days = ((1, "2024-12-01 08:00"), (2, "2024-12-02 08:00"), (3, "2024-12-02 09:00"))
    place.land("events", days, EVENT)
    place.land("orders", ((1, "2024-12-01", 1), (2, "2024-12-02", 2)), ORDER)


def second_delivery(place: CheckPlace) -> None:
    """Another row in each partition, one too many for P2; another order."""
    place.land("events", ((4, "2024-12-01 20:00"), (5, "2024-12-02 20:00")), EVENT)
    place.land("orders", ((3, "2024-12-03", 3),), ORDER)
