"""Two steps at once on one table."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.core.errors import ConcurrentWriterError
from penstock.core.strategy import Layout
from spark.partitions.conftest import day

PLAIN = "date date, n bigint"


def test_disjoint_partitions_of_a_partitioned_table_are_replaced_at_once(lot) -> None:
    table = lot(PLAIN)
    keys = ("2024-12-02", "2024-12-03")

    with ThreadPoolExecutor(2) as threads:
        for number in range(3):
            list(threads.map(lambda key, n=number: table.build(day(key, n)), keys))

    assert [row[1] for row in table.rows()] == [2, 2]
    assert table.version == 6


@pytest.mark.matrix
def test_a_clustered_table_refuses_the_second_of_two_at_once(lot) -> None:
    table = lot(PLAIN, layout=Layout(cluster_by=("date",)))
    table.build(day("2024-12-02", 1), day("2024-12-03", 1))

    with ThreadPoolExecutor(2) as threads:
        results = [
            threads.submit(table.build, day(key, number))
            for number in range(3)
            for key in ("2024-12-02", "2024-12-03")
        ]
    failed = [error for each in results if (error := each.exception()) is not None]

    assert all(isinstance(error, ConcurrentWriterError) for error in failed)
    assert table.version == 1 + len(results) - len(failed)
    assert len(table.rows()) == 2
