"""Twelve checks as penstock asks them of written rows, beside twelve queries, one for each.

python bench/checks_naive.py [ROWS]
"""

from __future__ import annotations

import sys

from checked import DAY, OBSERVABLE, SCANNED, Checked, compared, told

from penstock.app.commands.check import check
from penstock.app.request import CheckRequest
from penstock.app.services.wire import Where, open_services

QUERIES = (
    "select count(*) from {t}",
    "select count_if(id is null), count_if(at is null) from {t}",
    "select count_if(note is null) * 100 / count(*) from {t}",
    "select count_if(city is null) * 100 / count(*) from {t}",
    "select min(amount) from {t}",
    "select min(price), max(price) from {t}",
    "select min(quantity) from {t}",
    "select kind, count(*) from {t} where kind not in ('a', 'b', 'c', 'd') group by kind",
    "select count(*) from {t} where not amount >= 0 or amount is null",
    "select max(price) < 1000000 from {t}",
    "select id, count(*) from {t} group by id having count(*) > 1 limit 10",
    "select count(distinct kind) from {t}",
)


def main(rows: int) -> None:
    """Measure the time of the checks alone."""
    made = Checked(rows)
    made.model("checked", (*OBSERVABLE[:10], *SCANNED))
    made.build("checked")
    table = f"{made.place.delta('warehouse/stats/checked')}"
    day = f"(select * from {table} where date = DATE '{DAY}')"

    def ours() -> None:
        services = open_services(Where(made.place.root), made.place.spark)
        try:
            assert check(services, CheckRequest(select=("checked",), date=DAY)).ok
        finally:
            services.close()

    def naive() -> None:
        assert made.place.spark is not None
        session = made.place.spark.newSession()
        for query in QUERIES:
            session.sql(query.format(t=day)).collect()

    told(f"{rows:,} rows, 12 checks after the write", *compared(made.jvm, ours, naive), 0.33)
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5_000_000)
