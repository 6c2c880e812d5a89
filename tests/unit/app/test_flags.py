"""What follows from a flag that is declared at a field."""

import datetime as dt
import inspect
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import pytest

from penstock.app.flags import (
    FlagField,
    FlagSpec,
    command_words,
    flag_fields,
    given_flags,
    read_variables,
    takes,
)
from penstock.app.request import CommandRequest
from penstock.core.errors import UsageError

WHAT = FlagSpec("Which ones.", ("--pick", "-p"), "NAME", read=tuple)
ALIAS = FlagSpec("The same.", ("--choose",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(CommandRequest):
    at: Annotated[dt.datetime | None, FlagSpec("When.")] = None


@dataclass(frozen=True, slots=True)
class Asked(Timed):
    project: Annotated[str, FlagSpec("Where.")] = "."
    _: KW_ONLY
    pick: Annotated[Sequence[str], WHAT, ALIAS] = ()
    many: Annotated[int | None, FlagSpec("How many.", least=1)] = None
    keep: Annotated[bool, FlagSpec("Keep nothing.")] = True
    inner: str = ""


def test_a_command_has_its_own_flags_first_and_those_of_every_command_last():
    names = [each.name for each in flag_fields(Asked)]

    assert names == ["pick", "many", "keep", "at", "project", "target", "variables"]


def test_a_field_says_type_default_and_flags():
    assert flag_fields(Asked)[0] == FlagField("pick", Sequence[str], (), (WHAT, ALIAS))


@pytest.mark.parametrize(
    ("number", "options"),
    [(0, ["--pick", "--choose"]), (1, ["--many"]), (2, ["--no-keep"])],
)
def test_options_are_called_as_the_field_is_unless_they_have_names(number, options):
    assert flag_fields(Asked)[number].options == options


def test_what_was_given_is_read_and_kept():
    assert Asked(pick=["a", "b"]).pick == ("a", "b")


def test_a_number_below_the_least_is_refused():
    with pytest.raises(UsageError) as caught:
        Asked(many=0)

    assert (caught.value.code, caught.value.sentence) == (
        "bad-value",
        "--many 0 is not between 1 and 2,147,483,647",
    )


def test_flags_are_named_as_they_were_typed():
    asked = Asked(pick=["a"], keep=False)

    assert given_flags(asked, ["pick", "many", "keep"]) == ["--pick", "--no-keep"]
    assert given_flags(asked, ["pick"], ["run", "--choose=a"]) == ["--choose"]


def test_a_request_can_be_asked_for_again():
    at = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    asked = Asked(pick=["a", "b c"], many=3, keep=False, at=at, variables={"x": "1"})

    assert command_words(asked, ["pick", "many", "keep", "at", "variables", "not_there"]) == [
        *("--pick", "a", "--pick", "b c", "--many", "3", "--no-keep"),
        *("--at", "2024-03-01T00:00:00Z", "--vars", "x=1"),
    ]
    assert command_words(Asked(), ["pick", "many", "keep", "at", "variables"]) == []


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["day=2024-03-01"], {"day": "2024-03-01"}),
        (["url=a:b={c}", " n = 3 "], {"url": "a:b={c}", "n": " 3 "}),
        (["{n: 3, day: 2024-03-01, l: [a, 1]}"], {"n": 3, "day": "2024-03-01", "l": ["a", 1]}),
        (['{"on": true, "none": null}'], {"on": True, "none": None}),
        (["a: b=c\nd: yes"], {"a": "b=c", "d": True}),
        (["n=1", "n: 2", "{m: 3}"], {"n": 2, "m": 3}),
    ],
)
def test_variables_are_texts_or_yaml_or_json(texts, found):
    assert read_variables(texts) == found


@pytest.mark.parametrize("text", ["x", "=3", "[1]", "{a: 1", "a: 1\na: 2", ""])
def test_variables_of_another_form_are_refused(text):
    with pytest.raises(
        UsageError, match=r"--vars: .* is not NAME=VALUE, nor YAML or JSON"
    ) as caught:
        read_variables([text])

    assert caught.value.hint == "--vars day=2024-03-01 or --vars '{day: 2024-03-01, days: 3}'"


def test_variables_of_a_request_can_be_typed_again():
    given = {"day": "2024-03-01", "n": 3, "l": ["a b"], "a:b": "c"}
    words = command_words(Asked(variables=given), ["variables"])

    assert words == [
        *("--vars", "day=2024-03-01", "--vars", '{"n": 3}'),
        *("--vars", '{"l": ["a b"]}', "--vars", '{"a:b": "c"}'),
    ]
    assert read_variables(words[1::2]) == given


def test_a_function_of_a_request_takes_its_fields():
    @takes(Asked)
    def ask(request: Asked) -> int:
        """Ask."""
        return request.many or 0

    shown = inspect.signature(ask)
    assert ask("shop", many=3) == 3
    assert next(iter(shown.parameters)) == "project"
    assert shown.parameters["many"].annotation == int | None
    assert "many (--many): How many." in ask.__doc__
