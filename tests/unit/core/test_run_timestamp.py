from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.query import RUN_TIMESTAMP, at

ONE = dt.datetime(2024, 3, 1, 13, 0, 0, 5, tzinfo=dt.timezone(dt.timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("select NOW as t", "select TIMESTAMP '2024-03-01T12:00:00.000005Z' as t"),
        ("select 'NOW'", "select '2024-03-01T12:00:00.000005Z'"),
        ('select "at NOW"', 'select "at 2024-03-01T12:00:00.000005Z"'),
        (r"select 'it\'s NOW'", r"select 'it\'s 2024-03-01T12:00:00.000005Z'"),
        (
            "select 1 -- NOW\n, NOW",
            "select 1 -- 2024-03-01T12:00:00.000005Z\n, TIMESTAMP '2024-03-01T12:00:00.000005Z'",
        ),
        ("select 1", "select 1"),
    ],
)
def test_the_run_timestamp_is_a_literal_or_text_inside_quotes(text, bound):
    assert at(text.replace("NOW", RUN_TIMESTAMP), ONE) == bound
