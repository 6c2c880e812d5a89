"""Windows: what lies inside, in SQL and in words."""

import pytest

from penstock.core.columns.typed import TypedValue
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window


def at(value: int, *, inclusive: bool = True) -> Bound:
    return Bound(TypedValue("INT", str(value)), inclusive=inclusive)


@pytest.mark.parametrize(
    ("lower", "upper", "shown", "condition"),
    [
        (None, at(7), "(-∞, 7]", "`n` <= CAST('7' AS INT)"),
        (
            at(3, inclusive=False),
            at(7),
            "(3, 7]",
            "`n` > CAST('3' AS INT) AND `n` <= CAST('7' AS INT)",
        ),
        (
            at(3),
            at(7, inclusive=False),
            "[3, 7)",
            "`n` >= CAST('3' AS INT) AND `n` < CAST('7' AS INT)",
        ),
        (at(3), None, "[3, ∞)", "`n` >= CAST('3' AS INT)"),
        (None, None, "(-∞, ∞)", "false"),
    ],
)
def test_a_window_is_a_range_in_words_and_in_sql(lower, upper, shown, condition):
    window = Window("n", lower, upper)

    assert (str(window), window.condition) == (shown, condition)


def test_nulls_are_let_in_beside_the_range():
    window = Window("odd`name", None, at(7), nulls=True)

    assert window.condition == "(`odd``name` <= CAST('7' AS INT) OR `odd``name` IS NULL)"


@pytest.mark.parametrize(
    ("window", "empty"),
    [
        (Window("n"), True),
        (Window("n", nulls=True), False),
        (Window("n", at(3), None), True),
        (Window("n", None, at(7)), False),
        (Window("n", at(7), at(7)), False),
        (Window("n", at(7, inclusive=False), at(7)), True),
        (Window("n", at(8), at(7)), True),
        (Window("n", at(9), at(10)), False),
    ],
)
def test_a_window_that_no_value_fits_into_is_empty(window, empty):
    assert window.is_empty is empty


def test_a_watermark_and_its_window_are_named_by_input_and_column():
    assert InputWindow("raw.events", Window("ts")).key == "raw.events.ts"
    assert Watermark("raw.events", "ts", TypedValue("INT", "1")).key == "raw.events.ts"
