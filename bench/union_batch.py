"""Many days in one commit by SQL that reads one day, beside other ways to the same rows.

python bench/union_batch.py [DAYS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from backfills import RANGE_SQL, SINGLE_SQL, Backfills
from timing import side_by_side, tell

ROUNDS = 3
APART_SQL = SINGLE_SQL + "order by events desc, user_id limit 5\n"
"""SQL that no one query can say for many days: the rows of each are counted."""


def main(days: int) -> None:
    """Measure; every round after the first replaces what is there."""
    made = Backfills(days)
    for name, sql in (
        ("one", SINGLE_SQL),
        ("many", SINGLE_SQL),
        ("range", RANGE_SQL),
        ("apart", APART_SQL),
    ):
        made.model(f"by_{name}", sql)
    _beside_commits(made, days)
    _beside_range(made, "by_one", days, "<= 1.5")
    _beside_range(made, "by_apart", days, "none: a branch per day")
    made.close()


def _backfill(made: Backfills, name: str, days: int, batch: int) -> Callable[[], object]:
    return lambda: made.backfill(name, made.day(0), made.day(days - 1), batch_size=batch)


def _beside_commits(made: Backfills, days: int) -> None:
    ours, others = _backfill(made, "by_one", days, days), _backfill(made, "by_many", days, 1)
    pair = side_by_side(ours, others, ROUNDS)
    commits = [len(made.commits(name)) // (ROUNDS + 1) for name in ("by_one", "by_many")]
    assert commits == [1, days]
    assert made.rows("by_one") == made.rows("by_many")
    tell(f"{days} days in 1 commit: {days} commits of the same rows", pair, "<= 0.77")
    print(f"{1 / pair.ratio:.1f} times faster  (aim >= 1.3)")


def _beside_range(made: Backfills, name: str, days: int, aim: str) -> None:
    ours, others = _backfill(made, name, days, days), _backfill(made, "by_range", days, days)
    pair = side_by_side(ours, others, ROUNDS)
    if name == "by_one":
        assert made.rows(name) == made.rows("by_range")
    tell(f"{days} days by SQL that reads one: by SQL that reads a range", pair, aim)
    jobs = [made.jobs(work) for work in (ours, others)]
    print(f"{jobs[0]} jobs beside {jobs[1]}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 31)
