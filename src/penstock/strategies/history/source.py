"""The rows of the query, marked with what may be wrong with them."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.history import HashDiffers, SystemColumns
from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW
from penstock.strategies.build import any_lost, listed
from penstock.strategies.comparing import converted
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.terms import (
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
from penstock.strategies.row_hash import hash_of_values, hashes_alike, row_hash


def source_hash(sides: Sides) -> str:
    """Give the hash of a row of the query: of its values as the table will hold them."""
    return hash_of_values([_held(sides, column, column) for column in _hashed(sides)])


def stored_hash(sides: Sides) -> str:
    """Give the hash of a stored version, made anew of its values as the table will hold them."""
    pairs = ((column, sides.table.find(column.name)) for column in _hashed(sides))
    return hash_of_values([_held(sides, column, known) for column, known in pairs if known])


def rehashes(sides: Sides) -> bool:
    """Whether stored hashes are no longer those of equal values: a column becomes another type."""
    pairs = ((sides.table.find(column.name), column) for column in _hashed(sides))
    return any(known and not hashes_alike(known.type, sides.held(c)) for known, c in pairs)


def _hashed(sides: Sides) -> tuple[Column, ...]:
    made = sides.terms.made_hash
    names = {name.lower() for name in made.hashed or ()} if made else set()
    return tuple(column for column in sides.query.columns if column.name.lower() in names)


def _held(sides: Sides, column: Column, have: Column) -> tuple[Column, str]:
    """Give a column with its type after the commit, and SQL for its value; parts can be named."""
    value, want = quoted(have.name), sides.held(column)
    held = value if have.type == want else f"({converted(value, have.type, want)})"
    return replace(column, type=want), held


def with_hash(change: HashDiffers, table: Schema, view: str) -> str:
    """Give the versions of a view as they will be, with the new hash in every row."""
    others = tuple(name for name in table.names if name.lower() != change.column.lower())
    return (
        f"SELECT {listed(others)}, {_hash(change, table)} AS {quoted(change.column)} "
        f"FROM {quoted(view)}"
    )


def add_hash(change: HashDiffers, target: str) -> str:
    """Give the statement that adds the column to a table that had no hashes."""
    return f"ALTER TABLE {target} ADD COLUMNS ({quoted(change.column)} STRING)"


def rewrite_hash(change: HashDiffers, columns: SystemColumns, table: Schema, target: str) -> str:
    """Give the UPDATE of current versions; closed ones are compared with nothing and stay.

    Done twice it changes nothing.
    """
    made, stored = _hash(change, table), quoted(change.column)
    return (
        f"UPDATE {target} SET {stored} = {made} WHERE {quoted(columns.is_current)} = true "
        f"AND {quoted(columns.valid_to)} IS NULL AND NOT ({stored} <=> {made})"
    )


def _hash(change: HashDiffers, table: Schema) -> str:
    """Hash what the table has of the columns: a new one is NULL in it, and left out."""
    found = [table.find(name) for name in change.hashed or ()]
    return row_hash([column for column in found if column is not None])


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
