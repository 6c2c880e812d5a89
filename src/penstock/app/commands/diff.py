"""The use case `diff`: the SQL and schema that built partitions beside those of the files."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.app.commands.status import keys_of
from penstock.app.observation.project_state import ProjectState, look
from penstock.app.reports import DiffReport, ModelDiff, SqlDiff
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.columns.schema import Schema
from penstock.core.model import Body, Fingerprint, Model, Version
from penstock.core.partitions.ranges import Range, Ranges, count, intersection, merged
from penstock.plan.changes import differences
from penstock.plan.resolve import Segment, resolve
from penstock.plan.table_columns import version_schema_diff
from penstock.plan.values import State
from penstock.project.versioned.schema import read_schema_text


@in_one_state
def diff(
    services: Services,
    model: str | None = None,
    partition: str | None = None,
    as_of: dt.datetime | None = None,
) -> DiffReport:
    """Compare what built the rows now there with what is for them; start no JVM.

    Raises `unknown-model` and `invalid-partition`.
    """
    run_timestamp = as_of or services.clock.now()
    chosen = [named_model(services, model).name] if model else list(services.project.models)
    project_state = look(services, chosen, run_timestamp)
    found = []
    for name in project_state.names:
        grid = project_state.project.models[name].grid
        number = grid.parse(partition) if partition is not None else None
        within = None if number is None else ((number, number),)
        one = model_diff(services, project_state, name, within)
        if one.diffs:
            found.append(one)
    return DiffReport(run_timestamp, tuple(found))


@dataclass(frozen=True, slots=True)
class _Pair:
    made: Fingerprint
    version: Version | None
    body: Body | None


def model_diff(
    services: Services, project_state: ProjectState, name: str, within: Ranges | None = None
) -> ModelDiff:
    """Give one diff per distinct pair of recorded and resolved SQL of a model."""
    model = project_state.project.models[name]
    if model.partition is None:
        return _table_diff(services, project_state, model)
    pairs: dict[tuple[Fingerprint, int], tuple[_Pair, list[Range]]] = {}
    for run in services.reading.records.runs(name) if name in project_state.detection.parts else ():
        if not run.step_seq:
            continue
        here: Ranges = ((run.low, run.high),)
        here = here if within is None else intersection(here, within)
        made = project_state.detection.fingerprints[run.fingerprint]
        for segment in resolve(model, project_state.run_timestamp.date(), here):
            key = made, id(segment.body)
            pair = _Pair(made, segment.version, segment.body)
            pairs.setdefault(key, (pair, []))[1].append(_clip(segment, here))
    found = []
    for pair, ranges in pairs.values():
        one = _sql_diff(services, project_state, model, pair, merged(ranges))
        if one is not None:
            found.append(one)
    return ModelDiff(name, tuple(found))


def _clip(segment: Segment, here: Ranges) -> Range:
    return intersection((segment.range,), here)[0]


def _sql_diff(
    services: Services, project_state: ProjectState, model: Model, pair: _Pair, ranges: Ranges
) -> SqlDiff | None:
    version, body, made = pair.version, pair.body, pair.made
    if body is None or version is None:
        return None
    states = {s for s, _ in differences(made, body.fingerprint, project_state.detection.meaning)}
    if not states:
        return None
    before = services.reading.records.text(made.sql) or ""
    label = body.fingerprint.label
    return SqlDiff(
        version=label if made.version == body.fingerprint.version else f"{made.label} -> {label}",
        partitions=keys_of(model.grid, ranges),
        count=count(ranges),
        before=before,
        after=body.text,
        cosmetic=states == {State.CURRENT},
        schema=_schema_lines(services, made, version),
    )


def _schema_lines(services: Services, made: Fingerprint, version: Version) -> tuple[str, ...]:
    if not made.schema or not version.schema.columns:
        return ()
    text = services.reading.records.text(made.schema)
    before = read_schema_text(text) if text else Schema()
    return version_schema_diff(before, version.schema) if before.columns else ()


def _table_diff(services: Services, project_state: ProjectState, model: Model) -> ModelDiff:
    record = project_state.records.get(model.name)
    made = record.fingerprint if record else None
    now = model.fingerprint
    if made is None or made.sql == now.sql:
        return ModelDiff(model.name)
    before = services.reading.records.text(made.sql)
    if before is None:
        return ModelDiff(model.name)
    cosmetic = made.canonical == now.canonical and made.version == now.version
    after = project_state.project.shown_sql(model)
    for version in model.versions:
        for body in version.bodies:
            after = body.text if body.fingerprint == now else after
    one = SqlDiff(now.label, (("*", "*"),), 1, before, after, cosmetic)
    return ModelDiff(model.name, (one,))
