"""What `list` and `show` print."""

from dataclasses import replace

import pytest

from fakes.builders import a_model
from penstock.app.commands.show import ModelDetail
from penstock.core.findings import Location
from penstock.core.model import PythonFunction
from penstock.core.names import TableName
from penstock.plan.values import Reason, State
from penstock.strategies.view import View
from penstock.ui.commands.show import list_document, list_text, show_text

FUNCTION = PythonFunction(print, "", {}, params={"rate": 1.2, "of": ["né"]})


@pytest.mark.parametrize(("function", "language"), [(None, "SQL"), (FUNCTION, "Python")])
def test_the_text_of_a_model_is_headed_by_its_language(function, language):
    model = replace(a_model("a"), function=function)
    detail = ModelDetail(
        model=model,
        uri="",
        columns=(),
        inputs=(),
        sql="what it is made by",
        fingerprint=model.fingerprint,
        drift=Reason(State.CURRENT),
        version=None,
        record=None,
        executions=(),
        versions=(),
        checks=(),
    )

    assert f"\n{language}:\n  what it is made by" in show_text(detail)
    assert f"\n  {language.lower():<9} " in show_text(detail)


def test_a_list_is_a_table_that_cuts_nothing():
    models = [
        replace(
            a_model("a", strategy=View()), tags=("daily", "x"), where=Location("models/s/a.sql")
        ),
        replace(a_model("n" * 90), table=TableName("s", "b"), where=Location("models/s/b.sql")),
    ]

    assert list_text(models) == (
        f"NAME{' ' * 88}TABLE  STRATEGY  TAGS     FILE\n"
        f"a{' ' * 91}s.a    view      daily,x  models/s/a.sql\n"
        f"{'n' * 90}  s.b    table     -        models/s/b.sql"
    )


def test_parameters_are_listed_with_their_values():
    place = Location("models/s/a.py")
    models = [replace(a_model("a"), function=FUNCTION, where=place), a_model("b")]

    assert list_text(models).splitlines()[:2] == [
        "NAME  TABLE  STRATEGY  PARAMS               TAGS  FILE",
        'a     s.a    table     rate=1.2, of=["né"]  -     models/s/a.py',
    ]
    assert list_document(models)["models"][0]["params"] == {"rate": 1.2, "of": ("né",)}
