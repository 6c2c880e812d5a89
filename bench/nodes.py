"""What penstock costs per table: 30 small tables, against the same statements on plain threads."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from place import Place, start_spark
from timing import side_by_side, tell

TABLES = 30
THREADS = 4
QUERY = "select id, id % {n} as part, sum(id) over (partition by id % {n}) as s from range(100000)"


class Nodes:
    """The same queries as models of penstock and as CREATE OR REPLACE statements."""

    def __init__(self, place: Place) -> None:
        self.place = place
        for number in range(1, TABLES + 1):
            header = "{{ config(materialized='table') }}"
            place.write(f"models/m/t{number}.sql", f"{header}\n{QUERY.format(n=number)}\n")

    def ours(self) -> None:
        """Rebuild all tables with penstock, records and all."""
        self.place.run(full_refresh=True, threads=THREADS)

    def plain(self) -> None:
        """Rebuild all tables on threads, one session each."""
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._one, range(1, TABLES + 1)))

    def _one(self, number: int) -> None:
        self.place.sql(
            f"CREATE OR REPLACE TABLE {self.place.delta(f'plain/t{number}')} USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
            f"AS {QUERY.format(n=number)}"
        )


def main(rounds: int) -> None:
    """Measure whole rebuilds."""
    place = Place(start_spark(Path(tempfile.mkdtemp())))
    nodes = Nodes(place)
    pair = side_by_side(nodes.ours, nodes.plain, rounds)
    tell(f"{TABLES} small tables: the same statements on threads", pair, "<= 1.1")
    place.close()


if __name__ == "__main__":
    main(5)
