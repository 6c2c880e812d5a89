"""What every Clock promises."""

import datetime as dt
from uuid import UUID

import pytest

from fakes.clock import FixedClock

CLOCKS = [FixedClock]


@pytest.fixture(params=CLOCKS)
def clock(request):
    return request.param()


def test_the_time_is_utc_and_never_goes_back(clock):
    first, second = clock.now(), clock.now()

    assert first.tzinfo is dt.UTC
    assert first <= second


def test_ids_are_uuids_of_version_7(clock):
    assert UUID(clock.new_id()).version == 7


def test_ids_sort_by_the_order_they_were_made_in(clock):
    ids = [clock.new_id() for _ in range(100)]

    assert ids == sorted(set(ids))
