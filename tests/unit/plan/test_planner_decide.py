from fakes.builders import a_model
from penstock.core.errors import TableError
from penstock.core.partitions.ranges import WHOLE
from penstock.plan.steps import Decided, waits_for

READER = a_model("reader", "view", "table", "raw.events")


def test_a_model_waits_for_those_above_it_that_are_built_or_blocked():
    earlier = {
        "table": Decided(todo=WHOLE),
        "view": Decided(error=TableError("source-missing", "…")),
        "other": Decided(todo=WHOLE),
    }

    assert waits_for(earlier, READER) == ("table", "view")


def test_what_makes_no_rows_hands_on_what_it_waits_for_once_and_in_order():
    earlier = {"view": Decided(hands_on=("z", "a")), "table": Decided(hands_on=("a",))}

    assert waits_for(earlier, READER) == ("a", "z")


def test_nobody_waits_for_what_is_left_as_it_is_or_not_in_the_plan():
    assert waits_for({"view": Decided(is_current=True)}, READER) == ()
