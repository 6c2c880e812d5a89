"""Slices of entities without a JVM: Spark's columns are told."""

from __future__ import annotations

import datetime as dt

from fakes.builders import a_model
from fakes.lake import columns
from fakes.silver_table import T1
from penstock.core.columns.schema import Schema
from penstock.core.entities.entity import Entity
from penstock.core.strategy import Build
from penstock.strategies.entities.rows import SliceRead, SliceRows
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.steps import prepare_rows
from penstock.strategies.entities.target import EntityStep
from penstock.strategies.entities.watermarks import EntityWindow


def a_read(given: str, moment: dt.datetime = T1, **more: str) -> SliceRead:
    """Read a slice with these columns, whatever is asked of it."""
    return SliceRead("s.parquet", moment, lambda _: columns(given), **more)


def taken(entity: Entity, given: str, table: str = "", **more: str) -> SliceRows:
    """Take a slice with these columns through its steps."""
    return prepare_rows(entity, a_read(given, **more), columns(table) if table else None)


def a_step(
    entity: Entity,
    given: str,
    counts: SliceCounts,
    windows: tuple[EntityWindow, ...] | None = None,
    table: str = "",
) -> EntityStep:
    """A step whose slice was counted; its table has the columns of its rows unless told."""
    rows = taken(entity, given, table)
    known: Schema = columns(table) if table else rows.stored
    build = Build(a_model("x"), "T", rows.stored, known)
    return EntityStep(entity, build, rows, counts, T1, windows)
