"""What `list` prints."""

from dataclasses import replace

from fakes.builders import a_model
from penstock.core.findings import Location
from penstock.core.names import TableName
from penstock.strategies.view import View
from penstock.ui.render.show import list_text


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
