"""What one partition reads of an input, and which partitions a change concerns."""

from __future__ import annotations

import pytest

from penstock.core.partitions.calendar import DAY, HOUR, instant
from penstock.core.partitions.mapping import (
    At,
    Bound,
    ByGrain,
    Calendar,
    Ceiled,
    Computed,
    Everything,
    Floored,
    Greatest,
    LastDay,
    Least,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
    ceiled,
    downstream,
    floored,
    joined,
    last_day,
    moved,
    spans,
)
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges

HOURS, DAYS, WEEKS, MONTHS, YEARS = (
    Grid(Grain(g)) for g in ("HOUR", "DAY", "WEEK", "MONTH", "YEAR")
)
BUCKETS = Grid(Grain.RANGE, 0, 250, 100)
WHOLE = Grid()


def at(text: str) -> int:
    found = instant(text)
    assert found is not None
    return found


def part(grid: Grid, key: str) -> Span:
    return grid.span(grid.parse(key))


def keys(grid: Grid, ranges: Ranges) -> list[str]:
    return [f"{grid.key(low)}..{grid.key(high)}" for low, high in ranges]


@pytest.mark.parametrize(
    ("mapping", "grid", "low", "high"),
    [
        (Same(), DAYS, "2024-12-04", "2024-12-05"),
        (Calendar("hour"), DAYS, "2024-12-04", "2024-12-05"),
        (Calendar("week"), DAYS, "2024-12-02", "2024-12-09"),
        (Calendar("month"), DAYS, "2024-12-01", "2025-01-01"),
        (Calendar("year"), DAYS, "2024-01-01", "2025-01-01"),
        (Trailing(7), DAYS, "2024-11-28", "2024-12-05"),
        (Trailing(3), MONTHS, "2024-10-01", "2025-01-01"),
        (ByGrain(), MONTHS, "2024-12-01", "2025-01-01"),
        (ByGrain(), HOURS, "2024-12-04", "2024-12-05"),
    ],
)
def test_a_day_reads_a_range(mapping: RangeMapping, grid: Grid, low: str, high: str) -> None:
    assert spans(mapping, part(DAYS, "2024-12-04"), grid) == ((at(low), at(high)),)


def test_a_day_of_calendar_begins_and_ends_with_the_day_that_an_hour_is_in() -> None:
    found = spans(Calendar("day"), part(HOURS, "2024-12-04T10"), HOURS)

    assert found == ((at("2024-12-04"), at("2024-12-05")),)


@pytest.mark.parametrize("mapping", [Same(), Calendar("day"), Trailing(2), ByGrain(), Everything()])
def test_an_input_without_partitions_is_read_whole(mapping: RangeMapping) -> None:
    assert spans(mapping, part(DAYS, "2024-12-04"), WHOLE) == ((FIRST, LAST),)


@pytest.mark.parametrize("mapping", [Same(), Trailing(2), Computed("d", ((Lower(), Upper()),))])
def test_a_model_without_partitions_reads_everything(mapping: RangeMapping) -> None:
    assert spans(mapping, (FIRST, LAST), DAYS) == ((FIRST, LAST),)


def test_the_last_bucket_is_cut_at_the_end_of_the_range() -> None:
    assert spans(ByGrain(), (200, 250), BUCKETS) == ((200, 250),)
    assert spans(Trailing(2), (200, 250), BUCKETS) == ((100, 250),)


def test_computed_ranges_rise_are_apart_and_leave_empty_ones_out() -> None:
    mapping = Computed(
        "date",
        (
            (Lower(), Upper()),
            (Moved(Lower(), micros=-DAY), Lower()),
            (Upper(), Lower()),
            (Moved(Lower(), micros=-9 * DAY), Moved(Lower(), micros=-8 * DAY)),
        ),
    )

    assert spans(mapping, (0, DAY), DAYS) == ((-9 * DAY, -8 * DAY), (-DAY, DAY))


def test_a_computed_range_without_a_position_is_not_read() -> None:
    assert spans(Computed("date", ((Lower(), Lower()),)), (0, DAY), DAYS) == ()
    assert spans(Computed("date", ((Upper(), Lower()),)), (0, DAY), DAYS) == ()


def test_spans_that_meet_become_one() -> None:
    assert joined([(5, 6), (1, 3), (3, 4), (8, 8)]) == ((1, 4), (5, 6))


def test_open_bounds_reach_to_the_first_and_last_position() -> None:
    assert spans(Computed("date", ((None, Upper()),)), (0, DAY), DAYS) == ((FIRST, DAY),)
    assert spans(Computed("date", ((Lower(), None),)), (0, DAY), WHOLE) == ((0, LAST),)


BOUNDS: list[tuple[Bound, str]] = [
    (Lower(), "2024-01-31"),
    (Upper(), "2024-02-01"),
    (At(0), "1970-01-01"),
    (Moved(Lower(), months=1), "2024-02-29"),
    (Moved(Lower(), months=-2, micros=DAY), "2023-12-01"),
    (Moved(Lower(), micros=DAY), "2024-02-01"),
    (Floored(Lower(), "quarter"), "2024-01-01"),
    (Floored(Lower(), "week"), "2024-01-29"),
    (Ceiled(Lower(), "month"), "2024-02-01"),
    (LastDay(Upper()), "2024-02-29"),
    (Least((Lower(), Upper(), At(0))), "1970-01-01"),
    (Greatest((Lower(), Upper())), "2024-02-01"),
]


@pytest.mark.parametrize(("bound", "expected"), BOUNDS)
def test_a_bound_is_evaluated_for_a_partition(bound: Bound, expected: str) -> None:
    found = spans(Computed("d", ((bound, None),)), part(DAYS, "2024-01-31"), DAYS)

    assert found == ((at(expected), LAST),)


def candidates(grid: Grid, first: str, last: str) -> Ranges:
    return ((grid.parse(first), grid.parse(last)),)


def test_a_changed_day_concerns_the_seven_days_that_end_with_it_or_later() -> None:
    below = candidates(DAYS, "2024-11-01", "2024-12-31")

    found = downstream(Trailing(7), DAYS, below, (part(DAYS, "2024-12-03"),), DAYS)

    assert keys(DAYS, found) == ["2024-12-03..2024-12-09"]


@pytest.mark.parametrize(
    ("grid", "first", "last", "expected"),
    [
        (DAYS, "2024-11-01", "2024-12-31", "2024-12-02..2024-12-08"),
        (WEEKS, "2024-11-04", "2024-12-30", "2024-12-02..2024-12-02"),
    ],
)
def test_a_changed_day_concerns_its_week(grid: Grid, first: str, last: str, expected: str) -> None:
    below = candidates(grid, first, last)

    found = downstream(Calendar("week"), grid, below, (part(DAYS, "2024-12-04"),), DAYS)

    assert keys(grid, found) == [expected]


def test_a_changed_month_concerns_its_days_by_grain() -> None:
    below = candidates(DAYS, "2024-11-20", "2024-12-16")

    found = downstream(ByGrain(), DAYS, below, (part(MONTHS, "2024-12"),), MONTHS)

    assert keys(DAYS, found) == ["2024-12-01..2024-12-16"]


def test_any_change_of_an_input_that_is_read_whole_concerns_all() -> None:
    below = candidates(DAYS, "2024-11-20", "2024-12-16")

    assert downstream(Everything(), DAYS, below, ((0, 1),), DAYS) == below
    assert downstream(Everything(), DAYS, below, (), DAYS) == ()


def test_changes_that_only_touch_a_range_do_not_concern_it() -> None:
    below = candidates(DAYS, "2024-12-01", "2024-12-09")
    changed = (part(DAYS, "2024-12-02"), part(DAYS, "2024-12-06"), (at("2025-01-01"), LAST))

    assert keys(DAYS, downstream(Same(), DAYS, below, changed, DAYS)) == [
        "2024-12-02..2024-12-02",
        "2024-12-06..2024-12-06",
    ]


def test_units_are_floored_and_ceiled_before_1970_too() -> None:
    place = at("1969-12-31 23:30:00")

    assert floored(place, "hour") == -HOUR
    assert ceiled(place, "hour") == 0
    assert floored(place, "week") == at("1969-12-29")
    assert floored(place, "year") == at("1969-01-01")
    assert ceiled(place, "month") == 0
    assert last_day(at("1900-02-10 10:00:00")) == at("1900-02-28")
    assert moved(at("2024-03-31 12:00:00"), -1, 1) == at("2024-02-29 12:00:00") + 1
    assert moved(place, 0, 7) == place + 7
