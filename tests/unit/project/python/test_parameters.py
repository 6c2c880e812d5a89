"""Parameters with values: types, findings, what counts as a change."""

import datetime as dt
import enum
import inspect
from decimal import Decimal
from typing import Annotated, Literal, NewType

import numpy as np
import pytest

import penstock
from penstock.core.errors import ProjectError
from penstock.project.load import load_project
from penstock.project.python.parameters import (
    WrongParameterError,
    param,
    plain_value,
    read_parameter,
)

PLACE = "models/m/pipeline.py"
RATED = """
    import penstock

    @table
    def orders(rate: float = penstock.param(1.1)): ...
"""


Share = NewType("Share", float)


class Colour(enum.Enum):
    RED = "r"
    TWO = 2


def read(kind, value, default=0):
    """Read a value as a parameter of that annotation does."""
    parameter = inspect.Parameter(
        "it", inspect.Parameter.KEYWORD_ONLY, default=param(default), annotation=kind
    )
    return read_parameter(parameter, read, value)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (float, "1.2", 1.2),
        (float, 3, 3.0),
        (int, "-7", -7),
        (bool, "False", False),
        (bool, True, True),
        (str, " a b ", " a b "),
        (str, "", ""),
        (Decimal, "1.20", Decimal("1.20")),
        (Decimal, 1.2, Decimal("1.2")),
        (dt.date, "2024-03-01", dt.date(2024, 3, 1)),
        (dt.datetime, "2024-03-01T12:00:00", dt.datetime(2024, 3, 1, 12)),  # noqa: DTZ001
        (dt.timedelta, "1 day", dt.timedelta(days=1)),
        (Literal["nl", 2], "2", 2),
        (Colour, "r", Colour.RED),
        (Colour, "2", Colour.TWO),
        (int | None, None, None),
        (int | str, "12", 12),
        (str | int, "x", "x"),
        (list[int], ["1", 2], [1, 2]),
        (tuple[str, ...], ["a"], ("a",)),
        (dict[str, float], {"a": "1"}, {"a": 1.0}),
        ("float", "1.5", 1.5),
        ("Decimal", "1.5", Decimal("1.5")),
        (inspect.Parameter.empty, "4", 4),
        (tuple[int, str], ["1", "x"], (1, "x")),
        (Annotated[list[Annotated[int, "days"]], "of a week"], ["1"], [1]),
        (Share, "0.5", 0.5),
        (int, np.int64(7), 7),
    ],
)
def test_a_value_has_the_type_of_the_annotation(kind, value, wanted):
    found = read(kind, value)

    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (float, "high", "a number"),
        (float, True, "a number"),
        (int, 1.5, "a whole number"),
        (int, "1.5", "a whole number"),
        (int, None, "a whole number"),
        (tuple[int, str], [1], "a list of 2 values"),
        (bool, "yes", "true or false"),
        (bool, 1, "true or false"),
        (str, 12, "a text"),
        (Decimal, "x", "a decimal number"),
        (dt.date, "2024-13-01", "a date such as 2024-03-01"),
        (dt.date, dt.datetime(2024, 3, 1, tzinfo=dt.UTC), "a date such as 2024-03-01"),
        (dt.datetime, "noon", "a time such as 2024-03-01T12:00:00"),
        (dt.timedelta, "1 month", "a duration such as '1 day'"),
        (Literal["nl", "be"], "de", "one of 'nl', 'be'"),
        (Colour, "blue", "one of 'r', 2"),
        (int | None, "x", "a whole number or nothing"),
        (list[int], "1", "a list such as [a, b]"),
        (list[int], ["x"], "a whole number"),
        (dict[str, int], ["x"], "a mapping such as {a: 1}"),
        (
            "Nowhere",
            "x",
            "of the type Nowhere, whose name is not there while the project is loaded",
        ),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_would_fit(kind, value, expected):
    with pytest.raises(WrongParameterError) as caught:
        read(kind, value)

    assert str(caught.value) == expected


def test_a_value_is_shown_and_compared_as_yaml_would_hold_it():
    value = {"b": {3, 1}, "a": [Colour.RED, Decimal("1.20"), "é\u2028", float("-inf")]}

    assert plain_value(value) == {"b": [1, 3], "a": ["r", "1.20", "é\u2028", "-inf"]}


def test_a_run_sets_a_parameter_and_the_project_may(files):
    files.models(RATED)

    default = files.load().models["orders"]
    files.write("penstock.yml", "name: shop\nvars: {rate: 2}\ntargets: {dev: {}}\n")
    project = files.load().models["orders"]
    given = load_project(files.root, environ={}, vars={"rate": "1.2"}).models["orders"]

    assert [each.function.values for each in (default, project, given)] == [
        {"rate": 1.1},
        {"rate": 2.0},
        {"rate": 1.2},
    ]
    assert len({each.fingerprint.settings for each in (default, project, given)}) == 3
    assert len({each.fingerprint.canonical for each in (default, project, given)}) == 1
    assert given.outside.splitlines()[1:] == ["parameter rate 1.2"]
    assert default.depends_on == ()


def test_the_same_value_written_in_another_way_is_no_change(files):
    files.models(RATED)

    found = [
        load_project(files.root, environ={}, vars={"rate": each}).models["orders"]
        for each in ("1.10", 1.1, "1.1")
    ]

    assert len({each.fingerprint for each in found}) == 1


def test_a_parameter_wins_over_a_model_of_its_name(files):
    files.models("""
        from penstock import param

        @table
        def rate(): ...

        @table
        def orders(rate=param(3)): ...
    """)

    assert files.load().models["orders"].depends_on == ()


def test_a_source_may_have_parameters(files):
    files.models("""
        from penstock import param

        @source(path="landing")
        def raw(df, *, day: str = param("2024-01-01")): ...

        @source
        def free(spark, day: str = param("2024-01-01")): ...
    """)

    project = files.load()

    assert project.models["raw"].function.values == {"day": "2024-01-01"}
    assert project.models["free"].function.values == {"day": "2024-01-01"}
    assert project.models["free"].function.reserved == {"spark"}


def test_values_that_do_not_fit_are_all_reported_with_their_place(files):
    files.models("""
        from penstock import param

        @table
        def a(rate: int = param(1.5)): ...

        @table
        def b(window: int = param(1), day: "Day" = param(0), api_key: int = param("s3cret")): ...

        @table
        def c(thing=param(object)): ...
    """)

    with pytest.raises(ProjectError) as caught:
        load_project(files.root, environ={}, vars={"day": "x"})

    assert sorted((f.code, str(f.where), f.sentence, f.hint) for f in caught.value.findings) == [
        (
            "bad-value",
            f"{PLACE}:12",
            (
                "parameter 'thing' of 'c' is function(…); it must be text, numbers, dates, or "
                "lists and mappings of them"
            ),
            "change param(…)",
        ),
        (
            "bad-value",
            f"{PLACE}:6",
            "parameter 'rate' of 'a' is 1.5; it must be a whole number",
            "change param(…)",
        ),
        (
            "bad-value",
            f"{PLACE}:9",
            "parameter 'api_key' of 'b' is a secret; it must be a whole number",
            "change param(…)",
        ),
        (
            "bad-value",
            f"{PLACE}:9",
            (
                "parameter 'day' of 'b' is 'x'; it must be of the type Day, whose name is not "
                "there while the project is loaded"
            ),
            "change day in --vars, params= or vars:",
        ),
        (
            "reserved-name",
            f"{PLACE}:9",
            "parameter 'window' of 'b' has a value, and its name a meaning of its own",
            "rename it",
        ),
    ]


def test_a_secret_is_given_and_neither_stored_nor_shown(files):
    files.models("""
        from penstock import param

        @table
        def a(api_key: str = param("")): ...
    """)

    model = load_project(files.root, environ={}, vars={"api_key": "s3cret"}).models["a"]

    assert model.function.values == {"api_key": "s3cret"}
    assert (model.params, model.outside) == ({}, "")


def test_outside_a_run_the_function_has_its_defaults():
    @penstock.table
    def scaled(numbers, factor: int = param(2), *, plus=param(1)):  # noqa: B008  its place
        return [factor * each + plus for each in numbers]

    assert scaled([1, 2]) == [3, 5]
    assert scaled([1, 2], 3) == [4, 7]
    assert scaled(numbers=[1], plus=0) == [2]
    assert inspect.signature(scaled) == inspect.signature(scaled.function)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        scaled()
