"""Hooks after a step, and a process that is killed before, between or after them."""

import pytest

from fakes import delta_tables
from fakes.faulted import UNDISTURBED


@pytest.fixture
def hooked(crash):
    """The merged model, with two hooks that each write a line of a log."""
    log = f"{crash.place.root}/audit"
    delta_tables.create(log, "hook STRING, rows BIGINT")
    texts = [f"insert into delta.`{log}` select '{n}', count(*) from {{{{ this }}}}" for n in "ab"]
    query = "select id, ts, amount from {{ source('raw', 'events') }}"
    crash.place.model("users", query, materialized="merge", unique_key="id", post_hook=texts)
    return crash


def lines(crash):
    """Give how often each hook ran, and the rows that it saw."""
    found = crash.place.sql(f"select hook, rows from delta.`{crash.place.root}/audit`")
    return sorted(found)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("point", "before", "first"),
    [
        ("after-finish", 0, 1),
        ("after-commit", 0, 1),
        ("during-finish", 0, 1),
        ("before-commit", 0, 1),
        ("after-hook", 1, 2),  # the first hook ran, and its record was lost: it runs again
    ],
)
def test_hooks_that_a_kill_left_run_with_the_next_run(hooked, point, before, first) -> None:
    hooked.kill("users", point)
    left = lines(hooked)

    report = hooked.place.run("users")

    assert report.succeeded
    assert left == [("a", 3)] * before
    assert lines(hooked) == [("a", 3)] * first + [("b", 3)]
    assert hooked.place.rows("users") == UNDISTURBED["users"]
    assert hooked.place.run("users").hooks == ()
