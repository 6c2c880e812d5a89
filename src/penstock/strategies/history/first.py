"""The first run of a history table, and its replacement by `--full-refresh`."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.history import HardDeletes
from penstock.core.names import literal, quoted
from penstock.core.statement import Commit
from penstock.strategies.build import Build, create, listed
from penstock.strategies.history.counts import Counts
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.source import marked, problem
from penstock.strategies.history.words import FROM, OP, STAGED, TO

REFUSED = "history-guard"


def from_query(build: Build, sides: Sides, properties: Mapping[str, str]) -> Commit:
    """Create the table from the query in one action.

    A row that may not be there fails the statement before it commits; who it is must be looked up
    afterwards.
    """
    refused = literal(f"penstock:{REFUSED}: the source has rows that may not be there")
    guard = f"CASE WHEN {problem(sides)} THEN CAST(raise_error({refused}) AS BOOLEAN) ELSE true END"
    nothing = "CAST(NULL AS TIMESTAMP)"
    rows = _rows(sides, sides.terms.at, nothing, "true")
    made = create(build, f"SELECT {rows} FROM ({marked(sides)}) WHERE {guard}", properties)
    return Commit(made.sql, exclusive=True)


def from_staged(
    build: Build, sides: Sides, properties: Mapping[str, str], counts: Counts
) -> Commit:
    """Create the table from rows that were classified."""
    made = create(build, first_rows(sides), properties)
    return Commit(
        made.sql,
        metrics=counts.metrics,
        expected={"numOutputRows": ("M3", counts.opens)},
        exclusive=True,
    )


def first_rows(sides: Sides) -> str:
    """Give the rows of a first run that were classified, as they are stored."""
    rows = _rows(sides, FROM, TO, f"{TO} IS NULL")
    return f"SELECT {rows} FROM {STAGED} WHERE {OP} = 'open'"


def _rows(sides: Sides, valid_from: str, valid_to: str, is_current: str) -> str:
    terms, columns = sides.terms, sides.terms.columns
    parts = [
        listed(sides.query.names),
        f"{valid_from} AS {quoted(columns.valid_from)}",
        f"{valid_to} AS {quoted(columns.valid_to)}",
        f"{is_current} AS {quoted(columns.is_current)}",
    ]
    if terms.missing is HardDeletes.NEW_RECORD:
        parts.append(f"false AS {quoted(columns.is_deleted)}")
    if terms.made_hash:
        parts.append(quoted(terms.made_hash.column))
    return ", ".join(parts)
