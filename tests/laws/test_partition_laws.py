"""Keys are read back, partitions touch, and every value lies in exactly one."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.partitions import calendar
from penstock.core.partitions.partition import Grain, Grid, overlapping, read_ranges, write_ranges
from penstock.core.partitions.ranges import merged

TIME = st.sampled_from([Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR])
GRIDS = st.one_of(
    TIME.map(Grid),
    st.builds(
        lambda start, length, interval: Grid(Grain.RANGE, start, start + length, interval),
        st.integers(-(2**40), 2**40),
        st.integers(1, 2**40),
        st.integers(1, 2**20),
    ),
    st.just(Grid()),
)


@st.composite
def partitions(draw):
    """Give a grid and one of its partitions."""
    grid = draw(GRIDS)
    return grid, draw(st.integers(*grid.domain))


@st.composite
def values(draw):
    """Give a grid and a position that its partition field may have."""
    grid = draw(GRIDS)
    first, last = grid.domain
    return grid, draw(st.integers(grid.lower(first), grid.upper(last) - 1))


@given(partitions())
def test_a_key_is_read_back(case):
    grid, number = case

    assert grid.parse(grid.key(number)) == number
    assert grid.bound(grid.key(number), last=False) == number


@given(partitions())
def test_a_partition_ends_where_the_next_one_begins(case):
    grid, number = case
    lower, upper = grid.span(number)

    assert lower < upper
    if number < grid.domain[1]:
        assert upper == grid.lower(number + 1)


@given(values())
def test_every_value_lies_in_exactly_one_partition(case):
    grid, value = case
    number = grid.at(value)
    lower, upper = grid.span(number)

    assert lower <= value < upper
    assert overlapping(grid, ((value, value + 1),)) == ((number, number),)


@given(partitions(), st.integers(0, 40), st.integers(0, 10**12), st.integers(1, 10**12))
def test_a_span_overlaps_exactly_the_partitions_that_share_a_position(case, count, start, length):
    grid, number = case
    low = grid.lower(number) + start
    spans = ((low, low + length),)
    near = range(max(number - 1, grid.domain[0]), min(number + count, grid.domain[1]) + 1)

    found = overlapping(grid, spans)

    for each in near:
        lower, upper = grid.span(each)
        shares = max(lower, low) < min(upper, low + length)
        assert any(first <= each <= last for first, last in found) == shares


@given(GRIDS, st.data())
def test_ranges_of_keys_are_read_back(grid, data):
    ends = st.integers(*grid.domain)
    ranges = merged(data.draw(st.lists(st.tuples(ends, ends), max_size=5)))

    assert read_ranges(grid, write_ranges(grid, ranges)) == ranges


@given(TIME.map(Grid), st.dates(max_value=dt.date(9999, 12, 28)), st.integers(0, 3))
def test_days_select_the_partitions_that_hold_them(grid, first, more):
    last = first + dt.timedelta(days=more)
    days = [first + dt.timedelta(days=n) for n in range(more + 1)]

    held = grid.holding(first, last)

    each = merged(
        (grid.bound(str(day), last=False), grid.bound(str(day), last=True)) for day in days
    )
    assert (held,) == each


@given(st.dates())
def test_days_are_counted_as_python_counts_them(date):
    number = date.toordinal() - dt.date(1970, 1, 1).toordinal()

    assert calendar.day_number(date.year, date.month, date.day) == number
    assert calendar.civil(number) == (date.year, date.month, date.day)
    assert calendar.written_day(number) == date.isoformat()
    assert calendar.day_within(date.year, date.month, date.day) == number


@given(st.integers(-(10**8), 10**8))
def test_days_of_any_year_are_read_back(number):
    assert calendar.day_number(*calendar.civil(number)) == number
