"""A database as one document, and what is written anew from the tables' logs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from sqlalchemy import Column, Connection, Date, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError, StatementError

from penstock.core.ports import RebuiltStep
from penstock.core.records import Status, StepRecord
from penstock.core.step import Intent
from penstock.state.columns import Moment
from penstock.state.document import MOST, Cell, Tables, invalid, read_document, write_document
from penstock.state.identity import Identity
from penstock.state.parts import Parts, given_up
from penstock.state.soundness import unsound
from penstock.state.sql_damage import write_cell
from penstock.state.sql_database import Database
from penstock.state.sql_end import write_success
from penstock.state.sql_ending import End
from penstock.state.sql_rows import insert_step, model_id
from penstock.state.tables import REVISION, metadata, partition_state, project, steps

Value = str | int | bool | dt.date | dt.datetime | None


class SqlArchive:
    """Exports, loads and rebuilds a whole database."""

    def __init__(self, database: Database, parts: Parts) -> None:
        self._database = database
        self._parts = parts

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
            return write_document(tables, self._parts.identity, REVISION)

    def load(self, document: str) -> None:
        """Replace everything by an exported document, in one transaction.

        Raises `state-import-invalid`, and changes nothing, for a document of another target or
        shape.
        """
        identity = self._parts.identity
        tables = _sound(read_document(document, identity, REVISION), identity)
        rows = {table: _parse(table, tables[table.name]) for table in metadata.sorted_tables}
        try:
            with self._database.write() as connection:
                for table in reversed(metadata.sorted_tables):
                    connection.execute(delete(table))
                for table, values in rows.items():
                    if values:
                        connection.execute(insert(table), values)
                self._begin_epoch(connection)
        except (IntegrityError, StatementError) as error:
            raise invalid([f"its rows do not fit together: {error.orig}"]) from error

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that only the logs remember, oldest first; known steps are left alone.

        Steps keep their numbers. One whose number another step of this database has gets a new
        one above all. What is older than a success on record only goes into the history. A step
        that was given up and has landed all the same is written as one that came after.
        """
        with self._database.write() as connection:
            self._begin_epoch(connection)
            free = _first_free(connection, steps)
            for step in steps:
                if _is_known(connection, step.intent.step):
                    continue
                number = step.intent.step_seq
                if number < 1 or _is_taken(connection, number):
                    number, free = free, free + 1
                self._write(connection, step, replace(step.intent, step_seq=number))

    def _begin_epoch(self, connection: Connection) -> None:
        connection.execute(update(project).values(epoch=self._parts.clock.new_id()))

    def _write(self, connection: Connection, step: RebuiltStep, intent: Intent) -> None:
        outcome = step.outcome
        began = step.ended - dt.timedelta(milliseconds=outcome.duration_ms)
        insert_step(connection, StepRecord(intent, Status.RUNNING, began), executed_by="")
        recorded = connection.scalar(
            select(func.max(partition_state.c.executed_at)).where(
                partition_state.c.model_id == model_id(connection, intent.model)
            )
        )
        end = End(
            intent=intent,
            at=step.ended,
            duration_ms=outcome.duration_ms,
            executed_by="",
            new_id=self._parts.clock.new_id,
            settles=recorded is None or recorded <= step.ended,
            by_time=True,
        )
        write_success(connection, end, outcome)


def _first_free(connection: Connection, rebuilt: Sequence[RebuiltStep]) -> int:
    last = connection.scalar(select(func.max(steps.c.step_seq))) or 0
    return max([last, *(step.intent.step_seq for step in rebuilt)]) + 1


def _is_known(connection: Connection, step: str) -> bool:
    """Whether a step is running, or on record with what it did; one that was given up makes room.

    Its row, and what the history says of it, stays under another name.
    """
    row = connection.execute(
        select(steps.c.status, steps.c.table_id).where(steps.c.id == step)
    ).first()
    if row is None:
        return False
    if row.status == Status.RUNNING or row.table_id is not None:
        return True
    connection.execute(update(steps).where(steps.c.id == step).values(id=given_up(step)))
    return False


def _is_taken(connection: Connection, number: int) -> bool:
    return connection.scalar(select(steps.c.id).where(steps.c.step_seq == number)) is not None


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
    if isinstance(column.type, Moment):
        return dt.datetime.fromisoformat(str(cell))
    if isinstance(column.type, Date):
        return dt.date.fromisoformat(str(cell))
    return cell  # type: ignore[return-value]  # text, numbers and flags as they are
