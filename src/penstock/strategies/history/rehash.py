"""Row hashes as they are compared, and as they are made anew.

A value is hashed in the type that its column in the table has once the step is done. A migration
makes hashes of another list of columns; a step that widens a column so that equal values have
another hash makes the hashes of the current versions anew, in its own commit.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.core.history import HashDiffers, SystemColumns
from penstock.core.names import quoted
from penstock.core.schema import Column, Schema
from penstock.strategies.build import listed
from penstock.strategies.comparing import converted
from penstock.strategies.history.sides import Sides
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
