"""A database as one document, and rebuilding records from the tables' logs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Column, Date, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError, StatementError

from penstock.core.errors import StateError
from penstock.core.ports.ports import RebuiltStep
from penstock.core.steps.token import CODEC
from penstock.state.columns import Document, UtcTime, Value
from penstock.state.lease import Identity
from penstock.state.schema import REVISION, metadata, project
from penstock.state.sql.database import Database, rows_of
from penstock.state.sql.journal import rebuild
from penstock.state.sql.soundness import Cell, unsound
from penstock.state.sql.transaction import Transactions

Tables = Mapping[str, list[dict[str, Cell]]]


_MOST = 20
_LONGEST = 400


class SqlArchive:
    """Exports, loads and rebuilds a whole database."""

    def __init__(self, database: Database, transactions: Transactions) -> None:
        self._database = database
        self._transactions = transactions
        self._context = transactions.context

    def store_id(self) -> str:
        """Return the id that this database got when it was created or imported."""
        with self._database.read() as connection:
            return str(connection.scalar(select(project.c.store_id)))

    def epoch(self) -> str:
        """Return the epoch: an id that is replaced when the store may have lost records."""
        with self._database.read() as connection:
            return str(connection.scalar(select(project.c.epoch)))

    def export(self) -> str:
        """Return every table as one JSON document, with rows in the order of their keys."""
        with self._database.read() as connection:
            tables = {
                table.name: [
                    {**row, **{c.name: "" for c in table.c if c.info.get("drawn")}}
                    for row in rows_of(connection, table)
                ]
                for table in metadata.sorted_tables
            }
            return _write(tables, self._context.identity)

    def load(self, document: str) -> None:
        """Replace the whole store by an exported document, in one transaction.

        Raises `state-import-invalid`, without changes, for a document of another target or format.
        """
        identity = self._context.identity
        tables = _sound(_read(document, identity), identity)
        rows = {
            table: [read_row(table, row) for row in found]
            for table in metadata.sorted_tables
            if (found := tables[table.name])
        }
        try:
            with self._database.write() as connection:
                for table in reversed(metadata.sorted_tables):
                    connection.execute(delete(table))
                for table, values in rows.items():
                    connection.execute(insert(table), values)
                connection.execute(update(project).values(epoch=self._context.clock.new_id()))
        except (IntegrityError, StatementError) as error:
            raise _invalid([f"its rows do not fit together: {error.orig}"]) from error

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that exist only in the logs, oldest first; known steps stay unchanged."""
        with self._transactions.write() as tables:
            rebuild(tables, steps, self._context.clock.new_id())


def _sound(tables: Tables, identity: Identity) -> Tables:
    """Return a document if every row can be read; raise `state-import-invalid`."""
    names = list(metadata.tables)
    found = [f"table {name!r} is missing" for name in names if name not in tables]
    found += [f"table {name!r} is none of a state's" for name in tables if name not in names]
    there = [table for table in metadata.sorted_tables if table.name in tables]
    found += islice(
        unsound((table, tables[table.name]) for table in there), max(0, _MOST - len(found))
    )
    found += _of_others(tables.get("project", []), identity)
    if found:
        raise _invalid(found)
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


def read_row(table: Table, row: Mapping[str, Cell]) -> dict[str, object]:
    """Return the values of a row in document form."""
    return {column.name: _read_cell(column, row[column.name]) for column in table.c}


def _read_cell(column: Column[Any], cell: Cell) -> object:
    if cell is None:
        return None
    if isinstance(column.type, Value):
        return Document(cell)
    kind = {UtcTime: dt.datetime, Date: dt.date}.get(type(column.type))
    return CODEC.of(kind).read(cell) if kind else cell


def _write(tables: Tables, identity: Identity) -> str:
    """Return one JSON document: sorted keys, indented, with a final newline."""
    document = {
        "penstock_state": REVISION,
        "project": identity.project,
        "target": identity.target,
        "tables": tables,
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _read(text: str, identity: Identity) -> Tables:
    """Return the tables of a document; `state-import-invalid` explains errors."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise _invalid(["it is nested too deeply"]) from error
    except ValueError as error:
        raise _invalid([f"it is not JSON: {error}"]) from error
    if not isinstance(document, dict) or "penstock_state" not in document:
        raise _invalid(["it has no 'penstock_state': it is not an exported state"])
    if document["penstock_state"] != REVISION:
        raise _invalid(
            [f"its schema is {document['penstock_state']!r}, this penstock reads {REVISION!r}"]
        )
    found = (document.get("project"), document.get("target"))
    if found != (identity.project, identity.target):
        theirs = f"it belongs to target {found[1]!r} of project {found[0]!r}"
        ours = f"this is target {identity.target!r} of project {identity.project!r}"
        raise _invalid([f"{theirs}, {ours}"])
    tables = document.get("tables")
    if not isinstance(tables, dict):
        raise _invalid(["'tables' is missing"])
    wrong = [
        f"table {name!r} is not a list of objects"
        for name, rows in tables.items()
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows)
    ]
    if wrong:
        raise _invalid(wrong)
    return tables


def _invalid(reasons: Sequence[str]) -> StateError:
    """Return the error for a document, with up to `_MOST` reasons."""
    shown = [reason[:_LONGEST] for reason in reasons[:_MOST]]
    said = shown[0] if len(shown) == 1 else "".join(f"\n  {reason}" for reason in shown)
    more = "\n  and there may be more" if len(reasons) >= _MOST else ""
    return StateError(
        "state-import-invalid",
        f"the document cannot be imported: {said}{more}",
        hint="give a document that penstock state export wrote for this target",
    )
