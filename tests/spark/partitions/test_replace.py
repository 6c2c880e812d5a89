"""One range of partitions replaced."""

import datetime as dt

import pytest

from penstock.core.errors import DataError
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.strategy import Layout
from penstock.strategies.partition import Partition
from spark.partitions.conftest import day, schema

PLAIN = "date date, n bigint"
CLUSTERED = Layout(cluster_by=("date",))
D = dt.date


def test_a_row_outside_its_partition_fails_the_step_and_nothing_is_committed(lot) -> None:
    table = lot(PLAIN)
    outside = "SELECT DATE '2024-12-05' AS date, 1L AS n"
    nowhere = "SELECT CAST(NULL AS DATE) AS date, 1L AS n"
    told = []

    for queries in (
        [("2024-12-02", outside)],
        [("2024-12-02", outside), day("2024-12-05", 1)],
        [("2024-12-02", nowhere)],
    ):
        with pytest.raises(DataError) as caught:
            table.build(*queries)
        told.append(caught.value)

    assert [(error.code, error.sentence, error.hint) for error in told] == [
        (
            "row-outside-partition",
            f"s.daily 2024-12-02: the query returned date = {found}",
            "filter the query by @partition_date",
        )
        for found in ("2024-12-05", "2024-12-05", "NULL")
    ]
    assert table.version == 0


@pytest.mark.matrix
def test_an_hour_ends_before_the_next_begins(lot) -> None:
    hour = Partition("ts", "timestamp", Grid(Grain.HOUR))
    table = lot("ts timestamp, n int", layout=Layout(cluster_by=("ts",)), by=hour)
    table.sql(
        "INSERT INTO {t} VALUES (TIMESTAMP '2024-06-15T10:00:00Z', 1), "
        "(TIMESTAMP '2024-06-15T10:59:59.999999Z', 2), (TIMESTAMP '2024-06-15T11:00:00Z', 3)"
    )

    table.build(("2024-06-15T10", "SELECT TIMESTAMP '2024-06-15T10:30:00Z' AS ts, 4 AS n"))

    assert table.sql("SELECT CAST(ts AS STRING), n FROM {t} ORDER BY 1") == [
        ("2024-06-15 10:30:00", 4),
        ("2024-06-15 11:00:00", 3),
    ]


@pytest.mark.matrix
def test_the_same_holds_for_times_without_a_zone(lot) -> None:
    hour = Partition("ts", "timestamp_ntz", Grid(Grain.HOUR))
    table = lot("ts timestamp_ntz, n int", layout=Layout(cluster_by=("ts",)), by=hour)
    table.sql(
        "INSERT INTO {t} VALUES (TIMESTAMP_NTZ '2024-06-15 10:59:59.999999', 2), "
        "(TIMESTAMP_NTZ '2024-06-15 11:00:00', 3)"
    )

    table.build(("2024-06-15T10", "SELECT TIMESTAMP_NTZ '2024-06-15 10:30:00' AS ts, 4 AS n"))

    assert table.sql("SELECT CAST(ts AS STRING), n FROM {t} ORDER BY 1") == [
        ("2024-06-15 10:30:00", 4),
        ("2024-06-15 11:00:00", 3),
    ]


@pytest.mark.matrix
def test_a_range_holds_its_lower_bound_and_not_its_upper(lot) -> None:
    hundreds = Partition("k", "int", Grid(Grain.RANGE, 0, 300, 100))
    table = lot("k int, n int", layout=Layout(cluster_by=("k",)), by=hundreds)
    table.sql("INSERT INTO {t} VALUES (99, 1), (100, 1), (150, 1), (199, 1), (200, 1)")

    table.build(("100", "SELECT 120 AS k, 2 AS n"))

    assert table.rows() == [(99, 1), (120, 2), (200, 1)]


@pytest.mark.matrix
def test_a_month_keeps_the_days_beside_it(lot) -> None:
    month = Partition("date", "date", Grid(Grain.MONTH))
    table = lot(PLAIN, layout=CLUSTERED, by=month)
    table.sql(
        "INSERT INTO {t} VALUES (DATE '2024-01-31', 1), (DATE '2024-02-01', 2), "
        "(DATE '2024-02-29', 3), (DATE '2024-03-01', 4)"
    )

    table.build(("2024-02", "SELECT DATE '2024-02-10' AS date, 9L AS n"))

    assert table.rows() == [(D(2024, 1, 31), 1), (D(2024, 2, 10), 9), (D(2024, 3, 1), 4)]


@pytest.mark.parametrize(
    "layout",
    [Layout(partition_by=("date",)), pytest.param(CLUSTERED, marks=pytest.mark.matrix)],
)
def test_columns_go_by_name_whatever_their_order_and_case(lot, layout) -> None:
    table = lot("date date, unique_users bigint, events bigint", layout=layout)
    query = """\
        SELECT COUNT(*) AS events, COUNT(DISTINCT user) AS UNIQUE_USERS, Date
        FROM VALUES ('u1', DATE '2024-12-02'), ('u2', DATE '2024-12-02'), (NULL, DATE '2024-12-02')
          AS raw(user, Date)
        GROUP BY Date"""

    table.build(("2024-12-02", query))

    assert table.rows() == [(D(2024, 12, 2), 2, 3)]
    assert table.facts.schema.names == ("date", "unique_users", "events")


def test_a_batch_leaves_the_rows_of_single_runs_in_one_commit(lot) -> None:
    singles, batch = lot(PLAIN), lot(PLAIN, folder="batch")
    days = [day("2024-12-02", 1, 2), day("2024-12-03"), day("2024-12-04", 3)]

    for each in days:
        singles.build(each)
    batch.build(*days)

    assert (
        batch.rows() == singles.rows() == [(D(2024, 12, d), n) for d, n in ((2, 1), (2, 2), (4, 3))]
    )
    assert (batch.version, singles.version) == (1, 2)


def test_partitions_of_the_step_without_a_query_are_emptied(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1), day("2024-12-03", 2), day("2024-12-04", 3))

    table.build(day("2024-12-03", 7), whole="2024-12-02")

    assert table.rows() == [(D(2024, 12, 3), 7), (D(2024, 12, 4), 3)]


def test_an_emptied_partition_is_one_commit_and_an_empty_one_none(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1), day("2024-12-03", 2))

    table.build(day("2024-12-02"))
    emptied = table.version
    table.build(day("2024-12-02"))

    assert (emptied, table.version) == (2, 2)
    assert table.rows() == [(D(2024, 12, 3), 2)]
    assert [(c.step, c.changes_data, c.row_change) for c in table.commits(1)] == [
        ("step", True, -1)
    ]


def test_files_of_other_partitions_stay_and_the_commit_tells_its_rows(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1), day("2024-12-03", 2, 3), day("2024-12-04", 4))
    before = table.file_names()

    table.build(day("2024-12-03", 5))

    (commit,) = table.commits(1)
    assert len(before & table.file_names()) == 2
    assert (commit.operation, commit.metrics["numRemovedFiles"]) == ("WRITE", 1)
    assert [commit.metrics[m] for m in ("numOutputRows", "numCopiedRows", "numDeletedRows")] == [
        1,
        0,
        2,
    ]


def test_a_query_may_end_in_a_comment(lot) -> None:
    table = lot(PLAIN)
    commented = "SELECT DATE '2024-12-02' AS date, 1L AS n -- the end"
    columns = schema(PLAIN)

    table.commit(
        table.statement([("2024-12-02", commented), day("2024-12-03", 2)], columns, columns)
    )

    assert table.rows() == [(D(2024, 12, 2), 1), (D(2024, 12, 3), 2)]
