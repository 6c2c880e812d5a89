import datetime as dt

import pytest

from penstock.core.columns.schema import Schema
from penstock.core.facts import AddedFile, TableFacts
from penstock.core.steps.inputs import DeltaPin

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
MILLI = dt.timedelta(milliseconds=1)


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_a_file_ends_before_a_time_that_is_a_millisecond_after_its_last(zone):
    found = AddedFile(
        "f", {"at": f"2024-03-01T12:00:00.000{zone}"}, {"at": f"2024-03-01T12:00:00.000{zone}"}
    )

    assert [found.ends_before("at", NOON + each) for each in (0 * MILLI, MILLI)] == [False, True]
    assert [found.begins_after("at", NOON - each) for each in (0 * MILLI, MILLI)] == [False, True]


def test_of_a_column_without_bounds_nothing_is_certain():
    found = AddedFile("f")

    assert (found.ends_before("at", NOON), found.begins_after("at", NOON)) == (False, False)


def test_a_table_is_pinned_at_the_version_that_was_read():
    assert TableFacts("t", 7, Schema()).pin == DeltaPin("t", 7)
