from __future__ import annotations

from fakes.inferred_ranges import (
    DAILY,
    DAYS,
    SHAPES,
    linked,
)
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import Computed, Lower, Moved
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, Inferred


def test_bounds_of_a_partition_are_left_plain() -> None:
    sql = "SELECT 1 FROM {daily} WHERE CAST(date AS DATE) = @partition_date"

    found = infer((linked(sql),), DAYS, SHAPES)

    ranges = ((Lower(), Moved(Lower(), micros=DAY)),)
    assert found == {DAILY: Inferred(Computed("date", ranges), Found.INFERRED)}
