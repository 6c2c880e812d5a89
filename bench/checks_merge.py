"""Three gates that hold back rows of a merge and of a history, beside the same steps without.

    python checks_merge.py [ROWS] [ROUNDS]

One row in a hundred changes each round, in a source of ten columns that is written anew. Each of
the four models takes it in, in turn; the first round is left out. Seconds and Spark jobs of each.
The gates are `not_null` and `value_range` of the rows that come and `unique` of the whole table.
"""

from __future__ import annotations

import datetime as dt
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from history import FIRST, ROW
from place import Place, start_spark

SOURCES = "sources:\n  - name: raw\n    tables: [{name: rows, path: ../landing/rows}]\n"
GATES = """\
models:
  - name: NAME
    checks:
      after:
        - {type: not_null, columns: [id, updated_at]}
        - {type: value_range, column: amount, min: 0}
        - {type: unique, columns: [id], scope: table}
      on_failure: block
"""
QUERY = "select * from {{ source('raw', 'rows') }}\n"
CONFIGS = {
    "merge": "{{ config(materialized='merge', unique_key='id') }}\n",
    "history": "{{ config(materialized='snapshot', unique_key='id', updated_at='updated_at', "
    "snapshot={'strategy': 'timestamp'}) }}\n",
}


def main(rows: int, rounds: int) -> None:
    """Measure, and print medians and ratios."""
    place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"))
    assert place.spark is not None
    place.write("models/sources.yml", SOURCES)
    for kind, config in CONFIGS.items():
        place.write(f"models/m/{kind}.sql", config + QUERY)
        place.write(f"models/m/{kind}_checked.sql", config + QUERY)
        place.write(f"models/m/{kind}_checked.yml", GATES.replace("NAME", f"{kind}_checked"))
    seconds: dict[str, list[float]] = defaultdict(list)
    jobs: dict[str, list[int]] = defaultdict(list)
    table = place.delta("landing/rows")
    for number in range(rounds + 2):
        salt = f"if(id % 100 BETWEEN 1 AND {number}, id % 100, 0)"
        row = ROW.format(salt=salt, days=f"CAST({salt} AS INT)")
        made = f"CREATE OR REPLACE TABLE {table} USING delta AS SELECT {row} FROM range({rows})"
        place.sql(made)
        names = [f"{kind}{more}" for kind in CONFIGS for more in ("", "_checked")]
        for name in names if number % 2 else reversed(names):
            before, started = _jobs(place), time.perf_counter()
            is_history = name.startswith("history")
            moment = FIRST + dt.timedelta(days=number)
            if is_history:
                place.run(select=(name,), snapshot=True, as_of=moment)
            else:
                place.run(select=(name,))
            took = time.perf_counter() - started
            print(f"{number} {name:<16} {took:6.2f} s  {_jobs(place) - before} jobs", flush=True)
            if number > 1:  # the first makes the table, the second warms up
                seconds[name].append(took)
                jobs[name].append(_jobs(place) - before)
    place.close()
    for kind in CONFIGS:
        ours, plain = f"{kind}_checked", kind
        ratios = [a / b for a, b in zip(seconds[ours], seconds[plain], strict=True)]
        print(
            f"{kind:<10} {statistics.median(seconds[ours]):6.2f} s beside "
            f"{statistics.median(seconds[plain]):6.2f} s  ratio {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}); jobs {statistics.median(jobs[ours])} "
            f"beside {statistics.median(jobs[plain])}  (aim 1.3)"
        )


def _jobs(place: Place) -> int:
    """Count the jobs of Spark so far."""
    assert place.spark is not None
    context = place.spark.sparkContext._jsc.sc()  # noqa: SLF001  there is no other way
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    return max((jobs.apply(n).jobId() for n in range(jobs.size())), default=-1) + 1


if __name__ == "__main__":
    asked = [int(each) for each in sys.argv[1:]]
    main(*(asked + [1_000_000, 3][len(asked) :]))
