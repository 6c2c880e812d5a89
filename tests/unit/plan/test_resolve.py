import datetime as dt
from dataclasses import replace

import pytest

from fakes.versioned_models import (
    HUNDREDS,
    MONTH,
    RUN_TIMESTAMP,
    THE_16TH,
    a_body,
    a_daily,
    a_version,
    ords,
    shown,
)
from penstock.core.model import Model
from penstock.core.partitions.partition import Grain, Grid
from penstock.plan.resolve import (
    body_of,
    dated_models,
    due_partitions,
    first_from,
    resolve,
)
from penstock.strategies.table import Table

REVISED = a_daily(
    "stats",
    a_body("v1", "2024-01-01"),
    a_version(
        a_body("v2", "2024-03-01"),
        a_body("v2.r1", "2024-03-15"),
        a_body("v2.r2", "2024-03-20", backfill_since=dt.date(2024, 3, 10)),
    ),
)
CELLS = [
    ("2023-12-31", "2024-03-12", []),
    ("2023-12-31", "2024-03-16", []),
    ("2023-12-31", "2024-03-25", []),
    ("2024-02-29", "2024-03-12", ["v1"]),
    ("2024-02-29", "2024-03-16", ["v1"]),
    ("2024-02-29", "2024-03-25", ["v1"]),
    ("2024-03-05", "2024-03-12", ["v2"]),
    ("2024-03-05", "2024-03-16", ["v2.r1"]),
    ("2024-03-05", "2024-03-25", ["v2.r1"]),
    ("2024-03-12", "2024-03-12", ["v2"]),
    ("2024-03-12", "2024-03-16", ["v2.r1"]),
    ("2024-03-12", "2024-03-25", ["v2.r2"]),
]


def chosen(model: Model, run_date: dt.date, first: str, last: str = "") -> list[tuple[str, str]]:
    segments = resolve(model, run_date, ords(first, last, model.grid))
    return [(*shown(model.grid, (each.range,)), each.body.fingerprint.label) for each in segments]


@pytest.mark.parametrize(("partition", "run_date", "expected"), CELLS)
def test_a_partition_and_a_run_date_choose_the_sql(partition, run_date, expected):
    found = chosen(REVISED, dt.date.fromisoformat(run_date), partition)

    assert [label for _, label in found] == expected


def test_a_range_is_cut_where_the_sql_changes_and_nowhere_else():
    found = chosen(REVISED, dt.date(2024, 3, 25), "2023-12-30", "2024-03-12")

    assert found == [
        ("2024-01-01..2024-02-29", "v1"),
        ("2024-03-01..2024-03-09", "v2.r1"),
        ("2024-03-10..2024-03-12", "v2.r2"),
    ]


def test_of_revisions_of_one_day_the_greater_counts_whatever_their_order():
    revisions = a_body("v1.r2", "2024-03-01"), a_body("v1.r1", "2024-03-01")
    model = a_daily("stats", a_version(a_body("v1", "2024-01-01"), *revisions))

    assert chosen(model, THE_16TH, "2024-06-01") == [("2024-06-01", "v1.r2")]


def test_a_revision_that_a_later_one_covers_cuts_nothing():
    old = a_body("v1.r1", "2024-02-01", backfill_since=dt.date(2024, 1, 20))
    new = a_body("v1.r2", "2024-03-01")
    model = a_daily("stats", a_version(a_body("v1", "2024-01-01"), old, new))

    assert chosen(model, THE_16TH, "2024-01-01", "2024-01-31") == [
        ("2024-01-01..2024-01-31", "v1.r2")
    ]


def test_versions_count_by_date_whatever_their_numbers_and_order():
    model = a_daily("stats", a_body("v2", "2024-03-01"), a_body("v3", "2024-02-01"))

    assert chosen(model, THE_16TH, "2024-02-29", "2024-04-01") == [
        ("2024-02-29", "v3"),
        ("2024-03-01..2024-04-01", "v2"),
    ]


def test_a_month_keeps_the_version_of_its_first_day():
    model = a_daily("m", a_body("v1", "2024-01-01"), a_body("v2", "2024-06-15"), grid=MONTH)

    assert chosen(model, THE_16TH, "2024-05", "2024-08") == [
        ("2024-05..2024-06", "v1"),
        ("2024-07..2024-08", "v2"),
    ]


def test_integers_take_the_version_of_the_run_date_all_of_them():
    model = a_daily("n", a_body("v1", "2024-01-01"), a_body("v2", "2024-06-15"), grid=HUNDREDS)

    assert chosen(model, dt.date(2023, 12, 31), "0", "200") == []
    assert chosen(model, dt.date(2024, 6, 14), "0", "200") == [("0..200", "v1")]
    assert chosen(model, dt.date(2024, 6, 15), "0", "200") == [("0..200", "v2")]


def test_nothing_before_the_start_has_sql():
    model = a_daily("stats", a_body("v1", "2024-01-01"), start=dt.date(2024, 1, 3))

    assert chosen(model, THE_16TH, "2024-01-01", "2024-01-05") == [("2024-01-03..2024-01-05", "v1")]


def test_gaps_in_what_is_asked_for_stay_gaps():
    within = (*ords("2024-01-01", "2024-01-02"), *ords("2024-01-05"))

    found = resolve(REVISED, THE_16TH, within)

    assert [each.range for each in found] == list(within)
    assert resolve(REVISED, THE_16TH, ()) == ()


@pytest.mark.parametrize(
    ("ready_after", "newest"),
    [
        (None, "2024-12-16"),
        (dt.timedelta(0), "2024-12-15"),
        (dt.timedelta(hours=12), "2024-12-15"),
        (dt.timedelta(hours=12, microseconds=1), "2024-12-14"),
    ],
)
def test_the_newest_due_partition_follows_ready_after(ready_after, newest):
    model = a_daily("stats", a_body("v1", "2024-12-01"), ready_after=ready_after)

    assert due_partitions(model, RUN_TIMESTAMP) == ords("2024-12-01", newest)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (a_daily("stats", a_body("v1", "2024-12-14"), start=dt.date(2024, 12, 10)), "2024-12-10"),
        (a_daily("stats", a_body("v1", "2024-12-01"), start=dt.date(2024, 12, 10)), "2024-12-10"),
        (a_daily("stats", a_body("v2", "2024-12-14"), a_body("v1", "2024-12-12")), "2024-12-12"),
    ],
)
def test_partitions_are_due_from_the_start_or_the_first_version(model, expected):
    assert due_partitions(model, RUN_TIMESTAMP) == ords(expected, "2024-12-16")


def test_integers_and_whole_tables_are_always_due_and_the_future_never():
    numbers = a_daily("n", a_body("v1", "2030-01-01"), grid=HUNDREDS)
    later = a_daily("stats", a_body("v1", "2024-12-17"))

    assert due_partitions(numbers, RUN_TIMESTAMP) == ((0, 2),)
    assert due_partitions(a_table("v1"), RUN_TIMESTAMP) == ((0, 0),)
    assert due_partitions(later, RUN_TIMESTAMP) == ()


@pytest.mark.parametrize(
    ("grain", "expected"),
    [
        (Grain.HOUR, "2024-06-15T00"),
        (Grain.DAY, "2024-06-15"),
        (Grain.WEEK, "2024-06-17"),
        (Grain.MONTH, "2024-07"),
        (Grain.YEAR, "2025"),
    ],
)
def test_the_first_partition_from_a_day_on_begins_on_it_or_later(grain, expected):
    assert Grid(grain).key(first_from(Grid(grain), dt.date(2024, 6, 15))) == expected


def a_table(*labels: str) -> Model:
    """A whole table with one version a month from 2024-01 on."""
    bodies = [a_body(label, f"2024-0{place}-01") for place, label in enumerate(labels, 1)]
    return replace(a_daily("t", *bodies), strategy=Table())


def test_a_whole_table_takes_the_sql_of_the_run_date():
    model = a_table("v1", "v2")

    found = {
        day: dated_models({"t": model}, day)["t"].fingerprint.label
        for day in (dt.date(2023, 12, 31), dt.date(2024, 1, 31), dt.date(2024, 2, 1))
    }

    assert list(found.values()) == ["v2", "v1", "v2"]


def test_a_versions_sql_is_found_by_its_numbers():
    assert body_of(REVISED, 2, 1)[1].fingerprint.label == "v2.r1"
    with pytest.raises(KeyError, match=r"stats v9\.r0"):
        body_of(REVISED, 9, 0)
