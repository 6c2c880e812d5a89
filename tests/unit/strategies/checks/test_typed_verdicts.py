"""What no rows mean, and what was observed while rows were written."""

import pytest

from fakes.check_inputs import a_check, column_check
from penstock.core.checks.check_type import Empty, GroupMeasures
from penstock.core.columns.schema import Column, Schema
from penstock.core.statement import OBSERVED_ROWS
from penstock.strategies.checks.queries import alias
from penstock.strategies.checks.typed import measured, parameters_of, taken, verdict_of, with_texts
from penstock.strategies.checks.types import NotNull, RowCount, RowCountChange, ValueRange

COLUMNS = Schema((Column("n", "bigint"), Column("t", "string")))


def verdict(rule, rows=0, *, adds=False, **changes):
    check = a_check(rule, **changes)
    values = {"rows": rows, OBSERVED_ROWS: rows}
    found = verdict_of(check, measured(check, COLUMNS), GroupMeasures(values, adds=adds))
    return str(found.status), found.message, found.failures


@pytest.mark.parametrize(
    ("rule", "empty", "said"),
    [
        (NotNull(("n",)), None, ("passed", "no rows", 0)),
        (NotNull(("n",)), Empty.FAIL, ("failed", "no rows", 0)),
        (column_check("n", "MIN({column}) > 0"), Empty.FAIL, ("failed", "no rows", None)),
        (column_check("n", "MIN({column}) > 0"), Empty.PASS, ("passed", "no rows", None)),
        (RowCount(1), None, ("failed", "rows 0 < min 1", None)),
        (RowCount(1), Empty.PASS, ("passed", "no rows", None)),
    ],
)
def test_no_rows_mean_what_the_user_or_the_type_says(rule, empty, said):
    assert verdict(rule, empty=empty) == said


@pytest.mark.parametrize(
    ("rows", "adds", "empty", "message"),
    [
        (0, True, None, "nothing was written"),
        (0, True, Empty.PASS, "no rows"),
        (0, False, None, "no earlier execution"),
        (1, True, None, "no earlier execution"),
    ],
)
def test_a_quiet_run_of_what_adds_rows_is_no_change(rows, adds, empty, message):
    assert verdict(RowCountChange(None), rows, adds=adds, empty=empty)[1] == message
    assert verdict(NotNull(("n",)), adds=True) == ("passed", "no rows", 0)


def test_parameters_stand_in_the_conditions_of_a_check_and_are_put_in_all_of_them():
    check = a_check(column_check("t", "{column} = @partition_date"), where="n > @start_date")

    put = with_texts(check, str.upper)

    assert parameters_of(check) == {"partition_date", "start_date"}
    assert [each.text.isupper() for each in put.conditions] == [True, True]
    assert with_texts(a_check(RowCount(1)), str.upper).condition is None


def observed(rule, **values):
    """What is taken of observed values, by the names that they have in the measure."""
    means = measured(a_check(rule), COLUMNS)
    given = {alias(means.aggregates[name]): value for name, value in values.items()}
    found = taken(means, {OBSERVED_ROWS: 3, **given})
    names = {alias(sql): name for name, sql in means.aggregates.items()}
    return found and {names.get(key, key): value for key, value in found.items()}


def test_what_was_observed_is_taken_if_it_is_all_that_is_needed():
    assert observed(NotNull(("n",)), failures=2) == {"rows": "3", "failures": "2"}
    assert observed(NotNull(("n",))) is None


def test_a_sum_that_overflowed_is_no_answer_and_a_least_value_of_nothing_is_one():
    total, least = (column_check("n", f"{call}({{column}}) > 0") for call in ("SUM", "MIN"))
    names = [[*measured(a_check(each), COLUMNS).needed] for each in (total, least)]
    nothing = [dict.fromkeys(set(each) - {"rows"}) for each in names]

    assert observed(total, **nothing[0]) is None
    assert observed(least, **nothing[1]) == {"rows": "3", **nothing[1]}


def test_failures_that_were_not_counted_matter_only_where_a_check_fails():
    rule = ValueRange("n", "1", "9")
    good, bad = (
        {"min": "1", "max": "5", "below": below, "above": "false"} for below in ("false", "true")
    )

    assert "failures" not in measured(a_check(rule), COLUMNS).needed
    assert observed(rule, **good) == {"rows": "3", **good, "failures": "0"}
    assert observed(rule, **bad) is None
