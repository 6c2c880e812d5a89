"""Replacing one day in a table of 1,000 days, beside the same in a table of 10 days.

python bench/replace_locality.py [DAYS]
"""

from __future__ import annotations

import sys

from backfills import RANGE_SQL, Backfills
from timing import side_by_side, tell

ROUNDS = 5
FEW = 10


def main(days: int) -> None:
    """Measure one day that both tables hold; it has the same rows in both."""
    made = Backfills(days)
    day = made.day(days - 5)
    made.model("long", RANGE_SQL)
    made.model("short", RANGE_SQL, made.day(days - FEW))
    made.backfill("long", made.day(0), made.day(days - 1))
    made.backfill("short", made.day(days - FEW), made.day(days - 1))
    pair = side_by_side(
        lambda: made.backfill("long", day, day),
        lambda: made.backfill("short", day, day),
        ROUNDS,
    )
    for name in ("long", "short"):
        changed = made.commits(name)[1:]
        assert len(changed) == ROUNDS + 1
        actions = [a.get("add") or a.get("remove") for commit in changed for a in commit]
        found = {each["partitionValues"]["date"] for each in actions if each}
        assert found == {day.isoformat()}, found
    tell(f"replace a day in {days:,} days: in {FEW} days", pair, "<= 1.5")
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)
