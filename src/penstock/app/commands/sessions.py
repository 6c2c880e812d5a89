"""The use cases of `sessions`: limits, manifest, runs, requests; none starts Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.app.planning.packages import PackagePlan, named_package, plan_package
from penstock.app.read_requests import LimitsRequest
from penstock.app.services.services import Services, in_one_state, user_name
from penstock.core.errors import TableError, UsageError
from penstock.core.findings import some
from penstock.core.names import TableName, quoted
from penstock.core.ports.sessions import SessionPass
from penstock.core.sessions.manifest import ManifestRow
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionModel
from penstock.plan.kinds.manifest import Forgotten, forget, tracked_models
from penstock.strategies.sessions.tables import MANIFEST_OF, manifest_export


@dataclass(frozen=True, slots=True)
class LimitsReport:
    """The limits of the next run of a package, as of `now`."""

    plan: PackagePlan
    now: dt.datetime

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.plan.package.name


@in_one_state
def sessions_limits(services: Services, request: LimitsRequest) -> LimitsReport:
    """Return what the next run of a package would read."""
    now = services.clock.now()
    package = named_package(services.project, request.package)
    return LimitsReport(plan_package(services, package, request.run_timestamp or now), now)


@dataclass(frozen=True, slots=True)
class ManifestReport:
    """The rows of a manifest, and which of their models are tracked."""

    package: str
    rows: tuple[ManifestRow, ...]
    tracked: tuple[str, ...]


@in_one_state
def sessions_manifest(services: Services, name: str) -> ManifestReport:
    """Return the manifest of a package."""
    package = named_package(services.project, name)
    rows = services.reading.sessions.manifest(name)
    return ManifestReport(name, rows, tuple(tracked_models(services.project, package)))


def sessions_export(services: Services, name: str) -> TableName:
    """Write the manifest of a package to its table, in one commit; return the table.

    Raises `foreign-table` if another table is in its place.
    """
    package = named_package(services.project, name)
    project, table = services.project, package.manifest_table
    facts = services.log.facts(project.uri_of(table))
    if facts is not None and facts.properties.get(MANIFEST_OF) != name:
        sentence = f"{table} holds something else than the manifest of {name!r}"
        hint = "move that table away, or set another manifest_schema"
        raise TableError("foreign-table", sentence, where=package.where, hint=hint)
    catalog = project.target.catalog
    with services.engine.session(name, package.where) as session:
        if catalog:
            schema = f"{quoted(catalog)}.{quoted(table.schema)}"
            session.rows(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        location = project.uri_of(table) if catalog else ""
        rows = services.reading.sessions.manifest(name)
        session.rows(manifest_export(project.sql_of(table), name, rows, location))
    return table


@dataclass(frozen=True, slots=True)
class SessionRunsReport:
    """The passes of a package's runs, newest first."""

    package: str
    passes: tuple[SessionPass, ...]


@in_one_state
def sessions_runs(services: Services, name: str, limit: int) -> SessionRunsReport:
    """Return the last passes of a package."""
    named_package(services.project, name)
    return SessionRunsReport(name, services.reading.sessions.passes(name, limit))


def sessions_forget(
    services: Services,
    name: str,
    models: Sequence[str],
    *,
    every: bool = False,
    truncate: bool = False,
) -> Forgotten:
    """Remove models from the manifest; their tables stay, or are rebuilt.

    Raises `unknown-model` for a name without a row, and then removes nothing.
    """
    named_package(services.project, name)
    if not models and not every:
        sentence, hint = "no model is named", f"penstock sessions forget {name} --all"
        raise UsageError("bad-usage", sentence, hint=hint)
    chosen = forget(services.reading.sessions.manifest(name), name, models, every=every)
    overwrites = chosen.models if truncate else ()
    services.writing.sessions.forget(name, chosen.models, overwrites)
    return chosen


@dataclass(frozen=True, slots=True)
class QuarantinedSession:
    """A session that gets no more events; the dropped events are counted."""

    session: str
    since: dt.datetime
    reason: str
    run: str
    start_tstamp: dt.datetime
    events_dropped: int
    dropped_to: dt.datetime | None


@dataclass(frozen=True, slots=True)
class QuarantineReport:
    """The newest sessions in quarantine, and their total number."""

    package: str
    sessions: tuple[QuarantinedSession, ...]
    total: int


_COLUMNS = (
    "session_identifier",
    "since",
    "reason",
    "run_id",
    "start_tstamp",
    "events_dropped",
    "dropped_to",
)


def _quarantine(services: Services, name: str) -> tuple[SessionModel | None, str]:
    """Return the quarantine of a package, None if it has none, and its folder."""
    model = named_package(services.project, name).model(SessionTable.QUARANTINE)
    return model, services.project.uri_of(model.table) if model else ""


def sessions_quarantine(services: Services, name: str, limit: int) -> QuarantineReport:
    """Return the sessions in quarantine, newest first."""
    model, uri = _quarantine(services, name)
    if model is None:
        return QuarantineReport(name, (), 0)
    found = services.kept_rows.newest(uri, _COLUMNS, "since", limit)
    rows: tuple[Any, ...] = found.rows
    return QuarantineReport(name, tuple(QuarantinedSession(*row) for row in rows), found.total)


def sessions_release(services: Services, name: str, sessions: Sequence[str]) -> tuple[str, ...]:
    """Request that the next run releases sessions from quarantine.

    Raises `not-quarantined` if one is not in quarantine, and then requests nothing.
    """
    model, uri = _quarantine(services, name)
    asked = tuple(dict.fromkeys(sessions))
    there = services.kept_rows.present(uri, _COLUMNS[0], asked) if model else frozenset()
    missing = [each for each in asked if each not in there]
    if missing:
        table = model.name if model else f"{name}: it quarantines none"
        raise UsageError(
            "not-quarantined",
            f"no session {some([repr(each) for each in missing], 5)} in {table}",
            hint=f"penstock sessions quarantine {name}",
        )
    services.writing.sessions.release(name, asked, user_name())
    return asked
