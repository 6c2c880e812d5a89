"""The order of slices."""

from dataclasses import replace

import pytest

from penstock.core.entities.slices import ListedSlice, Ordering, SliceId, SliceOrder, natural_key
from penstock.core.errors import TableError
from penstock.core.findings import Location

WHERE = Location("entities/sales.json", 6)
DIFFERENT = {"name": "b", "size": 7, "digest": "e", "etag": "f"}


def ordered(by, *names, pattern=""):
    """Order slices of which each was written before the one in front of it."""
    there = [
        ListedSlice(SliceId(name, 1, len(names) - place, "d"), (name,))
        for place, name in enumerate(names)
    ]
    return [each.id.name for each in Ordering(by, pattern).of(there, WHERE)]


@pytest.mark.parametrize(
    ("by", "found"),
    [
        (SliceOrder.NAME, ["s_1", "s_10", "s_2"]),
        (SliceOrder.NATURAL, ["s_1", "s_2", "s_10"]),
        (SliceOrder.MODIFIED, ["s_10", "s_2", "s_1"]),
    ],
)
def test_slices_come_by_name_by_the_numbers_in_it_or_by_time(by, found):
    assert ordered(by, "s_1", "s_2", "s_10") == found


def test_names_of_any_shape_have_a_natural_order():
    names = ["2", "a", "a1", "a1b2", "10", "a1b", "", "a01", "1"]

    assert sorted(names, key=natural_key) == ["", "1", "2", "10", "a", "a01", "a1", "a1b", "a1b2"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"(\d+)\.parquet", ["9-of-1.parquet", "1-of-2.parquet"]),
        (r"^(\d+)", ["1-of-2.parquet", "9-of-1.parquet"]),
        (r"(\d)-of-(\d)", ["1-of-2.parquet", "9-of-1.parquet"]),
        (r"(?P<day>\d)-of-(?P<month>\d)", ["9-of-1.parquet", "1-of-2.parquet"]),
    ],
)
def test_a_pattern_finds_the_number_or_date_that_decides(pattern, found):
    names = ("1-of-2.parquet", "9-of-1.parquet")

    assert ordered(SliceOrder.FROM_NAME, *names, pattern=pattern) == found


@pytest.mark.parametrize("pattern", [r"x(\d)", r"([a-z]+)", r"(\d)?s"])
def test_a_name_that_does_not_tell_its_place_stops_the_entity(pattern):
    with pytest.raises(TableError) as caught:
        ordered(SliceOrder.FROM_NAME, "s_1", pattern=pattern)

    assert caught.value.render() == (
        "entities/sales.json:6: slice-order-unknown: order_pattern "
        f"{pattern} finds no date or number in 's_1'\n"
        "  hint: correct order_pattern, or leave the file out with slice_pattern"
    )


def test_a_copy_of_a_slice_is_the_same_slice_whatever_its_time():
    one = SliceId("a", 1, 2, "d")

    assert one == replace(one, modified=3)
    others = [replace(one, **{name: value}) for name, value in DIFFERENT.items()]
    assert [one == other for other in others] == [False] * 4


def test_the_order_that_was_chosen_is_shown_in_the_words_of_the_file():
    assert str(Ordering()) == "name"
    assert str(Ordering(SliceOrder.FROM_NAME, "(x)")) == "from_name (x)"
