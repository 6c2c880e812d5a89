"""Runs of an append that write no row, in every mode."""

import pyarrow as pa
import pytest

from fakes.check_place import after

LOG = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC")})
SQL = "SELECT id, at FROM {{ source('raw', 'log') }} WHERE id > 0\n"
CHANGE = {"type": "row_count_change", "max_percent": 50}
ALARM = CHANGE | {"name": "alarm", "empty": "fail", "severity": "warning"}
NOTHING = "skipped nothing was written"


@pytest.mark.parametrize("mode", ["flag", "block"])
@pytest.mark.matrix
def test_a_quiet_run_is_an_alarm_where_that_is_asked_for_and_never_a_base(stats, mode) -> None:
    stats.write(
        {"models/log.yml": "sources: [{name: raw, tables: [{name: log, path: ../lake/log}]}]"}
    )
    config = {"materialized": "append", "time_column": "at", "on_failure": mode}
    stats.model("m/log", SQL, CHANGE, ALARM, **config)

    def run(day: int, *ids: int) -> dict[str, str]:
        stats.land("log", [(each, f"2024-12-0{day} 10:00") for each in ids], LOG)
        return after(stats.run("log"), "log")

    first, second = run(1, 1, 2, 3, 4), run(2, 5, 6, 7)
    late, filtered = run(1, 0), run(3, 0, -1)
    again = run(4, 8, 9, 10)

    assert set(first.values()) == {"skipped no earlier execution"}
    assert set(second.values()) == {"passed rows 3, -25.0 % of 4"}
    lost = "failed rows 0, -100.0 % of 3 (max decrease 50 %)"
    assert late == {"row_count_change": NOTHING, "alarm": lost}
    assert filtered == {"row_count_change": NOTHING, "alarm": lost}
    assert set(again.values()) == {"passed rows 3, +0.0 % of 3"}
