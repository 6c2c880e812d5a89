"""The one statement that replaces a range of partitions."""

from dataclasses import replace as changed

import pytest

from fakes.lake import columns
from penstock.core.columns.schema import Column, Schema
from penstock.core.statement import Commit
from penstock.strategies.partition import PartitionTable, Slice, replace

DAY = 86_400_000_000
FIRST = 20_059 * DAY  # 2024-12-02
SECOND = Slice("SELECT 1", ((FIRST, FIRST + DAY),), "2024-12-02")
THIRD = Slice("SELECT 2 -- why", ((FIRST + DAY, FIRST + 2 * DAY),), "2024-12-03")
TABLE = PartitionTable(
    target="delta.`/w/a/daily`",
    name="a.daily",
    field="date",
    kind="date",
    columns=columns("date date, n bigint, events bigint"),
    declared=Schema((Column("date", "date"), Column("n", "bigint", nullable=False))),
    described=columns("N int, Date date"),
    spans=((FIRST, FIRST + 2 * DAY),),
)


def branch(piece: Slice, first: str, last: str) -> str:
    """The rows of one slice, as they should be."""
    return (
        f"SELECT CASE WHEN `Date` >= DATE '{first}' AND `Date` < DATE '{last}' THEN `Date` "
        "ELSE raise_error(concat('penstock:', 'row-outside-partition: ', "
        f"'a.daily {first}: the query returned date = ', coalesce(CAST(`Date` AS STRING), 'NULL')"
        ")) END AS `date`, "
        "CASE WHEN CAST(`N` AS bigint) IS NULL THEN "
        "raise_error(concat('penstock:', 'null-in-required-column: ', "
        f"'a.daily {first}: column \\'n\\' is REQUIRED and NULL in a row')) "
        "ELSE CAST(`N` AS bigint) END AS `n`, "
        f"CAST(NULL AS bigint) AS `events` FROM (\n{piece.sql}\n)"
    )


def test_a_batch_is_one_statement_with_a_guard_per_partition() -> None:
    work = replace(TABLE, (SECOND, THIRD))

    assert work.stages == ()
    assert work.decide({}) == Commit(
        "INSERT WITH SCHEMA EVOLUTION INTO delta.`/w/a/daily` BY NAME REPLACE WHERE "
        "`date` >= DATE '2024-12-02' AND `date` < DATE '2024-12-04' "
        f"{branch(SECOND, '2024-12-02', '2024-12-03')} UNION ALL "
        f"{branch(THIRD, '2024-12-03', '2024-12-04')}",
        {
            "spark.sql.ansi.enabled": "true",
            "spark.sql.storeAssignmentPolicy": "ANSI",
            "spark.sql.sources.partitionOverwriteMode": "static",
        },
    )


def test_a_version_without_declared_columns_takes_what_the_query_gives() -> None:
    free = changed(TABLE, declared=Schema(), described=columns("date date, n bigint"))

    commit = replace(free, (SECOND,)).decide({})

    assert commit is not None
    assert "`n` AS `n`, CAST(NULL AS bigint) AS `events` FROM" in commit.sql


def test_bounds_are_literals_of_the_fields_type() -> None:
    by_number = changed(
        TABLE,
        field="k",
        kind="int",
        columns=columns("k int"),
        declared=Schema(),
        spans=((-100, 0),),
    )
    by_number = changed(by_number, described=columns("k int"))

    commit = replace(by_number, (Slice("SELECT -1 AS k", ((-100, 0),), "-100"),)).decide({})

    assert commit is not None
    assert "REPLACE WHERE `k` >= (-100) AND `k` < 0 SELECT CASE WHEN `k` >= (-100)" in commit.sql


def test_a_column_that_the_table_would_not_have_is_no_silent_loss() -> None:
    more = changed(TABLE, described=columns("date date, n bigint, extra int"))

    with pytest.raises(ValueError, match=r"a.daily would lose the columns \['extra'\]"):
        replace(more, (SECOND,))
