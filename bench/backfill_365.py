"""A year of days in one step, beside a step for every day: SQL that reads a range.

python bench/backfill_365.py [DAYS]
"""

from __future__ import annotations

import sys
import time

from backfills import RANGE_SQL, Backfills
from timing import Pair, tell


def main(days: int) -> None:
    """Measure one backfill of each kind; both are warmed up by a few days of another model."""
    made = Backfills(days)
    for name in ("warm", "one", "many"):
        made.model(name, RANGE_SQL)
    made.backfill("warm", made.day(0), made.day(4))
    made.backfill("warm", made.day(0), made.day(4), batch_size=1)

    def timed(name: str, batch_size: int | None) -> float:
        started = time.perf_counter()
        made.backfill(name, made.day(0), made.day(days - 1), batch_size=batch_size)
        return time.perf_counter() - started

    ours, base = timed("one", None), timed("many", 1)
    assert (len(made.commits("one")), len(made.commits("many"))) == (1, days)
    assert made.rows("one") == made.rows("many")
    tell(f"{days} days in 1 step: {days} steps of the same rows", Pair((ours,), (base,)), "<= 0.10")
    print(f"{base / ours:.1f} times faster  (aim >= 10)")
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 365)
