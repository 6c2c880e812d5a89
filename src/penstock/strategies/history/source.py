"""The rows of the query, marked with what may be wrong with them."""

from __future__ import annotations

from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history.rehash import source_hash
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.words import (
    COPIES,
    IGNORED,
    IN_SOURCE,
    NO_TIME,
    NULL_KEY,
    NULL_TIME,
    PLACE,
    ROWS,
    TIME,
)
from penstock.strategies.partition_texts import any_lost

_PROBLEM = f"{NULL_KEY} OR {NULL_TIME} OR {NO_TIME} OR {COPIES} > 1"


def problem(sides: Sides) -> str:
    """Give the condition of a row of the source that may not be there."""
    lost = f" OR {any_lost(sides.texts)}" if sides.texts else ""
    return f"({_PROBLEM}{lost})"


def marked(sides: Sides) -> str:
    """Give the query's rows with their hash, their time, and marks of what is wrong with them.

    Rows without a time that are to be ignored are no copies of others.
    """
    terms = sides.terms
    columns = [listed(sides.query.names)]
    if terms.made_hash:
        columns.append(f"{source_hash(sides)} AS {quoted(terms.made_hash.column)}")
    time = sides.time_of(sides.query) or "NULL"
    columns += [
        f"{time} AS {TIME}",
        f"{_null_key(sides)} AS {NULL_KEY}",
        f"{_without_time(sides)} AS {NO_TIME}",
        f"{_null_time(sides, ignored=False)} AS {NULL_TIME}",
        f"{_null_time(sides, ignored=True)} AS {IGNORED}",
        f"true AS {IN_SOURCE}",
    ]
    rows = f"SELECT {', '.join(columns)} FROM {quoted(QUERY_VIEW)}"
    over = f"PARTITION BY {listed(terms.keys)}" + (f", {TIME}" if terms.event_time else "")
    counted = f"count_if(NOT {IGNORED})" if terms.ignore_null_time else "count(*)"
    alone = f"{IGNORED} OR {NULL_KEY}"
    copies = f"CASE WHEN {alone} THEN 1 ELSE {counted} OVER ({over}) END AS {COPIES}"
    rows_of_key = ""
    if terms.event_time:
        of_key = f"OVER (PARTITION BY {listed(terms.keys)})"
        rows_of_key = f", count_if(NOT {IGNORED}) {of_key} AS {ROWS}"
    place = "1"
    if terms.ignore_null_time and terms.retention and not terms.event_time:
        place = f"row_number() OVER (PARTITION BY {listed(terms.keys)} ORDER BY {IGNORED})"
    return f"SELECT *, {copies}, {place} AS {PLACE}{rows_of_key} FROM ({rows})"


def _null_key(sides: Sides) -> str:
    if sides.terms.match_null_keys:
        return "false"
    return "(" + " OR ".join(f"{quoted(key)} IS NULL" for key in sides.terms.keys) + ")"


def _null_time(sides: Sides, *, ignored: bool) -> str:
    name = sides.terms.time_column
    if name is None or ignored is not sides.terms.ignore_null_time:
        return "false"
    return f"{quoted(name)} IS NULL"


def _without_time(sides: Sides) -> str:
    """Tell a text that is no time; it is not NULL, so nothing says to ignore it."""
    name = sides.terms.time_column
    column = sides.query.find(name) if name else None
    if column is None or not column.type.startswith("string"):
        return "false"
    text = quoted(column.name)
    return f"({text} IS NOT NULL AND try_cast({text} AS TIMESTAMP) IS NULL)"
