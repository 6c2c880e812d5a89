"""The target of a test before its step: which columns it has, and the statement that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from penstock.app.preparing.statements import of_range
from penstock.app.services.services import Services
from penstock.app.unit_testing.tables import Typed, columns_of
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ColumnType, ScalarType
from penstock.core.errors import QueryError, UsageError
from penstock.core.findings import Location
from penstock.core.history import HardDeletes, HashDiffers, HistorySettings
from penstock.core.model import Body, Model
from penstock.core.names import InputKind, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.query import Query, at, bound, with_parameters
from penstock.core.statement import Commit
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.strategy import Build
from penstock.core.unit_tests import GivenTable, UnitRun
from penstock.plan.history import PROPERTY, property_of
from penstock.plan.resolve import dated, resolve
from penstock.strategies.build import create
from penstock.strategies.reshape import physical
from penstock.strategies.values import row_hash

_VIEW = "penstock_test_output"


def target_types(
    services: Services, session: StepSession, model: Model, run: UnitRun, table: GivenTable
) -> Mapping[str, ColumnType]:
    """Give the columns of the target by their types: declared ones, else those of the query.

    A query that Spark refuses gives none; its step then says why.
    """
    declared = {name: kind for name, kind in table.known.items() if _is_business(model, name)}
    folded = {name.lower(): kind for name, kind in declared.items()}
    found = declared
    complete = bool(model.versions) and all(v.schema.columns for v in model.versions)
    if not complete or any(name.lower() not in folded for name in table.names):
        with suppress(QueryError):
            described = columns_of(describe(services, session, model, run))
            found = {name: folded.get(name.lower(), kind) for name, kind in described}
    return found | _system(model)


def describe(services: Services, session: StepSession, model: Model, run: UnitRun) -> Schema:
    """Give the columns of the model's query over the given inputs; nothing is run."""
    query = _query(model, run)
    views = {}
    for number, name in enumerate(query.inputs):
        if name.kind is InputKind.THIS:
            continue
        views[name] = f"penstock_test_{number}"
        read = DeltaRead(services.project.sources[name.name].path)
        session.bind([Relation(name, views[name], read)])
    text = at(bound(query.text, views), run.as_of)
    return session.define(_VIEW, with_parameters(text, _values(model, run)))


def _query(model: Model, run: UnitRun) -> Query:
    if model.partition is None or not run.first:
        return dated({model.name: model}, run.as_of.date())[model.name].query
    number = model.grid.parse(run.first)
    segments = resolve(model, run.as_of.date(), ((number, number),))
    body: Body | None = segments[0].body if segments else None
    return body.query if body else model.query


def _values(model: Model, run: UnitRun) -> dict[str, str]:
    if model.partition is None or not run.first:
        return {}
    first, last = model.grid.parse(run.first), model.grid.parse(run.last)
    return of_range(model.partition, run.as_of, first, last)


def _is_business(model: Model, name: str) -> bool:
    if model.history is None:
        return True
    return name.lower() not in {each.lower() for each in model.history.columns.names}


def _system(model: Model) -> dict[str, ColumnType]:
    """Give the columns that penstock adds to a history table, in their order."""
    history = model.history
    if history is None:
        return {}
    columns = history.columns
    found: dict[str, ColumnType] = {
        columns.valid_from: ScalarType("timestamp"),
        columns.valid_to: ScalarType("timestamp"),
        columns.is_current: ScalarType("boolean"),
    }
    if history.hard_deletes is HardDeletes.NEW_RECORD:
        found[columns.is_deleted] = ScalarType("boolean")
    if isinstance(history.change, HashDiffers) and history.change.hashed is not None:
        found[history.change.column] = ScalarType("string")
    return found


def target_sql(project: Project, model: Model, table: Typed, where: Location) -> Commit:
    """Give the statement that makes the target as its strategy would have left it.

    `where` is the place of its rows. Raises `bad-test-value` for a version without its beginning.
    """
    laid = replace(model, layout=physical(model.layout)) if model.partition else model
    build = Build(laid, project.sql_of(model.table), Schema(), None)
    if model.history is None:
        return create(build, table.sql)
    properties = {PROPERTY: property_of(model)}
    start = model.history.columns.valid_from
    if len(table.values(start)) < len(table.rows or ()):
        sentence = f"a version of {model.name} needs {start}"
        hint = "give it in every row of target"
        raise UsageError("bad-test-value", sentence, where=where, hint=hint)
    return create(build, _history_rows(model.history, table), properties)


def _history_rows(history: HistorySettings, table: Typed) -> str:
    """Give versions with `is_current` as `valid_to` tells it, and hashes where none are given."""
    columns = history.columns
    made = {columns.is_current.lower(): f"{quoted(columns.valid_to)} IS NULL"}
    if history.hard_deletes is HardDeletes.NEW_RECORD:
        deleted = quoted(columns.is_deleted)
        made[columns.is_deleted.lower()] = f"coalesce({deleted}, false)"
    change = history.change
    if isinstance(change, HashDiffers) and change.hashed:
        hashed = {name.lower() for name in change.hashed}
        kinds = [Column(n, str(k)) for n, k in table.columns if n.lower() in hashed]
        made[change.column.lower()] = f"coalesce({quoted(change.column)}, {row_hash(kinds)})"
    chosen = ", ".join(
        f"{made[name.lower()]} AS {quoted(name)}" if name.lower() in made else quoted(name)
        for name in table.names
    )
    return f"SELECT {chosen} FROM ({table.sql})"
