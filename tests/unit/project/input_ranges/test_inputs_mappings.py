from __future__ import annotations

import pytest

from fakes.mapped_inputs import (
    BY_UDF,
    DAILY,
    ENTRY,
    EVENTS,
    SEVEN_DAYS,
    WEEKLY,
    WHERE,
    declare,
    mapped,
)
from penstock.core.findings import Finding, Severity
from penstock.core.model import (
    InputMapping,
)
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import Computed, Everything, Lower, Moved, Same, Trailing


def test_an_input_that_is_read_whole_is_a_warning_with_the_entry_to_write() -> None:
    inputs, findings = mapped("select 1 from {daily}")

    assert inputs == (InputMapping(DAILY, Everything()),)
    assert findings == [
        Finding(
            WHERE,
            "upstream-mapping-all",
            "v1 reads all of daily, so any change of it concerns every partition",
            "depends_on: [{model: daily, partitions: all}]",
            Severity.WARNING,
        )
    ]


def test_an_input_that_no_condition_bounds_as_a_range_is_a_warning_with_the_entry_to_write() -> (
    None
):
    inputs, findings = mapped(
        "select 1 from {daily} where datediff(@partition_date, date) between 0 and 4"
    )

    assert inputs == (InputMapping(DAILY, Everything()),)
    assert findings == [
        Finding(
            WHERE,
            "upstream-mapping-all",
            "no condition of v1 says as a range what it reads of daily,"
            " so any change of it concerns every partition",
            "depends_on: [{model: daily, partitions: all}]",
            Severity.WARNING,
        )
    ]


def test_the_entry_of_the_hint_silences_the_warning() -> None:
    inputs, findings = mapped("select 1 from {daily}", declare(Everything()))

    assert inputs == (InputMapping(DAILY, Everything(), declared=True),)
    assert findings == []


def test_a_declared_mapping_narrower_than_the_SQL_is_a_warning() -> None:
    sql = (
        "select 1 from {daily} where date between date_sub(@partition_date, 6) and @partition_date"
    )

    inputs, findings = mapped(sql, declare(Trailing(6)))

    assert inputs == (InputMapping(DAILY, Trailing(6), declared=True),)
    assert findings == [
        Finding(
            ENTRY,
            "mapping-narrower-than-sql",
            "the SQL reads more of daily than its entry in depends_on says",
            "depends_on: [{model: daily, partitions: auto}]",
            Severity.WARNING,
        )
    ]
    assert mapped(sql, declare(Trailing(7)))[1] == []
    assert mapped(sql, declare(None)) == ((InputMapping(DAILY, SEVEN_DAYS),), [])


def test_a_declared_mapping_of_what_is_read_whole_is_narrower() -> None:
    _, findings = mapped("select 1 from {daily}", declare(Same()))

    assert [(f.code, f.hint) for f in findings] == [
        ("mapping-narrower-than-sql", "depends_on: [{model: daily, partitions: all}]")
    ]
    assert mapped("select 1 from {daily}", declare(Everything()))[1] == []


def test_the_hint_for_a_source_names_the_column_of_the_entry() -> None:
    sql = "select 1 from {events} where day >= @start_date - interval 1 day and day < @end_date"

    _, findings = mapped(sql, declare(Same(), EVENTS, "day"))

    assert [(f.code, f.hint) for f in findings] == [
        (
            "mapping-narrower-than-sql",
            "depends_on: [{model: raw.events, partitions: auto, column: day}]",
        )
    ]


def test_a_declared_mapping_is_not_compared_with_what_is_not_understood() -> None:
    assert mapped(BY_UDF, declare(Same()))[1] == []


def test_time_and_integers_do_not_compare() -> None:
    shards = InputName(InputKind.MODEL, "shards")

    inputs, findings = mapped("select 1 from {shards}", declare(Same(), shards))

    assert inputs == (InputMapping(shards, Everything(), declared=True),)
    assert findings == [
        Finding(
            ENTRY,
            "mapping-domain-mismatch",
            "weekly has DAY partitions, shards has RANGE",
            "depends_on: [{model: shards, partitions: all}]",
        )
    ]


def test_a_model_may_read_itself_before_its_lower_bound() -> None:
    sql = "select 1 from {this} where date = date_sub(@partition_date, 1)"

    ranges = ((Moved(Lower(), micros=-DAY), Lower()),)
    assert mapped(sql) == ((InputMapping(WEEKLY, Computed("date", ranges)),), [])


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from {this}",
        "select 1 from {this} where date <= @partition_date",
        "select 1 from {this} where date = '2024-12-25'",
        "select 1 from {this} where my_udf(date) = @partition_date",
        "select 1 from {this} where date < trunc(@end_date, 'MM')",
    ],
)
def test_a_model_that_reads_itself_later_is_an_error(sql: str) -> None:
    _, findings = mapped(sql)

    assert [(f.where, f.code, f.is_error) for f in findings] == [
        (WHERE, "self-dependency-unbounded", True)
    ]


def test_a_model_may_always_read_what_is_before_its_first_partition() -> None:
    assert mapped("select 1 from {this} where date < '2024-11-25'")[1] == []
