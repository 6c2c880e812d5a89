from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.project.files.values import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("36h", 129600),
        ("2 days", 172800),
        ("1 day", 86400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("2 weeks", 1209600),
        ("45 seconds", 45),
        ("PT36H", 129600),
        ("P1DT12H", 129600),
        ("P2W", 1209600),
        ("PT0.5S", 0.5),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "90", "m", "2 months", "1h 2h", "P", "PT", "P1M", "-1h", "1y", "h1", "9" * 20 + "d"],
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(0, 10_000), st.sampled_from(["m", "h", "d", "w", " minutes", " hours", " days"]))
def test_a_duration_is_its_number_of_units(count, unit):
    assert parse_duration(f"{count}{unit}") == count * parse_duration(f"1{unit}")
