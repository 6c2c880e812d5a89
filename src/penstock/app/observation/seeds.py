"""Whether the table of a seed still is what its file holds, and who reads one that is not."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.app.observation.observe import not_read, observe_target
from penstock.app.services.services import Services
from penstock.core.errors import TableError
from penstock.core.model import Fingerprint, Model, Seed
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.core.records import ModelRecord
from penstock.plan.cascade import parents_of
from penstock.plan.drift.detect import detect_table_drift
from penstock.plan.values import Now, Observed, Reason, State, error_line
from penstock.strategies.table import Table


def model_of(seed: Seed) -> Model:
    """Give the seed as a model without inputs: what drift and statements know how to treat."""
    declared = "\n".join(f"{column.name} {column.type}" for column in seed.columns)
    settings = hashlib.sha256(f"{seed.table}\n{declared}".encode()).hexdigest()
    return Model(
        name=seed.name,
        table=seed.table,
        where=seed.where,
        strategy=Table(),
        query=Query("", "", "", ()),
        fingerprint=Fingerprint(seed.digest, seed.digest, settings),
        columns=seed.columns,
    )


def seed_reason(
    services: Services, seed: Seed, records: Mapping[str, ModelRecord], run_timestamp: dt.datetime
) -> Reason:
    """Say whether the table still is what the file holds: `current`, or what differs.

    It is `unreadable` if that cannot be told.
    """
    model = model_of(seed)
    try:
        seen = look_at_seed(services, model, records.get(seed.name))
    except TableError as error:
        return Reason(State.UNREADABLE, error_line(error))
    now = Now(run_timestamp, {seed.name: seen}, {})
    reason = detect_table_drift(services.project, model, records, now).reason
    if reason.state is State.SQL_CHANGED:
        what = reason.detail or f"{Path(seed.path).name} changed"
        return Reason(State.SOURCE_CHANGED, what, reason.also)
    return reason


def look_at_seed(services: Services, model: Model, record: ModelRecord | None) -> Observed:
    """Look at the table of a seed; what cannot be read is an error of the seed."""
    try:
        return observe_target(services, model, record)
    except (TableError, OSError) as error:
        raise not_read(model, error) from error


def seeds_to_load(
    services: Services,
    project: Project,
    names: Iterable[str],
    records: Mapping[str, ModelRecord],
    run_timestamp: dt.datetime,
) -> dict[str, tuple[str, ...]]:
    """Say of each model which seeds it reads, through views too, that `seed` would load again.

    What reads a seed drifts when the seed is loaded, not before: until then its table is as it was.
    """
    messages: dict[str, str] = {}
    found = {}
    for name in names:
        above = [up for up in parents_of(project, project.models[name]) if up in project.seeds]
        for seed in above:
            if seed not in messages:
                messages[seed] = _line(services, project.seeds[seed], records, run_timestamp)
        lines = tuple(messages[seed] for seed in above if messages[seed])
        if lines:
            found[name] = lines
    return found


def _line(
    services: Services, seed: Seed, records: Mapping[str, ModelRecord], run_timestamp: dt.datetime
) -> str:
    reason = seed_reason(services, seed, records, run_timestamp)
    if reason.state in (State.CURRENT, State.NEVER_RUN, State.UNREADABLE):
        return ""  # of the latter two what reads it says more
    return f"{seed.name}: {reason}; penstock seed loads it"
