"""Many aggregates as few calls, and back."""

import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.strategies.checks.typed import Shared, described, shared

COLUMNS = Schema((Column("n", "int"), Column("t", "string")))
WANTED = {
    "_ps_n": "count(*)",
    "a": "CAST((MAX(`n`) < 5) AS STRING)",
    "b": "CAST(max(`n`) AS STRING)",
    "c": "count(CASE WHEN (`t` IN ('max(x)', 'b')) THEN 1 END)",
}
FEW = Shared(
    {
        "_ps_a1": "max(`n`)",
        "_ps_a2": "count(CASE WHEN (`t` IN ('max(x)', 'b')) THEN 1 END)",
    },
    {"a": "CAST((_ps_a1 < 5) AS STRING)", "b": "CAST(_ps_a1 AS STRING)", "c": "_ps_a2"},
)


def test_each_call_is_taken_once() -> None:
    assert shared(WANTED) == FEW


def test_what_is_observed_are_texts_of_the_calls_and_all_rows() -> None:
    assert FEW.counts == {
        "_ps_n": "count(*)",
        "_ps_a1": "CAST(max(`n`) AS STRING)",
        "_ps_a2": "CAST(count(CASE WHEN (`t` IN ('max(x)', 'b')) THEN 1 END) AS STRING)",
    }


def test_types_are_asked_without_rows() -> None:
    assert described(FEW.calls, COLUMNS) == (
        "SELECT max(`n`) AS `_ps_a1`, "
        "count(CASE WHEN (`t` IN ('max(x)', 'b')) THEN 1 END) AS `_ps_a2` "
        "FROM (SELECT CAST(NULL AS int) AS `n`, CAST(NULL AS string) AS `t`)"
    )


def test_what_is_wanted_is_put_together_from_values() -> None:
    types = Schema((Column("_ps_a1", "int"), Column("_ps_a2", "bigint")))

    assert FEW.put_together({"_ps_a1": "7", "_ps_a2": None}, types) == (
        "SELECT CAST((_ps_a1 < 5) AS STRING) AS `a`, CAST(_ps_a1 AS STRING) AS `b`, _ps_a2 AS `c` "
        "FROM VALUES (CAST('7' AS int), CAST(NULL AS bigint)) AS t(_ps_a1, _ps_a2)"
    )


def test_what_needs_a_row_is_not_taken_apart() -> None:
    assert shared({"a": "CAST(stddev(`n`) + max(`n`) AS STRING)"}) is None
    assert shared({"a": "CAST(max(`n`) > `n` AS STRING)"}) is None
    assert shared({"a": "CAST(abs(max(`n`)) AS STRING)"}) is None


def test_a_value_that_its_text_would_change_is_not_shared() -> None:
    assert FEW.is_exact(Schema((Column("a", "decimal(10,2)"), Column("b", "timestamp"))))
    assert not FEW.is_exact(Schema((Column("a", "binary"),)))


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ('max(`n`) <> "max(foo)"', '_ps_a1 <> "max(foo)"'),
        ("max(`n`) <> /* max(foo) */ 5", "_ps_a1 <> /* max(foo) */ 5"),
        ("max(`n`) -- that's max(all)\n <> 5", "_ps_a1 -- that's max(all)\n <> 5"),
    ],
)
def test_a_call_in_a_text_or_a_comment_is_none(condition, left) -> None:
    found = shared({"a": f"CAST(({condition}) AS STRING)"})

    assert found is not None
    assert found.calls == {"_ps_a1": "max(`n`)"}
    assert found.wanted == {"a": f"CAST(({left}) AS STRING)"}


def test_what_comes_after_a_comment_needs_a_row_too() -> None:
    assert shared({"a": "CAST(max(`n`) -- it's\n > `n` -- it's\n AS STRING)"}) is None
