"""The use case `diff`: compare the SQL and schema that built partitions with the files."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.commands.status import keys_of
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.read_requests import DiffRequest
from penstock.app.reports import DiffReport, ModelDiff, SqlDiff
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.columns.schema import Schema
from penstock.core.masking import mask
from penstock.core.model import Fingerprint, Model, Version, kind_of
from penstock.core.partitions.ranges import Range, Ranges, count, intersection, merged
from penstock.plan.changes import code_drift
from penstock.plan.resolve import Segment, resolve
from penstock.plan.table_columns import version_schema_diff
from penstock.plan.values import State
from penstock.project.versioned.schema import read_schema_text


@in_one_state
def diff(services: Services, request: DiffRequest) -> DiffReport:
    """Compare the code that built the current rows with the code for them; start no JVM.

    Raises `unknown-model` and `invalid-partition`.
    """
    run_timestamp = request.run_timestamp or services.clock.now()
    models = services.project.models
    chosen = [named_model(services, request.model).name] if request.model else list(models)
    project_state = survey(services, chosen, run_timestamp)
    found = []
    for name in project_state.names:
        within = None
        if request.partition is not None:
            number = project_state.project.models[name].grid.parse(request.partition)
            within = ((number, number),)
        one = model_diff(services, project_state, name, within)
        if one.diffs:
            found.append(one)
    return DiffReport(run_timestamp, tuple(found))


def model_diff(
    services: Services, project_state: ProjectState, name: str, partitions: Ranges | None = None
) -> ModelDiff:
    """Return one diff per distinct pair of recorded and resolved SQL of a model."""
    model = project_state.project.models[name]
    if model.partition is None:
        return _table_diff(services, project_state, model)
    pairs: dict[tuple[Fingerprint, int], tuple[Fingerprint, Segment, list[Range]]] = {}
    for run in services.reading.records.runs(name)[name] if name in project_state.parts else ():
        if not run.step_seq or run.fingerprint not in project_state.fingerprints:
            continue
        here: Ranges = ((run.low, run.high),)
        here = here if partitions is None else intersection(here, partitions)
        made = project_state.fingerprints[run.fingerprint]
        for segment in resolve(model, project_state.run_timestamp.date(), here):
            _, _, ranges = pairs.setdefault((made, id(segment.body)), (made, segment, []))
            ranges.append(intersection((segment.range,), here)[0])
    found = []
    for made, segment, ranges in pairs.values():
        now = segment.body.fingerprint
        states = {s for s, _ in code_drift(made, now, project_state.meaning)}
        if not states:
            continue
        one = SqlDiff(
            version=now.label if made.version == now.version else f"{made.label} -> {now.label}",
            partitions=keys_of(model.grid, merged(ranges)),
            count=count(merged(ranges)),
            before=(before := mask(text_of(services, made.sql) or "")),
            after=(after := mask(segment.body.text)),
            cosmetic=states == {State.CURRENT},
            schema=_schema_lines(services, made, segment.version),
            only_secrets=made.sql != now.sql and before == after,
        )
        found.append(one)
    return ModelDiff(name, tuple(found))


def text_of(services: Services, checksum: str) -> str | None:
    """Return the SQL of a checksum, None if it was not kept."""
    return services.reading.records.texts((checksum,)).get(checksum)


def _schema_lines(services: Services, old: Fingerprint, version: Version) -> tuple[str, ...]:
    declared = bool(old.schema and version.schema.columns)
    text = text_of(services, old.schema) if declared else None
    before = read_schema_text(text) if text else Schema()
    return version_schema_diff(before, version.schema) if before.columns else ()


def _table_diff(services: Services, project_state: ProjectState, model: Model) -> ModelDiff:
    record = project_state.records.get(model.name)
    made = record.fingerprint if record else None
    now = model.fingerprint
    before = text_of(services, made.sql) if made and made.sql != now.sql else None
    if made is None or before is None:
        return ModelDiff(model.name)
    cosmetic = made.canonical == now.canonical and made.version == now.version
    bodies = (body for version in model.versions for body in version.bodies)
    texts = [body.text for body in bodies if body.fingerprint == now]
    after = texts[-1] if texts else project_state.project.shown_sql(model)
    whole = (("*", "*"),)
    before, after = mask(before), mask(after)
    one = SqlDiff(now.label, whole, 1, before, after, cosmetic, kind=kind_of(model))
    one = replace(one, only_secrets=before == after)
    return ModelDiff(model.name, (one,))
