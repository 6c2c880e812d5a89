"""Which checks the rows of a table suggest."""

import re

import pytest

from fakes.check_inputs import a_check
from penstock.core.columns.schema import Column, Schema
from penstock.strategies.checks.suggest import (
    Details,
    details_of,
    profile_of,
    profile_query,
    suggestions,
)
from penstock.strategies.checks.types import AcceptedValues, NotNull, RowCount

KINDS = {
    "id": "bigint",
    "status": "string",
    "amount": "decimal(10,2)",
    "share": "double",
    "degrees": "double",
    "at": "timestamp",
    "tags": "map<string,string>",
}
COLUMNS = Schema(tuple(Column(name, kind) for name, kind in KINDS.items()))
PLACE = {name: place for place, name in enumerate(KINDS)}
ROW = {
    "n": 100,
    **{f"v{place}": 100 for place in PLACE.values()},
    **{f"d{place}": 50 for name, place in PLACE.items() if name != "tags"},
    **{f"{end}{PLACE['id']}": text for end, text in (("min", "1"), ("max", "100"))},
    **{f"{end}{PLACE['amount']}": text for end, text in (("min", "0.50"), ("max", "99.90"))},
    **{f"{end}{PLACE['share']}": text for end, text in (("min", "0.0"), ("max", "0.25"))},
    **{f"{end}{PLACE['degrees']}": text for end, text in (("min", "-3.5"), ("max", "38.0"))},
    f"d{PLACE['id']}": 97,
    f"d{PLACE['status']}": 3,
    f"v{PLACE['status']}": 96,
}


def changed(**columns):
    """Give the row with other answers: `id_d=5` is an estimate of 5 for `id`."""
    renamed = {}
    for name, value in columns.items():
        column, _, letter = name.rpartition("_")
        renamed[f"{letter}{PLACE[column]}" if column else name] = value
    return {**ROW, **renamed}


def proposed(row=ROW, counts=None, existing=(), declared=(), *, sample=True):
    profile = profile_of(row, COLUMNS)
    details = details_of(profile, declared, sample=sample)
    answers = {"k0": 100, "k1": 100, "e0": '["open","paid"]', **(counts or {})}
    return [
        (each.keys["type"], *(v for k, v in each.keys.items() if k != "type"), each.why)
        for each in suggestions(profile, details, answers, existing)
    ]


def test_what_all_rows_meet_is_proposed_with_what_it_is_based_on():
    assert proposed() == [
        ("row_count", 1, "100 rows"),
        ("not_null", "never_null", ("id", "amount", "share", "degrees", "at", "tags"),
         "no NULL in any of them"),
        ("null_percentage", "status", 10, "4 NULLs, 4.00 %"),
        ("unique", ("id",), "no value occurs twice"),
        ("value_range", "amount", 0, "0.5 to 99.9"),
        ("value_range", "share", 0, 1, "0 to 0.25"),
        ("value_range", "degrees", -3.5, 38, "-3.5 to 38"),
        ("accepted_values", "status", ("open", "paid"), "2 values"),
    ]  # fmt: skip


def test_what_the_model_has_is_left_out():
    existing = [
        a_check(RowCount(5), name="rows"),
        a_check(NotNull(("ID", "at")), name="nn"),
        a_check(AcceptedValues("status", ("x",)), name="s"),
    ]

    words = [each[:3] for each in proposed(existing=existing)]

    assert words[0] == ("not_null", "never_null", ("amount", "share", "degrees", "tags"))
    assert {"row_count", "accepted_values"}.isdisjoint(word for word, *_ in words)


def test_a_column_that_repeats_is_not_unique():
    assert "unique" not in {word for word, *_ in proposed(counts={"k0": 99})}


def test_a_declared_key_is_counted_first_and_pairs_only_without_another_key():
    profile = profile_of(changed(id_d=50, status_d=3, status_v=100), COLUMNS)

    def keys(*declared):
        return details_of(profile, declared, sample=True).keys

    assert keys("id", "at") == (("id", "at"),)
    assert keys("gone") == keys() == (("id", "status"),)


@pytest.mark.parametrize(
    ("answers", "values"),
    [
        ({"status_d": 21}, None),
        ({"status_d": 20}, None),  # 96 values are no five of each
        ({"status_d": 19}, ("open", "paid")),
        ({"status_d": 0, "status_v": 0}, None),
    ],
)
def test_few_values_that_repeat_are_listed(answers, values):
    found = [each[2] for each in proposed(changed(**answers)) if each[0] == "accepted_values"]

    assert found == ([values] if values else [])


def test_long_texts_are_no_enumeration():
    found = proposed(counts={"e0": f'["{"x" * 61}"]'})

    assert "accepted_values" not in {word for word, *_ in found}


@pytest.mark.parametrize("end", ["NaN", "Infinity"])
def test_what_is_no_number_bounds_nothing(end):
    found = [each[1] for each in proposed(changed(share_max=end)) if each[0] == "value_range"]

    assert found == ["amount", "degrees"]


def test_bounds_of_many_digits_are_texts():
    (found,) = [each for each in proposed(changed(
        degrees_min="-0.12345678901234567", degrees_max="1.0E-7")) if each[1] == "degrees"
    ]  # fmt: skip

    assert found[2:4] == ("-0.12345678901234567", "0.0000001")


def test_bounds_are_exact_and_of_any_size():
    odd = changed(degrees_min="-12345678901234567890.123456789012345678", degrees_max="1.0E300")
    (found,) = [each for each in proposed(odd) if each[1] == "degrees"]

    assert found[2:] == (
        "-12345678901234567890.123456789012345678",
        "1.0E+300",
        "-12345678901234567890.123456789012345678 to 1.0E+300",
    )


def test_without_rows_nothing_is_proposed():
    empty = dict.fromkeys(ROW, None) | {"n": 0} | {f"v{n}": 0 for n in PLACE.values()}

    assert proposed(empty) == []


def test_without_sample_only_counts_leave_spark():
    query = profile_query("SELECT 1", COLUMNS, sample=False)

    assert set(re.findall(r"([a-z_]+)\(", query)) == {"count", "approx_count_distinct"}
    assert details_of(profile_of(ROW, COLUMNS), (), sample=False).listed == ()


def test_both_looks_are_one_query_each():
    assert "map" not in profile_query("SELECT 1", COLUMNS, sample=True)
    assert Details((("a", "b`"),), ("s",)).query("SELECT 1") == (
        "SELECT count(DISTINCT `a`, `b```) AS k0, to_json(sort_array(collect_set(`s`))) AS e0 "
        "FROM (\nSELECT 1\n)"
    )


def test_checks_that_would_have_one_name_get_two():
    columns = Schema((Column("a b", "int"), Column("a_b", "int"), Column("a.b", "int")))
    row = {"n": 3} | {f"{key}{n}": value for n in range(3) for key, value in BETWEEN.items()}
    profile = profile_of(row, columns)
    existing = [a_check(RowCount(5), name="value_range_a_b")]

    found = suggestions(profile, Details((), ()), {}, existing)

    assert [each.keys.get("name") for each in found[1:]] == [
        "value_range_a_b_2",
        "value_range_a_b_3",
        None,
    ]


BETWEEN = {"v": 3, "d": 2, "min": "1", "max": "2"}
