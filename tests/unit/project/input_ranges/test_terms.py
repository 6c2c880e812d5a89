from __future__ import annotations

import pytest

from fakes.inferred_ranges import (
    BUCKETS,
    EVENTS,
    HOURS,
    SHAPES,
    linked,
    read,
)
from penstock.core.partitions.mapping import Computed, Lower, Upper
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, Inferred


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("bucket = @partition_date", ["100..100"]),
        ("bucket >= @start_date AND bucket < @end_date", ["100..199"]),
        ("bucket > @partition_date - 10 AND bucket <= 120", ["91..120"]),
        ("bucket + 1 = @partition_date", ["99..99"]),
        ("bucket IN (7, @partition_date)", ["7..100"]),
        ("my_udf(bucket) = @partition_date", "unclear"),
    ],
)
def test_predicates_on_integers(predicate: str, expected: list[str] | str) -> None:
    sql = f"SELECT 1 FROM {{shards}} WHERE {predicate}"

    assert read(sql, "100", BUCKETS) == {"shards": expected}


def test_hours_follow_the_instant_and_not_its_day() -> None:
    mapping = Computed("created_at", ((Lower(), Upper()),))
    sql = "SELECT 1 FROM {events} WHERE created_at >= @start_date AND created_at < @end_date"

    found = infer((linked(sql),), HOURS, SHAPES)

    assert found == {EVENTS: Inferred(mapping, Found.INFERRED)}


@pytest.mark.parametrize(
    "term", ["CAST(epoch AS TIMESTAMP)", "CAST(CAST(epoch AS TIMESTAMP) AS DATE)"]
)
def test_a_column_of_an_unknown_type_may_count_seconds_before_it_is_cast(term: str) -> None:
    assert read(f"SELECT 1 FROM {{events}} WHERE {term} = $") == {"raw.events": "unclear"}
