"""The rows of a session package: read as its records, and written after an event."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, func, or_, select

from penstock.core.ports.sessions import Release, SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import Limits, ManifestRow, PassKind, RunState
from penstock.core.steps.step import StepKind
from penstock.state.schema import (
    models,
    session_manifest,
    session_releases,
    session_runs,
    session_tables,
    steps,
)
from penstock.state.sql.database import put
from penstock.state.sql.rows import Cells, Found, cells_of
from penstock.state.transitions.model_state import StoredStep
from penstock.state.transitions.packages import (
    PackageEvent,
    PackageState,
    PackageTable,
    PromiseKept,
    StepsUndone,
    apply_to_package,
)

RUNS = session_runs.c
_ROW = (
    *("model", "last_success", "covered_to", "advanced_to", "fingerprint", "run", "updated_at"),
    "late_to",
)
_PASS = (
    *("package", "seq", "kind", "run", "now", "pins", "status", "events", "caught_up"),
    *("future_events", "started", "ended", "rebuild"),
)
_RELEASE = ("package", "session", "asked_at", "who")


def change_package(connection: Connection, package: str, event: PackageEvent) -> PackageState:
    """Write the changes of an event to the records of a package; return the records."""
    before = _load(connection, package)
    after = apply_to_package(before, event)
    _write(connection, session_manifest, _rows(before), _rows(after))
    _write(connection, session_runs, _passes(before), _passes(after))
    _write(connection, session_releases, _releases(before), _releases(after))
    _write(connection, session_tables, _tables(before), _tables(after))
    return after


def _load(connection: Connection, package: str) -> PackageState:
    """Load everything except old passes: only the last run's and open ones can change."""
    newest = select(func.max(RUNS.seq)).where(RUNS.package == package).scalar_subquery()
    lasting = or_(RUNS.seq == newest, RUNS.status == Status.RUNNING)
    passes = [pass_of(row) for row in connection.execute(passes_of(package).where(lasting))]
    return PackageState(
        package,
        manifest={row.model: row for row in manifest_of(connection, package)},
        passes={(each.seq, each.kind): each for each in passes},
        releases={each.session: each for each in releases_of(connection, package)},
        tables=tables_of(connection, package),
    )


def manifest_of(connection: Connection, package: str) -> tuple[ManifestRow, ...]:
    """Read a manifest, by model."""
    query = _of(session_manifest, package).order_by(session_manifest.c.model)
    return tuple(ManifestRow(**cells_of(row, _ROW)) for row in connection.execute(query))


def releases_of(connection: Connection, package: str) -> tuple[Release, ...]:
    """Read the releases that are pending, by session."""
    query = _of(session_releases, package).order_by(session_releases.c.session)
    return tuple(Release(**cells_of(row, _RELEASE)) for row in connection.execute(query))


def tables_of(connection: Connection, package: str) -> dict[str, PackageTable]:
    """Read pending requests for tables, and the last run whose mapping they have."""
    rows = connection.execute(_of(session_tables, package))
    return {row.model: PackageTable(row.overwrites, row.stitched_seq) for row in rows}


def passes_of(package: str) -> Select[Any]:
    """Return a query for the passes of a package, newest first."""
    is_first = RUNS.kind == PassKind.BACKFILL  # of two in one run it is the earlier one
    return _of(session_runs, package).order_by(RUNS.seq.desc(), is_first)


def pass_of(row: Found) -> SessionPass:
    """Read one pass."""
    return SessionPass(
        **cells_of(row, _PASS),
        limits=Limits(RunState(row.state), row.lower_limit, row.upper_limit),
    )


def _of(table: Table, package: str) -> Select[Any]:
    return select(table).where(table.c.package == package)


def keep_promise(connection: Connection, step: StoredStep, at: dt.datetime) -> None:
    """Write what a finished step promised for its package; nothing if checks held it back.

    After a rollback, the promises of the steps that are not undone apply.
    """
    intent = step.intent
    if intent.kind is StepKind.ROLLBACK:
        for package, event in _after_rollback(connection, intent.model, at):
            change_package(connection, package, event)
    elif intent.session is not None and not step.blocks:
        kept = PromiseKept(intent.model, intent.session, intent.run, at)
        change_package(connection, intent.session.package, kept)


def _after_rollback(
    connection: Connection, model: str, at: dt.datetime
) -> Iterator[tuple[str, PackageEvent]]:
    done = or_(steps.c.status == Status.SUCCESS, steps.c.commit_version.is_not(None))
    query = (
        select(steps.c.intent, steps.c.undone_by)
        .join(models, models.c.id == steps.c.model_id)
        .where(models.c.name == model, done, steps.c.intent.contains('"session":'))
        .order_by(steps.c.step_seq.desc())
    )
    found = connection.execute(query).all()
    left = [(each.session, each.run) for each, undone in found if each.session and not undone]
    rows = (replace(said.row, run=run) for said, run in left if said.row is not None)
    stitched = max((said.stitched for said, _ in left), default=0)
    if found and (said := found[0][0].session):
        yield said.package, StepsUndone(model, next(rows, None), stitched, at)


Keyed = Mapping[tuple[object, ...], Cells]
"""Cells by primary key, without the package."""


def _rows(records: PackageState) -> Keyed:
    package = {"package": records.package}
    return {(name,): {**package, **cells_of(r, _ROW)} for name, r in records.manifest.items()}


def _passes(records: PackageState) -> Keyed:
    return {
        (each.seq, each.kind): {
            **cells_of(each, _PASS),
            "state": int(each.limits.state),
            "lower_limit": each.limits.lower_limit,
            "upper_limit": each.limits.upper_limit,
        }
        for each in records.passes.values()
    }


def _releases(records: PackageState) -> Keyed:
    return {(name,): cells_of(each, _RELEASE) for name, each in records.releases.items()}


def _tables(records: PackageState) -> Keyed:
    return {
        (name,): {
            "package": records.package,
            "model": name,
            "overwrites": each.overwrites,
            "stitched_seq": each.stitched,
        }
        for name, each in records.tables.items()
    }


def _write(connection: Connection, table: Table, before: Keyed, after: Keyed) -> None:
    """Write the rows that are new or changed, and delete those that are gone."""
    keys = [column for column in table.primary_key.columns if column.name != "package"]
    for key, cells in before.items():
        if key not in after:
            same: list[ColumnElement[bool]] = [table.c.package == cells["package"]]
            same += [column == value for column, value in zip(keys, key, strict=True)]
            connection.execute(delete(table).where(*same))
    put(connection, table, [cells for key, cells in after.items() if before.get(key) != cells])
