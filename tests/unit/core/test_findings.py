import pytest

from penstock.core.errors import error_of_warnings
from penstock.core.findings import HINTS, Finding, Location, Severity, some

WHERE = Location("models/a.sql", 3)


@pytest.mark.parametrize(
    ("items", "between", "expected"),
    [
        ([], ", ", ""),
        (["a"], ", ", "a"),
        (["a", "b"], ", ", "a, b"),
        (["a", "b", "c"], ", ", "a, b and 1 more"),
        (["a", "b", "c"], "; ", "a; b; and 1 more"),
    ],
)
def test_the_first_items_are_named_and_the_others_counted(items, between, expected):
    assert some(items, 2, between) == expected


def test_a_finding_says_its_place_code_sentence_and_hint():
    error = Finding(WHERE, "no-code", "no", "do")
    warning = Finding(WHERE, "no-code", "no", severity=Severity.WARNING)

    assert str(error) == "models/a.sql:3: error: no-code: no\n  hint: do"
    assert str(warning) == "models/a.sql:3: warning: no-code: no"
    assert [(each.is_error, each.is_warning) for each in (error, warning)] == [
        (True, False),
        (False, True),
    ]


def test_a_code_has_a_hint_for_places_that_have_none():
    code, hint = next(iter(HINTS.items()))

    assert Finding(WHERE, code, "no").hint == hint
    assert Finding(WHERE, code, "no", "do").hint == "do"


def test_warnings_are_one_error_and_none_is_no_error():
    error = error_of_warnings(["a-code: it is: so", "b-code: too"], WHERE)

    assert (error.code, error.sentence, error.where) == ("a-code", "it is: so; b-code: too", WHERE)
    assert error_of_warnings([], WHERE) is None


def test_findings_sort_by_file_line_column_and_code():
    places = [Location("a", 2, 1), Location("a", 2, 2), Location("a", 10), Location("b", 1)]
    inside = [Finding(each, code, "no") for each in places for code in ("a-code", "b-code")]
    turned = [*reversed(inside)]

    assert sorted(turned) == inside
    assert Finding(WHERE, "a-code", "no", about=("m",)) == Finding(WHERE, "a-code", "no")


def test_a_place_leaves_out_a_column_that_is_not_known():
    assert [str(Location("a.sql", 3, column)) for column in (0, 7)] == ["a.sql:3", "a.sql:3:7"]
    assert str(Location("a.sql")) == "a.sql:1"
