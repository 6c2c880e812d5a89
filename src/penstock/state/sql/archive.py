"""A database as one document, and what is written anew from the tables' logs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from itertools import islice

from sqlalchemy import Column, Connection, Date, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError, StatementError

from penstock.core.ports.ports import RebuiltStep
from penstock.state.document import MOST, Cell, Tables, invalid, read_document, write_document
from penstock.state.lease import Identity
from penstock.state.schema import REVISION, UtcTime, metadata, project
from penstock.state.sql.damage import write_cell
from penstock.state.sql.database import Database
from penstock.state.sql.journal import rebuild
from penstock.state.sql.soundness import unsound
from penstock.state.sql.transaction import Transactions

Value = str | int | bool | dt.date | dt.datetime | None


class SqlArchive:
    """Exports, loads and rebuilds a whole database."""

    def __init__(self, database: Database, transactions: Transactions) -> None:
        self._database = database
        self._transactions = transactions
        self._context = transactions.context

    def store_id(self) -> str:
        """Give the id that this database was born with, or that an import gave it."""
        with self._database.read() as connection:
            return str(connection.scalar(select(project.c.store_id)))

    def epoch(self) -> str:
        """Give the id that is drawn anew whenever the store may have forgotten something."""
        with self._database.read() as connection:
            return str(connection.scalar(select(project.c.epoch)))

    def export(self) -> str:
        """Give every table as one JSON document, rows in the order of their keys."""
        with self._database.read() as connection:
            tables = {table.name: _dump(connection, table) for table in metadata.sorted_tables}
            return write_document(tables, self._context.identity, REVISION)

    def load(self, document: str) -> None:
        """Replace everything by an exported document, in one transaction.

        Raises `state-import-invalid`, and changes nothing, for a document of another target or
        shape.
        """
        identity = self._context.identity
        tables = _sound(read_document(document, identity, REVISION), identity)
        rows = {table: _parse(table, tables[table.name]) for table in metadata.sorted_tables}
        try:
            with self._database.write() as connection:
                for table in reversed(metadata.sorted_tables):
                    connection.execute(delete(table))
                for table, values in rows.items():
                    if values:
                        connection.execute(insert(table), values)
                connection.execute(update(project).values(epoch=self._context.clock.new_id()))
        except (IntegrityError, StatementError) as error:
            raise invalid([f"its rows do not fit together: {error.orig}"]) from error

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that only the logs remember, oldest first; known steps are left alone."""
        with self._transactions.write() as tables:
            rebuild(tables, steps, self._context.clock.new_id())


def _dump(connection: Connection, table: Table) -> list[dict[str, Cell]]:
    query = select(table).order_by(*table.primary_key.columns)
    return [
        {
            column.name: "" if column.info.get("drawn") else write_cell(column, row[place])
            for place, column in enumerate(table.c)
        }
        for row in connection.execute(query)
    ]


def _sound(tables: Tables, identity: Identity) -> Tables:
    """Give a document of which every row can be read; raises `state-import-invalid`."""
    names = list(metadata.tables)
    found = [f"table {name!r} is missing" for name in names if name not in tables]
    found += [f"table {name!r} is none of a state's" for name in tables if name not in names]
    there = [table for table in metadata.sorted_tables if table.name in tables]
    found += islice(unsound((table, tables[table.name]) for table in there), MOST - len(found))
    found += _of_others(tables.get("project", []), identity)
    if found:
        raise invalid(found)
    return tables


def _of_others(owners: Sequence[Mapping[str, Cell]], identity: Identity) -> list[str]:
    if len(owners) != 1:
        return [f"'project' has {len(owners)} rows, expected 1"]
    ours = {"name": identity.project, "target": identity.target}
    return [
        f"project[0].{name}: is {owners[0].get(name)!r}, expected {wanted!r}"
        for name, wanted in ours.items()
        if owners[0].get(name) != wanted
    ]


def _parse(table: Table, rows: Sequence[Mapping[str, Cell]]) -> list[dict[str, Value]]:
    return [
        {column.name: _read_cell(column, row[column.name]) for column in table.c} for row in rows
    ]


def _read_cell(column: Column[object], cell: Cell) -> Value:
    if cell is None:
        return None
    if column.info.get("json"):
        return json.dumps(cell, separators=(",", ":"), ensure_ascii=False)
    if isinstance(column.type, UtcTime):
        return dt.datetime.fromisoformat(str(cell))
    if isinstance(column.type, Date):
        return dt.date.fromisoformat(str(cell))
    return cell  # type: ignore[return-value]  # text, numbers and flags as they are
