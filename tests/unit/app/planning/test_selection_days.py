"""The last days that a command is about, however many are asked for."""

import pytest

from fakes.builders import NOON
from fakes.versioned_models import a_body, a_daily, ords
from penstock.app.flags import MOST, Range
from penstock.app.planning.selection import narrowed

KNOWN = ords("2024-02-01", "2024-03-01")


@pytest.mark.parametrize(
    ("days", "wanted"),
    [
        (1, ords("2024-03-01")),
        (3, ords("2024-02-28", "2024-03-01")),
        (1_000_000, KNOWN),  # before the first day of the calendar
        (MOST, KNOWN),
    ],
)
def test_days_end_with_today_and_begin_no_earlier_than_the_calendar(days, wanted):
    model = a_daily("stats", a_body("v1", "2024-02-01"))

    assert narrowed(model, Range(days=days), NOON, KNOWN) == wanted
