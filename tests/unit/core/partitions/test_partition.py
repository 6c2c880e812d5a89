"""Partitions: keys as they are written, bounds, and the values that lie between them."""

import datetime as dt

import pytest

from penstock.core.errors import UsageError
from penstock.core.partitions.partition import (
    FIRST,
    LAST,
    Grain,
    Grid,
    has_positions,
    key_pairs,
    literal_at,
    overlapping,
    position,
    read_grid,
    read_ranges,
    shown_ranges,
    write_grid,
    write_ranges,
)
from penstock.core.partitions.ranges import numbers

HOUR, DAY, WEEK, MONTH, YEAR, WHOLE = (
    Grid(Grain(name)) for name in ("HOUR", "DAY", "WEEK", "MONTH", "YEAR", "*")
)
HUNDREDS = Grid(Grain.RANGE, 0, 300, 100)
CUT = Grid(Grain.RANGE, 0, 250, 100)
BELOW_ZERO = Grid(Grain.RANGE, -200, 0, 100)


def micros(text):
    """Return the position of an instant that Python can read."""
    since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)  # noqa: DTZ001  # both UTC
    return since // dt.timedelta(microseconds=1)


def refusal(read, *args, **kwargs):
    with pytest.raises(UsageError) as caught:
        read(*args, **kwargs)
    assert (caught.value.code, caught.value.exit_code) == ("invalid-partition", 2)
    return str(caught.value)


@pytest.mark.parametrize(
    ("grid", "text", "number", "key"),
    [
        (HOUR, "2024-06-15T10", 477_346, "2024-06-15T10"),
        (HOUR, "2024-06-15 10", 477_346, "2024-06-15T10"),
        (HOUR, "2024-06-15T10:00", 477_346, "2024-06-15T10"),
        (HOUR, "2024-06-15T10:00:00", 477_346, "2024-06-15T10"),
        (HOUR, "1969-12-31T23", -1, "1969-12-31T23"),
        (DAY, "2024-06-15", 19_889, "2024-06-15"),
        (DAY, "0001-01-01", -719_162, "0001-01-01"),
        (DAY, "9999-12-31", 2_932_896, "9999-12-31"),
        (WEEK, "2024-06-10", 2840, "2024-06-10"),
        (WEEK, "2024-W24", 2840, "2024-06-10"),
        (WEEK, "2025-W01", 2869, "2024-12-30"),
        (WEEK, "2020-W53", 2660, "2020-12-28"),
        (WEEK, "1970-01-05", 0, "1970-01-05"),
        (MONTH, "2024-06", 24_293, "2024-06"),
        (MONTH, "2024-6", 24_293, "2024-06"),
        (MONTH, "1969-12", 23_639, "1969-12"),
        (YEAR, "2024", 2024, "2024"),
        (YEAR, "1", 1, "0001"),
        (YEAR, "9999", 9999, "9999"),
        (HUNDREDS, "0", 0, "0"),
        (HUNDREDS, "100", 1, "100"),
        (HUNDREDS, "200", 2, "200"),
        (BELOW_ZERO, "-200", 0, "-200"),
        (BELOW_ZERO, "-100", 1, "-100"),
        (WHOLE, "*", 0, "*"),
    ],
)
def test_every_form_is_read_and_printed_in_its_canonical_form(grid, text, number, key):
    assert (grid.parse(text), grid.key(number)) == (number, key)


@pytest.mark.parametrize(
    ("grid", "text", "sentence"),
    [
        (
            MONTH,
            "2024-13",
            "'2024-13' is not a MONTH partition: month must be 1 to 12, got 13. Expected YYYY-MM.",
        ),
        (
            HOUR,
            "2024-06-15T10:30",
            (
                "'2024-06-15T10:30' is not an HOUR partition: minutes must be 00. "
                "Expected YYYY-MM-DDTHH."
            ),
        ),
        (
            WEEK,
            "2024-06-11",
            "'2024-06-11' is not a WEEK partition: it is a Tuesday. Did you mean 2024-06-10?",
        ),
        (DAY, "2024/06/15", "'2024/06/15' is not a DAY partition. Expected YYYY-MM-DD."),
        (
            HUNDREDS,
            "150",
            "'150' is not a RANGE partition: it lies inside the one that starts at 100.",
        ),
        (
            HUNDREDS,
            "300",
            "'300' is not a RANGE partition: the range is 0 to 300, end excluded.",
        ),
    ],
)
def test_each_of_the_six_messages_names_value_grain_and_form(grid, text, sentence):
    assert refusal(grid.parse, text) == sentence


@pytest.mark.parametrize(
    ("grid", "text", "rest"),
    [
        (HOUR, "2024-06-15T24", "an HOUR partition: hour must be 0 to 23, got 24. Expected YYYY-"),
        (HOUR, "2024-06-15T10:00:01", "an HOUR partition: seconds must be 00. Expected YYYY-"),
        (HOUR, "2024-06-15", "an HOUR partition. Expected YYYY-MM-DDTHH."),
        (DAY, "2023-02-29", "a DAY partition: day must be 1 to 28, got 29. Expected YYYY-MM-DD."),
        (DAY, "2024-12-32", "a DAY partition: day must be 1 to 31, got 32. Expected YYYY-MM-DD."),
        (DAY, "0000-01-01", "a DAY partition: year must be 1 to 9999, got 0. Expected YYYY-MM"),
        (DAY, " 2024-06-15", "a DAY partition. Expected YYYY-MM-DD."),
        (DAY, "\N{FULLWIDTH DIGIT TWO}024-06-15", "a DAY partition. Expected YYYY-MM-DD."),
        (WEEK, "2024-W53", "a WEEK partition: week must be 1 to 52, got 53. Expected YYYY-MM-DD."),
        (MONTH, "2024-0", "a MONTH partition: month must be 1 to 12, got 0. Expected YYYY-MM."),
        (YEAR, "10000", "a YEAR partition: year must be 1 to 9999, got 10000. Expected YYYY."),
        (YEAR, "-1", "a YEAR partition. Expected YYYY."),
        (HUNDREDS, "x", "a RANGE partition. Expected an integer."),
        (HUNDREDS, "-100", "a RANGE partition: the range is 0 to 300, end excluded."),
        (WHOLE, "2024", "a * partition. Expected *."),
        (WHOLE, "", "a * partition. Expected *."),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(grid, text, rest):
    assert refusal(grid.parse, text).startswith(f"'{text}' is not {rest}")


@pytest.mark.parametrize(
    ("grid", "first", "last", "count"),
    [
        (DAY, "2024-06-28", "2024-07-02", 5),
        (MONTH, "2024-10", "2025-02", 5),
        (YEAR, "2022", "2025", 4),
    ],
)
def test_neighbours_are_counted_across_months_and_years(grid, first, last, count):
    assert grid.parse(last) - grid.parse(first) + 1 == count


def test_the_hour_after_the_last_one_of_a_day_is_in_the_next():
    assert HOUR.key(HOUR.parse("2024-06-15T23") + 1) == "2024-06-16T00"


def test_february_of_a_leap_year_ends_where_march_begins():
    assert MONTH.upper(MONTH.parse("2024-02")) == micros("2024-03-01")


def test_the_first_iso_week_of_a_year_may_begin_in_the_year_before():
    assert WEEK.key(WEEK.parse("2025-W01")) == "2024-12-30"


@pytest.mark.parametrize(
    ("grid", "key", "lower", "upper"),
    [
        (HOUR, "2024-06-15T10", micros("2024-06-15T10:00"), micros("2024-06-15T11:00")),
        (DAY, "1969-12-31", micros("1969-12-31"), 0),
        (WEEK, "2024-06-10", micros("2024-06-10"), micros("2024-06-17")),
        (MONTH, "2024-12", micros("2024-12-01"), micros("2025-01-01")),
        (YEAR, "9999", micros("9999-01-01"), micros("9999-12-31") + 86_400_000_000),
        (CUT, "200", 200, 250),
        (BELOW_ZERO, "-100", -100, 0),
        (WHOLE, "*", FIRST, LAST),
    ],
)
def test_the_bounds_of_a_partition_are_half_open(grid, key, lower, upper):
    assert grid.span(grid.parse(key)) == (lower, upper)


@pytest.mark.parametrize(
    ("grid", "key", "date"),
    [
        (HOUR, "2024-06-15T23", dt.date(2024, 6, 15)),
        (WEEK, "2024-W24", dt.date(2024, 6, 10)),
        (MONTH, "2024-06", dt.date(2024, 6, 1)),
        (YEAR, "1", dt.date(1, 1, 1)),
    ],
)
def test_the_date_of_a_partition_is_that_of_its_lower_bound(grid, key, date):
    assert grid.date(grid.parse(key)) == date


@pytest.mark.parametrize("grid", [HUNDREDS, WHOLE])
def test_partitions_without_time_have_no_date(grid):
    with pytest.raises(ValueError, match="have no date"):
        grid.date(0)


@pytest.mark.parametrize(
    ("grid", "keys"),
    [
        (HOUR, ("2024-06-30T00..2024-07-01T23",)),
        (DAY, ("2024-06-30..2024-07-01",)),
        (WEEK, ("2024-06-24..2024-07-01",)),
        (MONTH, ("2024-06..2024-07",)),
        (YEAR, ("2024",)),
        (WHOLE, ("*",)),
    ],
)
def test_days_select_the_partitions_that_they_overlap(grid, keys):
    held = grid.holding(dt.date(2024, 6, 30), dt.date(2024, 7, 1))

    assert write_ranges(grid, (held,)) == keys


def test_days_that_end_before_they_begin_select_nothing():
    low, high = MONTH.holding(dt.date(2024, 6, 20), dt.date(2024, 6, 10))

    assert low > high


def test_integers_are_no_days():
    with pytest.raises(ValueError, match="RANGE partitions hold no days"):
        HUNDREDS.holding(dt.date(2024, 1, 1), dt.date(2024, 1, 1))


@pytest.mark.parametrize(
    ("grid", "text", "first", "last"),
    [
        (HOUR, "2024-06-15", "2024-06-15T00", "2024-06-15T23"),
        (HOUR, "2024-06-15 10", "2024-06-15T10", "2024-06-15T10"),
        (DAY, "2024-06-15", "2024-06-15", "2024-06-15"),
        (WEEK, "2024-06-15", "2024-06-10", "2024-06-10"),
        (WEEK, "2024-W24", "2024-06-10", "2024-06-10"),
        (MONTH, "2024-06-15", "2024-06", "2024-06"),
        (MONTH, "2024-6", "2024-06", "2024-06"),
        (YEAR, "2024-06-15", "2024", "2024"),
        (HUNDREDS, "150", "100", "100"),
        (CUT, "249", "200", "200"),
        (WHOLE, "2024-06-15", "*", "*"),
        (WHOLE, "*", "*", "*"),
        (WHOLE, "100", "*", "*"),
    ],
)
def test_a_bound_is_a_key_or_what_lies_in_a_partition(grid, text, first, last):
    bounds = grid.bound(text, last=False), grid.bound(text, last=True)

    assert tuple(map(grid.key, bounds)) == (first, last)


@pytest.mark.parametrize(
    ("grid", "text", "rest"),
    [
        (DAY, "2024-06", "a DAY partition. Expected YYYY-MM-DD."),
        (
            MONTH,
            "2024-02-30",
            "a MONTH partition: day must be 1 to 29, got 30. Expected YYYY-MM.",
        ),
        (HUNDREDS, "2024-06-15", "a RANGE partition. Expected an integer."),
        (HUNDREDS, "300", "a RANGE partition: the range is 0 to 300, end excluded."),
        (WHOLE, "soon", "a * partition. Expected *."),
    ],
)
def test_a_bound_that_selects_nothing_is_refused(grid, text, rest):
    assert refusal(grid.bound, text, last=True) == f"'{text}' is not {rest}"


def test_only_time_has_no_last_partition():
    assert (CUT.last_number, BELOW_ZERO.last_number, WHOLE.last_number) == (2, 1, 0)
    assert Grid(Grain.RANGE, 0, 201, 100).last_number == 2
    with pytest.raises(ValueError, match="DAY has no last partition"):
        _ = DAY.last_number


@pytest.mark.parametrize(
    ("grid", "spans", "keys"),
    [
        (DAY, ((micros("2024-06-15T23:00"), micros("2024-06-16")),), ("2024-06-15",)),
        (DAY, ((micros("2024-06-15"), micros("2024-06-15")),), ()),
        (DAY, ((FIRST, micros("0001-01-03")),), ("0001-01-01..0001-01-02",)),
        (HOUR, ((FIRST, LAST),), ("0001-01-01T00..9999-12-31T23",)),
        (WEEK, ((FIRST, LAST),), ("0001-01-01..9999-12-27",)),
        (MONTH, ((0, 1), (micros("1970-02-01"), LAST)), ("1970-01..9999-12",)),
        (YEAR, ((FIRST, LAST),), ("0001..9999",)),
        (CUT, ((FIRST, 1), (249, LAST)), ("0", "200")),
        (CUT, ((250, 300), (-9, 0)), ()),
        (WHOLE, ((5, 6),), ("*",)),
        (WHOLE, (), ()),
    ],
)
def test_spans_overlap_partitions_of_the_domain_only(grid, spans, keys):
    assert write_ranges(grid, overlapping(grid, spans)) == keys


@pytest.mark.parametrize(
    ("grid", "text"), [(DAY, "DAY"), (HUNDREDS, "RANGE(0,300,100)"), (WHOLE, "*")]
)
def test_a_grid_is_one_word(grid, text):
    assert (write_grid(grid), read_grid(text)) == (text, grid)


def test_a_word_of_no_grid_is_refused():
    with pytest.raises(ValueError, match="FORTNIGHT"):
        read_grid("FORTNIGHT")


@pytest.mark.parametrize(
    ("grid", "texts", "ords"),
    [
        (DAY, ("1970-01-01..1970-01-03", "1970-01-05"), ((0, 2), (4, 4))),
        (BELOW_ZERO, ("-200..-100",), ((0, 1),)),
        (WHOLE, ("*",), ((0, 0),)),
        (DAY, (), ()),
    ],
)
def test_ranges_of_keys_are_read_back(grid, texts, ords):
    assert (write_ranges(grid, ords), read_ranges(grid, texts)) == (texts, ords)


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("date", "2024-12-03", micros("2024-12-03")),
        ("date", "1969-12-31", -86_400_000_000),
        ("timestamp", "2024-12-03 10:00:00", micros("2024-12-03T10:00")),
        ("timestamp", "2024-12-03 10:00:00.5", micros("2024-12-03T10:00:00.500")),
        ("timestamp", "2024-12-03T10:00:00.123Z", micros("2024-12-03T10:00:00.123")),
        ("timestamp", "2024-12-03T10:00:00.123456Z", micros("2024-12-03T10:00:00.123456")),
        ("timestamp", "2024-12-03T10:00:00.000+02:00", micros("2024-12-03T08:00")),
        ("timestamp", "2024-12-03T10:00:00.000-0130", micros("2024-12-03T11:30")),
        ("timestamp_ntz", "0001-01-01T00:00:00", micros("0001-01-01")),
        ("bigint", "-9223372036854775808", -(2**63)),
        ("tinyint", "7", 7),
        ("int", "7.5", None),
        ("date", "2024-02-30", None),
        ("timestamp", "__HIVE_DEFAULT_PARTITION__", None),
        ("string", "7", None),
    ],
)
def test_a_value_of_deltas_log_has_a_position(kind, text, place):
    assert position(text, kind) == place


@pytest.mark.parametrize(
    ("kind", "place", "sql"),
    [
        ("date", micros("2024-12-02"), "DATE '2024-12-02'"),
        ("date", micros("2024-12-02T00:00:01"), "DATE '2024-12-03'"),
        ("date", YEAR.upper(9999), "DATE '+10000-01-01'"),
        (
            "timestamp",
            micros("2024-12-02T10:00"),
            "TIMESTAMP '2024-12-02T10:00:00.000000Z'",
        ),
        ("timestamp", -1, "TIMESTAMP '1969-12-31T23:59:59.999999Z'"),
        ("timestamp_ntz", micros("2024-12-02T10:00"), "TIMESTAMP_NTZ '2024-12-02 10:00:00'"),
        ("timestamp_ntz", 1, "TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'"),
        ("int", 100, "100"),
        ("bigint", -100, "(-100)"),
    ],
)
def test_a_position_is_a_literal_of_the_columns_type(kind, place, sql):
    assert literal_at(place, kind) == sql


def test_a_text_has_no_positions():
    with pytest.raises(ValueError, match="string is not a type of a partition field"):
        literal_at(0, "string")


def test_a_span_over_all_of_time_is_one_range():
    (hours,) = overlapping(HOUR, ((FIRST, LAST),))

    assert next(numbers((hours,))) == HOUR.parse("0001-01-01T00")
    assert hours[1] - hours[0] + 1 == 87_649_416


def test_ranges_of_partitions_are_shown_by_their_ends_and_a_whole_table_by_none():
    ranges = ((2001, 2003), (2007, 2007), (2009, 2009))

    assert key_pairs(YEAR, ranges[:2]) == (("2001", "2003"), ("2007", "2007"))
    assert shown_ranges(YEAR, ranges) == "2001 to 2003, 2007, 2009"
    assert shown_ranges(YEAR, ranges, 2) == "2001 to 2003, 2007 and 1 more"
    assert shown_ranges(WHOLE, ((0, 0),)) == ""


@pytest.mark.parametrize(
    ("kind", "grain", "expected"),
    [
        ("bigint", Grain.DAY, False),
        ("bigint", Grain.RANGE, True),
        ("date", Grain.DAY, True),
        ("date", Grain.RANGE, False),
        ("bigint", Grain.WHOLE, True),
    ],
)
def test_integers_lie_where_ranges_do_and_times_where_grains_of_time_do(kind, grain, expected):
    assert has_positions(kind, grain) is expected
