""" """

from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.names import InputKind, InputName
from penstock.core.query import (
    RUN_TIMESTAMP,
    Query,
    at,
    bound,
    live,
    mention,
    mentioned,
    parameter,
    parameters,
    present,
    with_parameters,
)

EVENTS = InputName(InputKind.SOURCE, "raw.events")
TEXT = f"select {parameter('start_date')}, {parameter('run_date')}, {parameter('start_date')}"


def test_a_text_tells_its_parameters():
    assert parameters(TEXT) == {"start_date", "run_date"}
    assert parameters("select '@start_date'") == frozenset()


def test_literals_take_the_place_of_parameters_that_have_a_value():
    assert with_parameters(TEXT, {"start_date": "5", "end_date": "6"}) == (
        "select 5, `penstock:param:run_date`, 5"
    )


def test_the_run_date_is_the_utc_date_of_the_run():
    zone = dt.timezone(dt.timedelta(hours=3))

    text = at(TEXT, dt.datetime(2024, 3, 1, 1, tzinfo=zone))

    assert text == (
        "select `penstock:param:start_date`, DATE '2024-02-29', `penstock:param:start_date`"
    )


def test_the_shown_text_calls_parameters_as_their_writer_does():
    text = f"select {parameter('partition_date')} from `penstock:source:raw.events`"
    query = Query(text, text, "", (EVENTS,))

    assert query.shown_sql({EVENTS: "raw.events"}) == "select @partition_date from raw.events"


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


def test_a_table_is_bound_with_the_name_that_the_query_calls_it():
    bare, named = mention(EVENTS), mention(EVENTS, "events")

    assert bound(f"{bare} join {named}", {EVENTS: "in_1"}) == "`in_1` join `in_1` AS `events`"
    assert mentioned(f"{named} {bare}") == (EVENTS,)
    with_rows = f"{named} where {present(EVENTS)}"
    assert bound(with_rows, {EVENTS: "v"}) == "`v` AS `events` where true"
    assert bound(with_rows, {EVENTS: "v"}, {EVENTS: "x"}) == "`v` AS `events` where x"


def test_the_shown_text_leaves_tombstones_out_by_the_name_of_their_column():
    text = f"select * from {mention(EVENTS)} where {present(EVENTS)}"
    query = Query(text, text, "", (EVENTS,), deleted_flags=((EVENTS, "gone"),))

    assert live("gone") == "coalesce(`gone`, false) = false"
    assert query.shown_sql({EVENTS: "e"}) == (
        "select * from e where coalesce(`gone`, false) = false"
    )
    assert query.written({EVENTS: "e"}, {}) == "select * from e where true"
