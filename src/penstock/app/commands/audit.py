"""The use case `audit`: what each version of each model built, and whether it is still current."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace

from penstock.app.commands.diff import model_diff
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.selection import selected_models
from penstock.app.reports import AuditReport, AuditRow
from penstock.app.request import AuditRequest
from penstock.app.services.services import Services, in_one_state
from penstock.core.model import Body, Fingerprint, Model
from penstock.plan.changes import code_drift
from penstock.plan.values import State

_Key = tuple[int, int]
_Built = tuple[Fingerprint, int, dt.datetime | None]
"""The code that made current rows, their number of partitions, and the time."""


@in_one_state
def audit(services: Services, request: AuditRequest) -> AuditReport:
    """Return one row per version and revision in the files or on record; start no JVM."""
    now = services.clock.now()
    names = selected_models(services, request.select, request.exclude, now)
    project_state = survey(services, names, now)
    rows: list[AuditRow] = []
    for name in sorted(project_state.names):
        found = _rows(services, project_state, project_state.project.models[name])
        diffs = model_diff(services, project_state, name).diffs if request.diffs else ()
        for row in found:
            own = (one for one in diffs if one.version == row.label and not one.cosmetic)
            rows.append(replace(row, diffs=tuple(own)))
    if request.modified_only:
        rows = [row for row in rows if row.status == "modified"]
    return AuditReport(tuple(rows))


def _rows(services: Services, project_state: ProjectState, model: Model) -> Iterator[AuditRow]:
    built = _built(services, project_state, model)
    bodies = {
        (version.number, body.fingerprint.revision): body
        for version in model.versions
        for body in version.bodies
    }
    if not bodies:
        text, path = project_state.project.shown_sql(model), model.where.path
        bodies[1, 0] = Body(model.query, model.fingerprint, text, path, model.where)
    sums = {fingerprint.sql for made in built.values() for fingerprint, _, _ in made}
    known = services.reading.records.texts(sums)
    for key in sorted({*built, *bodies}):
        made, body = built.get(key, []), bodies.get(key)
        prints = dict.fromkeys(fingerprint for fingerprint, _, _ in made)
        times = [at for _, _, at in made if at is not None]
        texts = [] if body else [known.get(each.sql, "") for each in prints]
        yield AuditRow(
            model=model.name,
            version=key[0],
            revision=key[1],
            source=body.source if body else next((text for text in texts if text), ""),
            status=_status(project_state, [*prints], body),
            partitions=sum(count for _, count, _ in made),
            first=min(times, default=None),
            last=max(times, default=None),
        )


def _built(
    services: Services, project_state: ProjectState, model: Model
) -> dict[_Key, list[_Built]]:
    """Return what each version and revision has built, from the current records."""
    made: list[_Built] = []
    if model.partition is None:
        record = project_state.records.get(model.name)
        if record is not None and record.fingerprint is not None:
            made = [(record.fingerprint, 1, record.executed_at)]
    elif model.name in project_state.parts:
        made = [
            (project_state.fingerprints[run.fingerprint], run.high - run.low + 1, run.executed_at)
            for run in services.reading.records.runs(model.name)[model.name]
            if run.step_seq and run.fingerprint in project_state.fingerprints
        ]
    found: dict[_Key, list[_Built]] = {}
    for each in made:
        found.setdefault((each[0].version, each[0].revision), []).append(each)
    return found


def _status(project_state: ProjectState, fingerprints: list[Fingerprint], body: Body | None) -> str:
    if body is None:
        return "deleted"
    if not fingerprints:
        return "never_executed"
    meaning = project_state.meaning
    states = {
        state for each in fingerprints for state, _ in code_drift(each, body.fingerprint, meaning)
    }
    if State.SQL_CHANGED in states:
        return "modified"
    return "cosmetic" if State.CURRENT in states else "current"
