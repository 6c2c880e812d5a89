"""Rows of an input by the partitions that read them, as SQL."""

import pytest

from penstock.core.columns.schema import Column
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid
from penstock.strategies.checks.queries import KEY, ranged

DAY = Grid(Grain.DAY)
AT = Column("at", "timestamp")
ONE, TWO = DAY.parse("2024-12-01"), DAY.parse("2024-12-02")
LOW = "TIMESTAMP '2024-12-01T00:00:00.000000Z'"
HIGH = "TIMESTAMP '2024-12-02T00:00:00.000000Z'"
LATER = "TIMESTAMP '2024-12-03T00:00:00.000000Z'"


@pytest.mark.parametrize(
    ("column", "pieces", "where"),
    [
        (AT, (DAY.span(ONE),), f" WHERE (`at` >= {LOW} AND `at` < {HIGH})"),
        (AT, ((FIRST, DAY.upper(ONE)),), f" WHERE (`at` < {HIGH})"),
        (AT, ((DAY.lower(ONE), LAST),), f" WHERE (`at` >= {LOW})"),
        (AT, (DAY.span(ONE), (FIRST, LAST)), ""),
        (AT, (), " WHERE false"),
        (None, (DAY.span(ONE),), ""),
    ],
    ids=["both ends", "no low", "no high", "all", "nothing", "no column"],
)
def test_what_one_partition_reads_is_a_condition(column, pieces, where):
    found = ranged("in", column, {"2024-12-01": pieces})

    assert found == f"SELECT *, '2024-12-01' AS {KEY} FROM `in`{where}"


def test_what_several_partitions_read_is_joined_so_that_a_row_can_stand_there_twice():
    spans = {
        "2024-12-01": (DAY.span(ONE), (DAY.lower(TWO), LAST)),
        "2024-12-02": (DAY.span(TWO),),
    }

    assert ranged("in", AT, spans) == (
        f"SELECT r.*, g.{KEY} FROM `in` r JOIN (SELECT * FROM VALUES "
        f"('2024-12-01', {LOW}, {HIGH}), ('2024-12-01', {HIGH}, NULL), "
        f"('2024-12-02', {HIGH}, {LATER}) AS g({KEY}, `_ps_low`, `_ps_high`)) g ON "
        "(g.`_ps_low` IS NULL OR r.`at` >= g.`_ps_low`) "
        "AND (g.`_ps_high` IS NULL OR r.`at` < g.`_ps_high`)"
    )


def test_partitions_that_read_nothing_have_no_rows():
    assert ranged("in", AT, {"2024-12-01": (), "2024-12-02": ()}) == (
        f"SELECT *, '' AS {KEY} FROM `in` WHERE false"
    )
