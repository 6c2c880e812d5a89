"""What is new in an incremental table, as values."""

import pytest

from fakes.builders import a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.errors import IncrementalConfigError, PenstockError
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.plan.delta_inputs import delta_window, growing_input
from penstock.plan.windows import WindowedInput
from penstock.strategies.append import Append


def delta(kind: str, last: str, *above: str, column: str = "raw.ts") -> tuple[str, str]:
    """Show the window on a table since `last`, and the watermark that it leaves behind."""
    known = TypedValue.parse(kind, last) if last else None
    marks = [Watermark(*column.rsplit(".", 1), read_typed(value)) for value in above]
    found = delta_window(WindowedInput("events", "ts", kind), marks, known)
    return str(found.windows[0].window), ", ".join(str(w.value) for w in found.watermarks)


def test_an_incremental_table_is_read_by_its_time_column() -> None:
    model = a_model("events", strategy=Append(WindowSettings("at")))

    assert growing_input(model, Schema((Column("at", "date"),))) == WindowedInput(
        "events", "at", "date"
    )
    with pytest.raises(IncrementalConfigError, match="has no column 'at'"):
        growing_input(model, Schema((Column("n", "int"),)))
    with pytest.raises(IncrementalConfigError, match="has no column ''"):
        growing_input(a_model("events"), Schema((Column("at", "date"),)))


def test_what_is_new_in_a_table_ends_at_its_watermark_and_begins_where_the_reader_ended() -> None:
    assert delta("bigint", "", "BIGINT 7") == ("(-∞, 7]", "BIGINT 7")
    assert delta("bigint", "7", "BIGINT 9") == ("(7, 9]", "BIGINT 9")
    assert delta("bigint", "9", "BIGINT 9") == ("(9, 9]", "BIGINT 9")
    assert delta("bigint", "") == ("(-∞, ∞)", "")


def test_of_a_table_with_two_watermarks_only_what_lies_below_both_is_surely_there() -> None:
    assert delta("bigint", "7", "BIGINT 10", "BIGINT 8") == ("(7, 8]", "BIGINT 8")


def test_a_table_of_days_over_instants_is_new_by_its_days() -> None:
    above = "TIMESTAMP 2025-01-17T10:00:00.000000Z"

    assert delta("date", "2025-01-16", above) == ("(2025-01-16, 2025-01-17]", "DATE 2025-01-17")


def test_a_table_whose_watermark_is_of_another_kind_has_no_news_to_tell() -> None:
    with pytest.raises(PenstockError, match="what is new in it cannot be decided"):
        delta("timestamp", "", "BIGINT 7")


def test_a_window_on_the_time_of_the_run_leaves_its_last_instant_to_the_next() -> None:
    above, column = "TIMESTAMP 2025-01-17T10:00:00Z", "events.window"

    shown = delta("timestamp", "2025-01-16T10:00:00", above, column=column)

    assert shown[0] == "[2025-01-16T10:00:00.000000Z, 2025-01-17T10:00:00.000000Z)"
