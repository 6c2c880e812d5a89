"""A month of days in one commit, beside a commit for every day: SQL that reads one day.

python bench/union_batch.py [DAYS]
"""

from __future__ import annotations

import sys

from backfills import SINGLE_SQL, Backfills
from timing import side_by_side, tell

ROUNDS = 3


def main(days: int) -> None:
    """Measure; every round after the first replaces what is there."""
    made = Backfills(days)
    for name in ("one", "many"):
        made.model(name, SINGLE_SQL)
    last = made.day(days - 1)
    pair = side_by_side(
        lambda: made.backfill("one", made.day(0), last, batch_size=days),
        lambda: made.backfill("many", made.day(0), last, batch_size=1),
        ROUNDS,
    )
    commits = [len(made.commits(name)) // (ROUNDS + 1) for name in ("one", "many")]
    assert commits == [1, days]
    assert made.rows("one") == made.rows("many")
    tell(f"{days} days in 1 commit: {days} commits of the same rows", pair, "<= 0.77")
    print(f"{1 / pair.ratio:.1f} times faster  (aim >= 1.3)")
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 31)
