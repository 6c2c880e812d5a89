"""Which range of an input one partition reads, found in the SQL."""

from __future__ import annotations

import pytest

from fakes.inferred_ranges import (
    DAILY,
    DAYS,
    EVENTS,
    MONTHS,
    SHAPES,
    linked,
    read,
)
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import Computed, Everything, Lower, Moved, spans
from penstock.core.partitions.partition import Grid
from penstock.core.query import mention
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, Inferred, InputShape

WEEK = "CAST(DATE_TRUNC('WEEK', date) AS DATE)"


@pytest.mark.parametrize(
    ("predicate", "grid", "key", "expected"),
    [
        ("date = @partition_date", DAYS, "2024-12-03", ["2024-12-03..2024-12-03"]),
        (
            "date BETWEEN date_sub(@partition_date, 6) AND @partition_date",
            DAYS,
            "2024-12-07",
            ["2024-12-01..2024-12-07"],
        ),
        (f"{WEEK} = @partition_date", DAYS, "2024-12-02", ["2024-12-02..2024-12-08"]),
        (f"{WEEK} = @partition_date", DAYS, "2024-12-03", []),
        (
            "date >= @start_date AND date < @end_date",
            MONTHS,
            "2024-02",
            ["2024-02-01..2024-02-29"],
        ),
        ("date <= @partition_date", DAYS, "2024-12-03", ["..2024-12-03"]),
        ("my_udf(date) = @partition_date", DAYS, "2024-12-03", "unclear"),
        ("true", DAYS, "2024-12-03", "whole"),
    ],
)
def test_a_predicate_gives_a_range(
    predicate: str, grid: Grid, key: str, expected: list[str] | str
) -> None:
    assert read(f"SELECT * FROM {{daily}} WHERE {predicate}", key, grid) == {"daily": expected}


def test_a_view_is_read_through() -> None:
    sql = "SELECT * FROM {newest} WHERE day = @partition_date"

    assert read(sql) == {"newest": "view", "recent": "view", "daily": ["2024-12-03..2024-12-03"]}


def test_grains_that_do_not_compare_are_read_whole() -> None:
    assert read("SELECT 1 FROM {shards} WHERE bucket = @partition_date") == {"shards": "unclear"}


def test_the_column_of_a_source_is_the_first_with_two_bounds_by_a_parameter() -> None:
    sql = (
        "SELECT 1 FROM {events} WHERE a_day >= @start_date AND b_day = '2024-01-01'"
        " AND d_day >= @start_date AND d_day < @end_date AND c_day = DATE(@partition_date)"
    )

    mapping = infer((linked(sql),), DAYS, SHAPES)[EVENTS].mapping

    assert isinstance(mapping, Computed)
    assert mapping.column == "c_day"


def test_a_source_bounded_by_literals_alone_is_read_whole() -> None:
    assert read("SELECT 1 FROM {events} WHERE day = '2024-01-01'") == {"raw.events": "whole"}


def test_a_model_that_reads_this_reads_itself_by_its_name() -> None:
    this = mention(InputName(InputKind.THIS, "daily"), alias="daily")
    sql = f"SELECT 1 FROM {this} WHERE date = date_sub(@partition_date, 1)"

    found = infer((sql,), DAYS, SHAPES)

    ranges = ((Moved(Lower(), micros=-DAY), Lower()),)
    assert found == {DAILY: Inferred(Computed("date", ranges), Found.INFERRED)}


def test_every_form_of_a_query_counts() -> None:
    texts = (
        linked("SELECT 1 FROM {daily} WHERE date = @partition_date"),
        linked("SELECT 1 FROM {daily} WHERE date = date_add(@partition_date, 9)"),
    )

    found = infer(texts, DAYS, SHAPES)[DAILY]

    assert spans(found.mapping, (0, DAY), DAYS) == ((0, DAY), (9 * DAY, 10 * DAY))


def test_SQL_that_cannot_be_parsed_reads_everything() -> None:
    found = infer((linked("SELECT FROM WHERE {daily} ]"),), DAYS, SHAPES)

    assert found == {DAILY: Inferred(Everything(), Found.UNREAD)}


def test_a_scan_that_is_not_understood_beside_a_known_range_reads_everything() -> None:
    sql = (
        "SELECT 1 FROM {daily} WHERE my_udf(date) = @partition_date"
        " UNION ALL SELECT 1 FROM {daily} WHERE date = date_sub(@partition_date, 7)"
    )

    assert read(sql) == {"daily": "unclear"}


def test_a_column_that_was_asked_about_is_never_guessed() -> None:
    shapes = {EVENTS: InputShape(field="created_at")}
    sql = "SELECT 1 FROM {events} WHERE my_udf(created_at) = @partition_date"

    found = infer((linked(sql),), DAYS, shapes)

    assert found == {EVENTS: Inferred(Everything(), Found.UNCLEAR)}
