"""Twelve checks of 31 partitions in one query, beside one partition with as many rows.

python bench/checks_partitions.py [ROWS_A_DAY]
"""

from __future__ import annotations

import sys

from checked import DAY, OBSERVABLE, Checked, compared, told

from penstock.app.commands.check import check
from penstock.app.request import CheckRequest
from penstock.app.services.wire import Where, open_services

DAYS = 31


def main(rows: int) -> None:
    """Measure `penstock check` of both."""
    many, one = Checked(rows, DAYS), Checked(rows * DAYS)
    for made in (many, one):
        made.model("checked", OBSERVABLE)
        made.build("checked", batch_size=DAYS)

    def checked(made: Checked) -> None:
        services = open_services(Where(made.place.root), made.place.spark)
        try:
            days = CheckRequest(select=("checked",), from_=DAY, to=f"2024-03-{made.days:02}")
            assert check(services, days).ok
        finally:
            services.close()

    costs = compared(many.jvm, lambda: checked(many), lambda: checked(one))
    told(f"{DAYS} partitions of {rows:,} rows beside one", *costs, 2.0)
    many.close()
    one.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 100_000)
