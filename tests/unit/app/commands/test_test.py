"""Which tests run: by model, by tag of model or test, by name."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project
from penstock.app.commands.test import chosen
from penstock.app.request import UnitTestRequest
from penstock.core.errors import SelectorError
from penstock.core.findings import Location
from penstock.project.unit_tests.definition import UnitTest

PROJECT = a_project(a_model("users", tags=("daily",)), a_model("orders", "users"), a_model("bare"))
TESTS = tuple(
    UnitTest(name, model, Location("tests/t.yml", line), (), tags=tags)
    for line, (name, model, tags) in enumerate(
        [("a", "users", ()), ("b", "users", ("quick",)), ("c", "orders", ())], 1
    )
)


def names(*select: str, exclude: tuple[str, ...] = (), tests: tuple[str, ...] = ()) -> str:
    return "".join(
        t.name
        for t in chosen(
            PROJECT, TESTS, UnitTestRequest(select=select, exclude=exclude, tests=tests)
        )
    )


def test_selectors_choose_models_and_tags_choose_tests_too() -> None:
    assert names() == "abc"
    assert names("users") == "ab"
    assert names("users+") == "abc"
    assert names("tag:quick") == "b"
    assert names("tag:daily") == "ab"
    assert names("tag:quick orders") == "bc"
    assert names(exclude=("tag:quick",)) == "ac"
    assert names("users", tests=("b",)) == "b"
    assert names(tests=("[ac]",)) == "ac"


def test_a_name_matches_itself_whatever_its_signs_mean_in_a_pattern() -> None:
    tests = (replace(TESTS[0], name="sum[1]"), replace(TESTS[1], name="sum1"))

    found = chosen(PROJECT, tests, UnitTestRequest(tests=("sum[1]",)))

    assert [test.name for test in found] == ["sum[1]", "sum1"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"select": ("usrs",)}, "'usrs' matches no model"),
        ({"select": ("tag:none",)}, "no model has tag 'none'; there are: daily"),
        ({"select": ("bare",)}, "'bare' selects no unit test"),
        ({"tests": ("d",)}, "no unit test is called 'd'"),
    ],
)
def test_what_matches_nothing_is_an_error(asked, said) -> None:
    with pytest.raises(SelectorError, match=said) as error:
        chosen(PROJECT, TESTS, UnitTestRequest(**asked))

    assert error.value.exit_code == 2
