"""What a check says of itself, and when failing rows are too many."""

from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from fakes.check_inputs import a_check, column_check
from penstock.core.checks.check import ANY_ROW, Check, Checks, CheckScope, Threshold, Thresholds
from penstock.core.checks.check_type import (
    CheckKey,
    CheckType,
    GroupMeasures,
    KeyKind,
    Measure,
    check_types,
    key,
    parts_of,
    register_check,
    with_parts,
)
from penstock.core.columns.schema import Column
from penstock.core.findings import Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query, mention, parameter
from penstock.strategies.checks.types import NotNull, Relationships, RowCount, SqlCheck, Unique

THIS, USERS = InputName(InputKind.THIS, ""), InputName(InputKind.MODEL, "users")


@pytest.mark.parametrize(
    ("sign", "met"),
    [(">", [4]), (">=", [3, 4]), ("<", [2]), ("<=", [2, 3]), ("=", [3]), ("!=", [2, 4])],
)
def test_a_threshold_compares_a_count_of_rows(sign, met):
    threshold = Threshold(sign, Decimal(3))

    assert [count for count in (2, 3, 4) if threshold.is_met(count, 100)] == met
    assert str(threshold) == f"{sign} 3"


def test_a_share_is_exact_and_that_of_no_rows_is_nothing():
    third = Threshold(">", Decimal("33.3"), percent=True)
    between = Threshold("between", Decimal(2), Decimal(4))

    assert [third.is_met(1, rows) for rows in (3, 4, 0)] == [True, False, False]
    assert [each for each in range(6) if between.is_met(each, 9)] == [2, 3, 4]
    assert [str(third), str(between)] == ["> 33.3 %", "between 2 and 4"]
    assert [ANY_ROW.is_met(count, 9) for count in (0, 1)] == [False, True]


def test_an_error_goes_before_a_warning():
    both = Thresholds(Threshold(">", Decimal(5)), Threshold(">", Decimal(1)))

    assert [both.severity_of(count, 9) for count in (1, 2, 6)] == [
        None,
        Severity.WARNING,
        Severity.ERROR,
    ]
    assert Thresholds().severity_of(9, 9) is None


def a_query(*inputs, text="select 1"):
    text = " ".join((text, *(mention(each) for each in inputs)))
    return Query(text, text, text, inputs)


def sql_check(*inputs, **changes):
    return a_check(SqlCheck(a_query(*inputs)), **changes)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (a_check(NotNull(("n",))), False),
        (a_check(NotNull(("n",)), scope=CheckScope.TABLE), True),
        (sql_check(), True),
        (a_check(NotNull(("n",)), query=a_query(USERS)), False),
        (a_check(NotNull(("n",)), query=a_query(USERS, THIS)), True),
        (a_check(Relationships(("n",), THIS, ("id",))), True),
        (a_check(Relationships(("n",), USERS, ("id",))), False),
    ],
)
def test_a_check_reads_the_table_where_its_own_rows_are_not_all(check, expected):
    assert check.reads_table is expected


def test_a_check_rides_on_a_write_unless_it_asks_for_rows_of_its_own():
    observed = a_check(NotNull(("n",)))
    others = [
        a_check(Unique(("n",))),
        replace(observed, scope=CheckScope.TABLE),
        replace(observed, query=a_query()),
    ]

    assert [each.is_observable for each in (observed, *others)] == [True, False, False, False]
    hidden = a_check(column_check("n", "min({column}) > 0"))
    (condition,) = hidden.conditions
    where = replace(condition, observable=False)
    assert (hidden.is_observable, replace(hidden, condition=where).is_observable) == (True, False)
    assert replace(hidden, condition=where).conditions == (where, condition)


def test_sql_that_names_the_partition_gives_each_group_a_result_of_its_own():
    names = ("partition_date", "start_date", "end_date", "run_date")
    texts = [a_query(text=f"select {parameter(name)}") for name in names]

    assert [a_check(SqlCheck(each)).differs_by_group for each in texts] == [True] * 3 + [False]
    assert not a_check(NotNull(("n",))).differs_by_group
    assert a_check(NotNull(("n",)), query=texts[0]).differs_by_group
    assert sql_check().own_query == a_query()


def test_only_a_gate_after_a_step_can_stop_what_it_made():
    gate = a_check(NotNull(("n",)))
    warning: Check = replace(gate, severity=Severity.WARNING)

    assert [gate.is_gate, warning.is_gate] == [True, False]
    assert Checks((gate,), (warning,)).has_gate_after is False
    assert Checks((), (warning, gate)).has_gate_after is True
    assert Checks((gate,), (warning,)).all == (gate, warning)


def test_a_type_tells_its_columns_parts_and_whether_it_counts_rows():
    of_rows, of_group = (
        column_check("n", "{column} > 0"),
        column_check("n", "min({column}) > 0"),
    )

    assert [each.columns_named for each in (NotNull(("a", "b")), of_rows, RowCount(1))] == [
        ("a", "b"),
        ("n",),
        (),
    ]
    assert [each.counts_rows for each in (NotNull(("a",)), of_rows, of_group, RowCount(1))] == [
        True,
        True,
        False,
        False,
    ]
    to = Relationships(("n",), USERS, ("id",))
    assert parts_of(to, InputName) == (USERS,)
    assert with_parts(to, InputName, lambda _: THIS) == replace(to, to=THIS)
    assert with_parts(to, Query, lambda _: None) is to


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("array<int>", ""),
        ("map<int,int>", 'type not comparable: column "n" is MAP<INT,INT>'),
        ("struct<a:variant>", 'type not comparable: column "n" is STRUCT<A:VARIANT>'),
    ],
)
def test_maps_and_variants_are_not_compared(kind, expected):
    assert Unique(("n",)).refusal_of(Column("n", kind)) == expected
    assert NotNull(("n",)).refusal_of(Column("n", kind)) == ""


def test_counts_are_0_where_nothing_was_counted_and_spare_ones_are_not_needed():
    found = GroupMeasures({"rows": "3", "failures": None})
    asked = {"rows": "a", "failures": "b"}

    assert (found.rows, found.failures, found.count("x")) == (3, 0, 0)
    assert Measure(asked, lambda _: None).needed == asked
    assert Measure(asked, lambda _: None, spare=True).needed == {"rows": "a"}


def test_a_check_and_a_type_say_their_word_and_what_they_do_not_do():
    check = a_check(NotNull(("n",)))

    assert check.type == "not_null"
    assert (RowCount(1).is_of_current, RowCount(1).runs_before, RowCount(1).literals) == (
        *(False, None, ()),
    )
    assert RowCount(1).lookup({}) is None
    with pytest.raises(ValueError, match="sql is not a typed check"):
        SqlCheck(a_query()).measure(None)


def test_a_word_has_one_type():
    class Other(CheckType):
        name = "not_null"

    register_check(NotNull)
    assert check_types()["not_null"] is NotNull
    with pytest.raises(ValueError, match="'not_null' is NotNull already"):
        register_check(Other)


def test_a_key_is_a_field_that_must_be_there_unless_something_holds_without_it():
    @dataclass
    class Rule(CheckType):
        column: str = key("column", KeyKind.COLUMN, "its column", "id")
        strict: bool = key("strict", KeyKind.FLAG, "more", True, unset="no")
        least: int | None = key("least", KeyKind.COUNT, "rows", 3, unset="any")
        shown: str = ""

        other_keys = (CheckKey("mode", KeyKind.CHOICE, "one of two", "a"),)

    assert (Rule("n").strict, Rule("n").least) == (False, None)
    with pytest.raises(TypeError, match="column"):
        Rule()
    assert [(name, each.name, each.default, each.unset) for name, each in Rule.own_keys()] == [
        ("column", "column", None, None),
        ("strict", "strict", False, "no"),
        ("least", "least", None, "any"),
        ("mode", "mode", False, "none"),
    ]
    assert Rule.settle(None, {"column": "n"}) == {"column": "n"}
