"""What `list` prints."""

from penstock.app.commands.show import ModelInfo
from penstock.core.names import TableName
from penstock.ui.render.show import list_text


def test_a_list_is_a_table_that_cuts_nothing():
    models = [
        ModelInfo("a", TableName("s", "a"), "sql", "view", ("daily", "x"), "models/s/a.sql"),
        ModelInfo("n" * 90, TableName("s", "b"), "sql", "table", (), "models/s/b.sql"),
    ]

    assert list_text(models) == (
        f"NAME{' ' * 88}TABLE  STRATEGY  TAGS     FILE\n"
        f"a{' ' * 91}s.a    view      daily,x  models/s/a.sql\n"
        f"{'n' * 90}  s.b    table     -        models/s/b.sql"
    )
