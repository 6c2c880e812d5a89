"""The use case `audit`: what each version of each model built, and whether that still holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from penstock.app.commands.diff import model_diff
from penstock.app.observation.project_state import ProjectState, look
from penstock.app.planning.selection import selected_models
from penstock.app.reports import AuditReport, AuditRow, SqlDiff
from penstock.app.services.services import Services, in_one_state
from penstock.core.model import Body, Fingerprint, Model
from penstock.plan.changes import differences
from penstock.plan.values import State

_Key = tuple[int, int]


@dataclass(slots=True)
class _Built:
    """What a version or revision has built, as the records have it now."""

    fingerprints: set[Fingerprint] = field(default_factory=set)
    count: int = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None

    def add(self, fingerprint: Fingerprint, count: int, at: dt.datetime | None) -> None:
        self.fingerprints.add(fingerprint)
        self.count += count
        if at is not None:
            self.first = min(self.first or at, at)
            self.last = max(self.last or at, at)


@in_one_state
def audit(
    services: Services,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    modified_only: bool = False,
    diffs: bool = False,
) -> AuditReport:
    """Give a row per version and revision in the files or on record; start no JVM."""
    run_timestamp = services.clock.now()
    project_state = look(
        services, selected_models(services, select, exclude, run_timestamp), run_timestamp
    )
    rows: list[AuditRow] = []
    for name in sorted(project_state.names):
        model = project_state.project.models[name]
        found = _rows(services, project_state, model)
        if diffs:
            messages = model_diff(services, project_state, name).diffs
            found = [replace(row, diffs=_of_row(row, messages)) for row in found]
        rows.extend(found)
    if modified_only:
        rows = [row for row in rows if row.status == "modified"]
    return AuditReport(tuple(rows))


def _rows(services: Services, project_state: ProjectState, model: Model) -> list[AuditRow]:
    built = _built(services, project_state, model)
    bodies = _bodies(project_state, model)
    found = []
    for key in sorted({*built, *bodies}):
        made, body = built.get(key, _Built()), bodies.get(key)
        found.append(
            AuditRow(
                model=model.name,
                version=key[0],
                revision=key[1],
                source=_source(services, made, body),
                status=_status(project_state, made, body),
                partitions=made.count,
                first=made.first,
                last=made.last,
            )
        )
    return found


def _bodies(project_state: ProjectState, model: Model) -> dict[_Key, Body]:
    if model.versions:
        return {
            (version.number, body.fingerprint.revision): body
            for version in model.versions
            for body in version.bodies
        }
    text = project_state.project.shown_sql(model)
    path = model.where.path
    return {(1, 0): Body(model.query, model.fingerprint, text, path, model.where)}


def _built(services: Services, project_state: ProjectState, model: Model) -> dict[_Key, _Built]:
    found: dict[_Key, _Built] = {}

    def add(fingerprint: Fingerprint, number: int, at: dt.datetime | None) -> None:
        found.setdefault((fingerprint.version, fingerprint.revision), _Built()).add(
            fingerprint, number, at
        )

    if model.partition is None:
        record = project_state.records.get(model.name)
        if record is not None and record.fingerprint is not None:
            add(record.fingerprint, 1, record.executed_at)
        return found
    runs = (
        services.reading.records.runs(model.name)
        if model.name in project_state.detection.parts
        else ()
    )
    for run in runs:
        if run.step_seq:
            fingerprint = project_state.detection.fingerprints[run.fingerprint]
            add(fingerprint, run.high - run.low + 1, run.executed_at)
    return found


def _status(project_state: ProjectState, made: _Built, body: Body | None) -> str:
    if body is None:
        return "deleted"
    if not made.fingerprints:
        return "never_executed"
    states = {
        state
        for fingerprint in made.fingerprints
        for state, _ in differences(fingerprint, body.fingerprint, project_state.detection.meaning)
    }
    if State.SQL_CHANGED in states:
        return "modified"
    return "cosmetic" if State.CURRENT in states else "current"


def _source(services: Services, made: _Built, body: Body | None) -> str:
    if body is not None:
        return body.source
    texts: Iterable[str | None] = (
        services.reading.records.text(fingerprint.sql) for fingerprint in made.fingerprints
    )
    return next((text for text in texts if text), "")


def _of_row(row: AuditRow, messages: tuple[SqlDiff, ...]) -> tuple[SqlDiff, ...]:
    return tuple(one for one in messages if one.version == row.label and not one.cosmetic)
