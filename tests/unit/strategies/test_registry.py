"""What other rooms may take for granted of each strategy and each type of check."""

import pytest

from penstock.core.checks.check_type import CheckType
from penstock.core.strategy import Strategy, strategies
from penstock.strategies.checks.types import CHECK_TYPES


def true_of(kind, base):
    """Give the flags of a class that are true, of those that its base has."""
    flags = (name for name, value in vars(base).items() if isinstance(value, bool))
    return {name for name in flags if getattr(kind, name)}


@pytest.mark.parametrize(
    ("word", "flags"),
    [
        ("view", {"is_written", "rerun_is_safe", "is_view"}),
        ("frame", {"rerun_is_safe", "is_view"}),
        ("table", {"is_written", "rerun_is_safe", "takes_feed"}),
        ("append", {"is_written", "takes_feed", "is_incremental", "adds_again"}),
        ("merge", {"is_written", "is_incremental", "hides_rows"}),
        ("partition", {"is_written", "rerun_is_safe"}),
        ("snapshot", {"is_written", "rerun_is_safe", "hides_rows"}),
        ("overwrite", {"takes_feed", "rerun_is_safe", "is_incremental"}),
    ],
)
def test_a_strategy_says_how_its_steps_may_be_run(word, flags):
    kind = strategies()[word]

    assert true_of(kind, Strategy) == flags
    assert (kind.keeps_rows is True) is (word in {"append", "merge", "overwrite"})


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("row_count", {"is_observable", "counts_empty"}),
        ("distinct_count", {"counts_empty", "compares"}),
        ("null_percentage", {"is_observable", "stores_rows"}),
        ("row_count_change", {"only_after", "is_observable", "counts_empty"}),
        ("anomaly", {"only_after", "is_observable", "counts_empty"}),
        ("schema", {"is_observable", "counts_empty"}),
        ("sql", {"is_alone", "has_failing"}),
        ("column_check", {"is_observable", "has_failing"}),
        ("relationships", {"is_alone", "has_failing"}),
        ("unique", {"has_failing", "compares", "reads_whole"}),
        ("not_null", {"is_observable", "has_failing"}),
        ("accepted_values", {"is_observable", "has_failing", "compares", "lists_values"}),
        ("value_range", {"is_observable", "has_failing", "compares"}),
        ("freshness", {"is_observable"}),
    ],
)
def test_a_type_of_check_says_how_it_may_be_measured(name, flags):
    (kind,) = (each for each in CHECK_TYPES if each.name == name)

    assert true_of(kind, CheckType) == flags | (set() if name == "sql" else {"takes_rows"})
