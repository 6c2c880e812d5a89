"""Row hashes of another list of columns: how a migration turns the stored ones into them."""

from __future__ import annotations

from penstock.core.history import HashDiffers, SystemColumns
from penstock.core.names import quoted
from penstock.core.schema import Schema
from penstock.strategies.build import listed
from penstock.strategies.row_hash import row_hash


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
