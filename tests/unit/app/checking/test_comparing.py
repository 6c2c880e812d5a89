"""Which earlier values a group is compared with."""

import datetime as dt

import pytest

from fakes.check_inputs import DAYS, a_check, a_check_inputs
from penstock.app.checking.comparing import basis_of
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.results import CheckedRows
from penstock.core.check_results import ValuesBefore
from penstock.core.checks.check_type import CheckStatus
from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Severity
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.statement import OBSERVED_ROWS
from penstock.strategies.checks.queries import GROUP
from penstock.strategies.checks.types import Anomaly, RowCount

COLUMNS = Schema((Column("date", "date"), Column("n", "bigint")))
KEYED = CheckedRows("SELECT * FROM s", COLUMNS, "CAST(`date` AS STRING)")
USUAL = a_check(Anomaly(None, min_history=2, last=3))


class Counting:
    """A session in which each group has so many rows."""

    def __init__(self, **rows):
        self.counts = rows

    def describe(self, sql):
        return COLUMNS

    def rows(self, sql):
        return tuple(
            {GROUP: "*" if name == "whole" else name.replace("_", "-")[1:], OBSERVED_ROWS: count}
            for name, count in self.counts.items()
        )


def a(value):
    """Give a recorded value."""
    return {"value": str(value), "basis": ""}


def days(**values):
    """Give earlier values of days: `_05=10` of 2024-12-05."""
    numbers = {DAYS.parse(f"2024-12-{day[1:]}"): a(n) for day, n in values.items()}
    return ValuesBefore(numbers)


def results(session, *keys, before, check=USUAL, grid=DAYS, rows=KEYED, more=()):
    at = a_check_inputs(rows, *keys, grid=grid, earlier={check.name: before})
    found, *_ = evaluate(session, [check, *more], at)
    return [(value.group, value.message) for value in found.values], found


def rows_of(**counts):
    return Counting(**{f"_2024_12{day}": n for day, n in counts.items()})


def medians(found):
    return {value.group: value.values.get("median") for value in found.values}


def test_a_partition_is_compared_with_its_nearest_neighbours_and_never_with_itself():
    before = days(_01=1, _02=20, _03=30, _04=999, _05=50, _06=60, _20=1)

    _, found = results(rows_of(_04=40), "2024-12-04", before=before)

    assert found.values[0].values == {
        "rows": "40", "value": "40", "earlier": "3", "median": "30",
        "low": found.values[0].values["low"], "high": found.values[0].values["high"], "basis": "",
    }  # fmt: skip
    # 03 and 05 are next to it; of 02 and 06, which are as far, the earlier one


def test_weekdays_are_compared_with_the_same_weekday():
    before = days(_01=900, _02=20, _03=900, _09=22, _15=900, _16=21, _22=900)
    check = a_check(Anomaly(None, min_history=2, last=9, same_weekday=True))

    _, found = results(rows_of(_23=21), "2024-12-23", before=before, check=check)

    assert medians(found) == {"2024-12-23": "21"}


def test_hours_are_compared_with_the_same_hour_of_that_weekday():
    grid = Grid(Grain.HOUR)
    hour = grid.parse("2024-12-23T07")
    before = ValuesBefore({hour - 168 * n: a(5) for n in (1, 2)}
                          | {hour - 24: a(900), hour - 1: a(900)})  # fmt: skip
    check = a_check(Anomaly(None, min_history=2, last=9, same_weekday=True))

    session = Counting(_2024_12_23T07=5)
    _, found = results(session, "2024-12-23T07", before=before, check=check, grid=grid)

    assert medians(found) == {"2024-12-23T07": "5"}


def test_partitions_of_one_step_are_compared_as_if_each_had_its_own():
    session = rows_of(_01=10, _02=10, _03=10, _04=90, _05=10)
    keys = [f"2024-12-0{day}" for day in range(1, 6)]

    messages, found = results(session, *keys, before=ValuesBefore())

    assert [text.split(",")[0] for _, text in messages] == [
        "rows 10", "rows 10", "rows 10", "rows 90 > 13.5", "rows 10",
    ]  # fmt: skip
    assert messages[0][1] == "rows 10, not compared: 0 earlier values, 2 needed"
    assert found.partitions == ("2024-12-04",)
    assert medians(found)["2024-12-05"] == "10"  # 04 failed a gate, and is not compared with


def test_what_fails_another_gate_is_not_compared_with():
    session = rows_of(_01=10, _02=10, _03=500, _04=10)
    keys = [f"2024-12-0{day}" for day in range(1, 5)]
    few = a_check(RowCount(None, 100), name="few")
    warns = a_check(Anomaly(None, min_history=2, last=1 + 1), severity=Severity.WARNING)

    _, alone = results(session, *keys, before=ValuesBefore(), check=warns)
    _, gated = results(session, *keys, before=ValuesBefore(), check=warns, more=(few,))

    assert medians(alone)["2024-12-04"] == "255"
    assert medians(gated)["2024-12-04"] == "10"


def test_another_measure_or_other_rows_are_another_history():
    before = days(_01=10, _02=10, _03=10)
    marked = ValuesBefore({at: {**v, "basis": "b"} for at, v in before.by_partition.items()},
                          basis="b")  # fmt: skip
    session = rows_of(_04=10)

    assert results(session, "2024-12-04", before=marked)[1].values[0].values["earlier"] == "3"
    other = ValuesBefore(marked.by_partition, basis="c")
    assert results(session, "2024-12-04", before=other)[1].values[0].values["earlier"] == "0"
    assert basis_of(USUAL, DAYS) == basis_of(a_check(Anomaly(None, min_history=9)), DAYS)
    assert basis_of(USUAL, DAYS) != basis_of(a_check(Anomaly(None), where="n > 1"), DAYS)
    assert basis_of(USUAL, DAYS) != basis_of(USUAL, Grid(Grain.WEEK))


@pytest.mark.parametrize(("weekday", "median"), [(False, "10"), (True, "20")])
def test_a_whole_table_is_compared_with_its_newest_steps(weekday, median):
    thursday = dt.datetime(2024, 11, 28, 3, tzinfo=dt.UTC)  # as the run is
    recent = [(thursday + dt.timedelta(days=n), a(10)) for n in (6, 5, 4)]
    recent += [(thursday - dt.timedelta(weeks=n), a(20)) for n in range(3)]
    check = a_check(Anomaly(None, min_history=2, last=3, same_weekday=weekday))
    whole = CheckedRows("SELECT * FROM s", COLUMNS)
    before = ValuesBefore(recent=tuple(recent))

    _, found = results(Counting(whole=10), before=before, check=check, grid=Grid(), rows=whole)

    assert medians(found) == {"*": median}


def test_partitions_without_a_value_are_no_neighbours():
    before = ValuesBefore({DAYS.parse("2024-12-01"): {"value": None},
                           DAYS.parse("2024-12-02"): {"rows": "5"}})  # fmt: skip

    messages, found = results(rows_of(_04=10), "2024-12-04", before=before)

    assert messages[0][1] == "rows 10, not compared: 0 earlier values, 2 needed"
    assert found.status is CheckStatus.PASSED
