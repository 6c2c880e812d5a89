"""Days and instants as numbers, at the ends of months, centuries and years without a sign."""

import pytest

from penstock.core.partitions.calendar import (
    NoSuchDayError,
    civil,
    day_number,
    day_within,
    instant,
    written_day,
    written_time,
)


@pytest.mark.parametrize(
    ("day", "number", "written"),
    [
        ((-1, 12, 31), -719_529, "-0001-12-31"),
        ((0, 1, 1), -719_528, "0000-01-01"),
        ((0, 2, 29), -719_469, "0000-02-29"),
        ((0, 3, 1), -719_468, "0000-03-01"),
        ((1600, 2, 29), -135_081, "1600-02-29"),
        ((1900, 2, 28), -25_509, "1900-02-28"),
        ((1900, 3, 1), -25_508, "1900-03-01"),
        ((1970, 1, 1), 0, "1970-01-01"),
        ((2000, 2, 29), 11_016, "2000-02-29"),
        ((2000, 3, 1), 11_017, "2000-03-01"),
        ((2003, 2, 28), 12_111, "2003-02-28"),
        ((2003, 3, 1), 12_112, "2003-03-01"),
        ((2004, 2, 29), 12_477, "2004-02-29"),
        ((2024, 7, 31), 19_935, "2024-07-31"),
        ((2024, 8, 31), 19_966, "2024-08-31"),
        ((2024, 12, 31), 20_088, "2024-12-31"),
        ((2100, 2, 28), 47_540, "2100-02-28"),
        ((2100, 3, 1), 47_541, "2100-03-01"),
        ((9999, 12, 31), 2_932_896, "9999-12-31"),
        ((10_000, 1, 1), 2_932_897, "+10000-01-01"),
    ],
)
def test_a_day_has_a_number_and_a_number_a_day(day, number, written):
    assert (day_number(*day), civil(number), written_day(number)) == (number, day, written)


@pytest.mark.parametrize("day", [(1, 1, 1), (9999, 12, 31), (2024, 2, 29), (2023, 11, 30)])
def test_the_first_and_the_last_days_are_within(day):
    assert day_within(*day) == day_number(*day)


@pytest.mark.parametrize(
    ("day", "sentence"),
    [
        ((0, 1, 1), "year must be 1 to 9999, got 0"),
        ((10_000, 1, 1), "year must be 1 to 9999, got 10000"),
        ((2024, 0, 1), "month must be 1 to 12, got 0"),
        ((2024, 13, 1), "month must be 1 to 12, got 13"),
        ((2024, 1, 0), "day must be 1 to 31, got 0"),
        ((2023, 11, 31), "day must be 1 to 30, got 31"),
        ((2023, 12, 32), "day must be 1 to 31, got 32"),
    ],
)
def test_a_part_of_a_date_that_is_out_of_bounds_is_named(day, sentence):
    with pytest.raises(NoSuchDayError) as caught:
        day_within(*day)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("place", "long", "short"),
    [
        (-1, "23:59:59.999999", "23:59:59"),
        (86_400_000_000 + 3_661_000_007, "01:01:01.000007", "01:01:01"),
        (43_140_000_000, "11:59:00.000000", "11:59:00"),
    ],
)
def test_a_time_of_day_is_written_with_or_without_its_fraction(place, long, short):
    assert (written_time(place), written_time(place, digits=0)) == (long, short)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-01T00:00:01.0000019Z", 1_000_001),
        ("1970-01-01 00:00:00.5 +00:30", -1_799_500_000),
        ("1970-01-01T00:00:00-01:30", 5_400_000_000),
        ("1969-12-31T23:59:59.9", -100_000),
        ("1970-02-30", None),
        ("1970-01-01T24:00", None),
        ("today", None),
    ],
)
def test_an_instant_is_read_in_utc_to_the_microsecond(text, micros):
    assert instant(text) == micros
