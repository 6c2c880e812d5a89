from __future__ import annotations

from fakes.inferred_ranges import (
    DAILY,
    DAYS,
    HOURS,
    SHAPES,
    linked,
)
from penstock.project.input_ranges.inputs import InputShape, inference_key


def test_the_digest_follows_all_that_counts() -> None:
    text = linked("SELECT 1 FROM {daily}")
    shapes = {DAILY: SHAPES[DAILY]}

    assert inference_key((text,), DAYS, shapes) == inference_key((text,), DAYS, dict(shapes))
    assert inference_key((text,), DAYS, shapes) != inference_key((text,), HOURS, shapes)
    assert inference_key((text,), DAYS, shapes) != inference_key(
        (text,), DAYS, {DAILY: InputShape()}
    )
