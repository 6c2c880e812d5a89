"""The classes of a source's rows where intervals begin when the rows say."""

from dataclasses import replace

import pytest

from penstock.core.history import HardDeletes
from penstock.strategies.history.event_time import classify_by_current
from unit.strategies.history.test_commit_statements import CHECK, sides

BY_TIME = replace(CHECK, event_time=True)


@pytest.mark.parametrize(
    ("deletes", "joined"),
    [(HardDeletes.IGNORE, "LEFT"), (HardDeletes.INVALIDATE, "FULL OUTER")],
)
def test_keys_that_the_source_lacks_are_looked_at_only_where_that_ends_them(deletes, joined):
    _, found = sides(replace(BY_TIME, hard_deletes=deletes))

    sql = classify_by_current(found)

    assert [f" {kind} JOIN (" in sql for kind in ("LEFT", "FULL OUTER")] == [
        joined == "LEFT",
        joined == "FULL OUTER",
    ]
