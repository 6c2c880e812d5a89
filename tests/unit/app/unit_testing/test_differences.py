"""Rows are compared as typed multisets."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.app.unit_testing.differences import (
    Comparison,
    RowLine,
    RowsDiffer,
    cell_text,
    identity,
    pairing,
    summary,
)
from penstock.core.columns.types import parse_type

COLUMNS = tuple(
    (name, parse_type(kind))
    for name, kind in (("id", "int"), ("x", "double"), ("s", "string"), ("d", "decimal(4,2)"))
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "0", "1", "2"]),
        st.sampled_from([None, "0.0", "-0.0", "NaN", "1.0", "Infinity"]),
        st.sampled_from([None, "", "NULL", "-0.0"]),
        st.sampled_from([None, "1.50", "2.00"]),
    ),
    max_size=6,
)


def same(row: tuple[str | None, ...]) -> object:
    """Say what is equal, in other words than the code under test."""
    return (row[0], row[1] and abs(float(row[1])) and row[1], *row[2:])


@given(ROWS, ROWS, st.randoms(use_true_random=False))
def test_rows_pass_exactly_when_the_multisets_are_equal(one, other, random) -> None:
    mixed = random.sample(other, len(other))
    equal = Counter(map(same, one)) == Counter(map(same, other))

    for key in ((), ("ID",), ("id", "s")):
        assert (Comparison(COLUMNS, key).differ("rows", one, mixed) is None) == equal


@given(ROWS, st.randoms(use_true_random=False))
def test_permuting_rows_or_keys_changes_nothing(rows, random) -> None:
    mixed = random.sample(rows, len(rows))
    places = random.sample(range(len(COLUMNS)), len(COLUMNS))
    turned = [tuple(row[at] for at in places) for row in mixed]
    columns = tuple(COLUMNS[at] for at in places)
    straight = [tuple(row[at] for at in places) for row in rows]

    assert Comparison(COLUMNS).differ("rows", rows, mixed) is None
    assert Comparison(columns).differ("rows", straight, turned) is None


@given(ROWS, ROWS)
def test_every_row_that_only_one_side_has_is_told_once(expected, found) -> None:
    differ = Comparison(COLUMNS, ("id",)).differ("rows", expected, found)

    if differ is not None:
        changed = differ.count("~")
        assert len(expected) - len(found) == differ.count("-") - differ.count("+")
        assert changed + differ.count("-") <= len(expected)
        assert changed + differ.count("+") <= len(found)


def test_rows_of_one_key_are_shown_as_one_row_that_changed() -> None:
    columns = COLUMNS[:1] + COLUMNS[2:3]
    differ = Comparison(columns, ("id",)).differ(
        "rows", [("1", "a"), ("2", "b"), ("2", "c")], [("1", "x"), ("3", "b"), ("3", "b")]
    )

    assert differ == RowsDiffer(
        "rows",
        3,
        3,
        ("id", "s"),
        (
            RowLine("~", ("1", "a -> x")),
            RowLine("-", ("2", "b")),
            RowLine("-", ("2", "c")),
            RowLine("+", ("3", "b"), 2),
        ),
        ("id",),
    )
    assert summary(differ) == (
        "rows: 3 expected, 3 found: 1 changed, 2 missing, 2 unexpected (key: id)"
    )


def test_a_tolerance_is_for_floats_alone_and_pairs_as_many_rows_as_it_can() -> None:
    columns = COLUMNS[1:2] + COLUMNS[3:]
    near = Comparison(columns, tolerance=0.1)

    def same(one: list[object], other: list[object]) -> bool:
        return near.differ("rows", one, other) is None

    assert same([("1.0", None), ("1.08", None)], [("1.09", None), ("1.17", None)])
    assert same([("NaN", None)], [("NaN", None)])
    assert not same([("1.0", None)], [(None, None)])
    assert not same([("0.0", "1.00")], [("0.0", "1.01")])


def test_doubles_in_maps_may_differ_by_the_tolerance_and_their_keys_may_not() -> None:
    near = Comparison((("m", parse_type("map<string,array<double>>")),), tolerance=0.1)

    def same(one: object, other: object) -> bool:
        return near.differ("rows", [(one,)], [(other,)]) is None

    assert same((("a", ("1.0",)), ("b", None)), (("b", None), ("a", ("1.05",))))
    assert not same((("a", ("1.0",)),), (("a", ("1.5",)),))
    assert not same((("a", ("1.0",)),), (("b", ("1.0",)),))


def test_rows_move_to_other_partners_however_many_must() -> None:
    near = [[at, at + 1] for at in range(2_000)]

    pairs = pairing([*near, [0]])

    assert pairs == {0: 2_000} | {at: at - 1 for at in range(1, 2_001)}


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (("1.0", "NaN"), ("1.0", "NaN"), "array<double>"),
        ((("a", "1"), ("b", None)), (("b", None), ("a", "1")), "map<string,int>"),
        ((None, "-0.0"), (None, "0.0"), "struct<a:int,b:double>"),
    ],
)
def test_nested_values_are_equal_inside(one, other, kind) -> None:
    assert identity(one, parse_type(kind)) == identity(other, parse_type(kind))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("0.1", "double", "0.1"),
        (("a", None), "array<string>", "[a, NULL]"),
        (("1", "x y"), "struct<a:int,b:string>", "{a: 1, b: x y}"),
        ((("k", "1"),), "map<string,int>", "{k: 1}"),
        ("a\nb", "string", "'a\nb'"),
    ],
)
def test_values_are_shown_as_short_as_they_can_be(value, kind, text) -> None:
    assert cell_text(value, parse_type(kind)) == text
