"""Builds of small tables, for tests of statements."""

from __future__ import annotations

from dataclasses import replace

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.strategy import Build, Strategy

USERS = "delta.`/w/s/users`"


def a_build(
    strategy: Strategy | None = None,
    query: str = "id int, name string",
    table: str = "",
    **changes: object,
) -> Build:
    """A build of the model `users`; without `table` it makes the table."""
    model = a_model("users", strategy=strategy)
    known = columns(table) if table else None
    return replace(Build(model, USERS, columns(query), known), **changes)  # type: ignore[arg-type]
