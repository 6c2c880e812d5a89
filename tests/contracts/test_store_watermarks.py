"""What every state store promises of watermarks (how they move, and who may lower them)."""

from dataclasses import replace

import pytest

from contracts.store_cases import intent, mark, succeed, with_mark
from fakes.clock import NOON
from penstock.core.columns.typed import TypedValue
from penstock.core.records import WatermarkChange
from penstock.core.steps.window import Watermark


def test_a_watermark_moves_up_and_never_back(store):
    succeed(store, with_mark(9, "step-1"))
    succeed(store, with_mark(10, "step-2"))
    succeed(store, with_mark(10, "step-3"))
    succeed(store, with_mark(8, "step-4"))

    assert values(store) == [("n", "BIGINT 10"), ("n", "BIGINT 9")]
    assert store.records.models()["orders"].watermarks == (mark(10),)


def test_a_step_without_watermarks_leaves_them(store):
    succeed(store, with_mark(9, "step-1"))
    succeed(store, intent("step-2"))

    assert store.records.models()["orders"].watermarks == (mark(9),)


def test_an_intent_that_lowers_replaces_the_whole_set(store, world):
    both = (mark(9, "n"), mark(4, "old"))
    succeed(store, replace(intent("step-1"), watermarks=both))
    lower = replace(intent("step-2"), watermarks=(mark(2, "n"),), lowers_watermarks=True)
    succeed(store, lower)

    assert store.records.models()["orders"].watermarks == (mark(2, "n"),)
    assert store.records.watermark_history("orders")[:2] == (
        WatermarkChange("orders", "raw.orders", "old", None, NOON, step="step-2"),
        WatermarkChange("orders", "raw.orders", "n", "BIGINT 2", NOON, step="step-2"),
    )


def test_a_watermark_may_change_its_type(store):
    succeed(store, with_mark(9, "step-1"))
    date = Watermark("raw.orders", "n", TypedValue("DATE", "2024-01-01"))
    succeed(store, replace(intent("step-2"), watermarks=(date,)))

    assert store.records.models()["orders"].watermarks == (date,)


def test_what_a_step_left_unread_is_on_record_until_the_next_success(store):
    cut = replace(with_mark(9, "step-1"), cut_at=NOON, passed_by=("orders", "users"))
    succeed(store, cut)
    left = store.records.models()["orders"]
    succeed(store, with_mark(10, "step-2"))
    after = store.records.models()["orders"]

    assert (left.cut_at, left.passed_by) == (NOON, ("orders", "users"))
    assert (after.cut_at, after.passed_by) == (None, ())


def test_a_person_may_lower_and_reset_a_watermark(store):
    succeed(store, with_mark(9))
    lowered = WatermarkChange(
        "orders", "raw.orders", "n", "BIGINT 3", NOON, who="ann", why="late rows"
    )
    store.records.change_watermark(lowered)
    after_set = store.records.models()["orders"].watermarks
    store.records.change_watermark(replace(lowered, value=None))

    assert after_set == (mark(3),)
    assert store.records.models()["orders"].watermarks == ()
    assert store.records.watermark_history("orders")[1] == lowered


@pytest.mark.parametrize(
    ("value", "rewound"),
    [("BIGINT 3", ("raw.orders",)), (None, ("raw.orders",)), ("BIGINT 9", ()), ("BIGINT 12", ())],
)
def test_a_watermark_that_a_person_set_back_is_rewound_until_a_step_has_read(store, value, rewound):
    succeed(store, with_mark(9, "step-1"))
    store.records.change_watermark(WatermarkChange("orders", "raw.orders", "n", value, NOON))
    before = store.records.models()["orders"].rewound
    succeed(store, with_mark(3, "step-2"))  # nothing lay above

    assert (before, store.records.models()["orders"].rewound) == (rewound, ())


def test_a_change_by_hand_that_is_written_twice_leaves_what_came_in_between(store):
    by_hand = WatermarkChange("orders", "raw.orders", "n", "BIGINT 3", NOON, who="ann")
    store.records.change_watermark(by_hand)
    succeed(store, with_mark(9))

    store.records.change_watermark(by_hand)

    assert values(store) == [("n", "BIGINT 9"), ("n", "BIGINT 3")]


def test_after_a_reset_the_next_success_sets_any_value(store):
    succeed(store, with_mark(9, "step-1"))
    store.records.change_watermark(WatermarkChange("orders", "raw.orders", "n", None, NOON))
    succeed(store, with_mark(1, "step-2"))

    assert store.records.models()["orders"].watermarks == (mark(1),)


def test_a_watermark_set_before_the_first_run_makes_no_record(store):
    store.records.change_watermark(WatermarkChange("new", "raw.orders", "n", "BIGINT 3", NOON))

    assert store.records.models() == {}
    assert values(store, "new") == [("n", "BIGINT 3")]


def values(store, model="orders"):
    return [(change.column, change.value) for change in store.records.watermark_history(model)]
