"""What functions of a project may return and raise, without a JVM."""

import pandas as pd
import pytest

from fakes.wording import unhelpful
from penstock.core.errors import ModelFailedError, PythonModelError
from penstock.core.findings import Location
from penstock.core.model import PythonFunction
from penstock.core.steps.inputs import FunctionRead
from penstock.engine.functions import call
from penstock.project.python.declare import Registry
from penstock.project.python.decorators import Decorators

WHERE = Location("models/t.py", 3)


def called(function):
    """Call a function as the model `t`, with a session that nothing asks."""
    return call(object(), FunctionRead("t", WHERE, PythonFunction(function, "", {}), {}))


def orders():
    """Return nothing."""


@pytest.mark.parametrize(
    ("returned", "sentence", "hint"),
    [
        (None, "'t' returned None", "return a DataFrame"),
        (3, "'t' returned a value of type int", "return a DataFrame"),
        (pd.Series([1]), "'t' returned a Series of pandas", "to_frame()"),
        (
            pd.DataFrame({1: [1]}),
            (
                "'t' returned a pandas DataFrame that Spark cannot take: "
                "its column 1 has no text as its name"
            ),
            "convert its columns, or declare their types with schema=",
        ),
        (
            type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})(),
            "'t' returned a DataFrame of Spark Connect",
            "build it with the parameter spark, or with an input",
        ),
        (
            Decorators(Registry()).table(orders),
            "'t' returned the function 'orders', not its rows",
            "add the parameter orders",
        ),
    ],
)
def test_what_is_no_frame_is_named_with_the_way_out(returned, sentence, hint):
    with pytest.raises(PythonModelError) as caught:
        called(lambda: returned)

    error = caught.value
    assert (error.code, error.sentence, error.hint) == ("not-a-frame", sentence, hint)
    assert unhelpful(error.code, error.sentence, error.hint) == []


def test_an_error_whose_text_begins_on_the_second_line_is_told():
    def function():
        raise ValueError("\n  rows differ\n  1 of 2\n")

    with pytest.raises(ModelFailedError) as caught:
        called(function)

    assert caught.value.sentence == "'t' raised ValueError: rows differ"
