"""Somebody else, who writes tables without penstock and without Spark."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from fakes.fixture_f import EVENTS, EVENTS_PATH


def append_event(root: Path, user: str | None, when: str) -> None:
    """Append one event of fixture F; the first one makes the table."""
    moment = dt.datetime.fromisoformat(when).replace(tzinfo=dt.UTC)
    columns = {
        "user_id": pa.array([user], pa.string()),
        "created_at": pa.array([moment], pa.timestamp("us", "UTC")),
    }
    write_deltalake(str(root / EVENTS_PATH), pa.table(columns), mode="append")


def append_all_events(root: Path) -> None:
    """Make the table raw.events of fixture F."""
    for user, when in EVENTS:
        append_event(root, user, when)


def update(table: Path, where: str, **values: str) -> None:
    """Set columns to SQL expressions in some rows."""
    DeltaTable(str(table)).update(updates=values, predicate=where)


def delete(table: Path, where: str) -> None:
    """Delete some rows."""
    DeltaTable(str(table)).delete(where)


def replace(table: Path) -> None:
    """Put an empty table of the same columns, another one, in the place of a table."""
    there = DeltaTable(str(table))
    by = there.metadata().partition_columns
    DeltaTable.create(str(table), there.schema(), mode="overwrite", partition_by=by)


def restore(table: Path, version: int) -> None:
    """Bring a version of a table back."""
    DeltaTable(str(table)).restore(version)


def optimize(table: Path) -> None:
    """Write small files together."""
    DeltaTable(str(table)).optimize.compact()


def vacuum(table: Path) -> None:
    """Delete the files that no version needs any more."""
    DeltaTable(str(table)).vacuum(0, dry_run=False, enforce_retention_duration=False)


def set_property(table: Path, name: str, value: str) -> None:
    """Set a property of a table."""
    DeltaTable(str(table)).alter.set_table_properties({name: value})


def clean_log(table: Path) -> None:
    """Let the retention of logs remove what the newest checkpoint can do without."""
    there = DeltaTable(str(table))
    there.create_checkpoint()
    time.sleep(1.1)  # the retention of the table is no time at all, counted in whole seconds
    there.cleanup_metadata()
