"""The verdicts of `penstock status`, partition by partition from row objects: a baseline.

python bench/drift_naive.py ROOT
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, create_engine, select

from penstock.app.services.wire import Where, open_project
from penstock.core.model import Body, InputMapping, Model
from penstock.core.partitions.mapping import spans
from penstock.core.project import Project
from penstock.engine.log.delta_log import DeltaLog
from penstock.state.schema import fingerprints, models, partition_state, step_inputs

DAY_LENGTH = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One row of `partition_state`."""

    ord: int
    status: str
    fingerprint: int | None
    step: int | None
    commit_version: int | None
    settled_version: int | None


@dataclass(frozen=True, slots=True)
class Pinned:
    """One row of `step_inputs`."""

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Known:
    """Everything in the database that a verdict needs."""

    records: dict[str, dict[int, Record]]
    marks: dict[int, tuple[str, str, str]]
    pins: dict[int, dict[str, Pinned]]


def read(engine: Engine) -> Known:
    """Read every row as an object."""
    records: dict[str, dict[int, Record]] = defaultdict(dict)
    pins: dict[int, dict[str, Pinned]] = defaultdict(dict)
    state, mark, pin = partition_state.c, fingerprints.c, step_inputs.c
    with engine.connect() as connection:
        rows = select(
            models.c.name,
            state.ord,
            state.status,
            state.fingerprint_id,
            state.step_seq,
            state.commit_version,
            state.settled_version,
        ).join(models, models.c.id == state.model_id)
        for name, *cells in connection.execute(rows):
            records[name][cells[0]] = Record(*cells)
        told = select(mark.id, mark.version, mark.canonical_checksum, mark.schema_checksum)
        marks = {number: tuple(rest) for number, *rest in connection.execute(told)}
        pinned = select(pin.step_seq, pin.input, pin.table_id, pin.pinned_version)
        for step, name, *rest in connection.execute(pinned):
            pins[step][name] = Pinned(*rest)
    return Known(records, marks, pins)


def judge(project: Project, known: Known, model: Model, number: int, heads: dict[str, int]) -> str:
    """Give the state of one partition, "" for a current one."""
    record = known.records[model.name].get(number)
    if record is None:
        return "never_run"
    if record.status == "FAILED":
        return "failed"
    if record.settled_version is None or model.name not in heads:
        return "missing"
    body = resolved(model, number)
    version, canonical, schema = known.marks[record.fingerprint or 0]
    now = body.fingerprint
    if version != str(now.version):
        return "version_upgraded"
    if canonical != now.canonical:
        return "sql_changed"
    if schema != now.schema:
        return "schema_changed"
    pins = known.pins[record.step or 0]
    found = {changed(project, known, m, pins, number, heads) for m in body.inputs}
    return next((s for s in ("source_changed", "upstream_changed") if s in found), "")


def resolved(model: Model, number: int) -> Body:
    """Give the SQL of the newest version that is effective on a day."""
    day = dt.date(1970, 1, 1) + dt.timedelta(days=number)
    found = model.versions[0]
    for version in model.versions:
        if version.effective_from and version.effective_from <= day:
            found = version
    return found.body


def changed(
    project: Project,
    known: Known,
    mapping: InputMapping,
    pins: dict[str, Pinned],
    number: int,
    heads: dict[str, int],
) -> str:
    """Give the state of a partition whose input changed in what it reads, else ""."""
    name = mapping.input.name
    pin = pins.get(name)
    if name in project.sources:
        return "source_changed" if pin is None or heads[name] > pin.version else ""
    grid = project.models[name].grid
    place = number * DAY_LENGTH
    for low, high in spans(mapping.mapping, (place, place + DAY_LENGTH), grid):
        for each in range(grid.at(low), grid.at(high - 1) + 1):
            above = known.records[name].get(each)
            if above is None or above.commit_version is None:
                continue
            if pin is None or above.commit_version > pin.version:
                return "upstream_changed"
    return ""


def main(root: Path) -> None:
    """Print the verdicts as JSON."""
    project = open_project(Where(root))
    known = read(create_engine(project.target.state))
    log, heads = DeltaLog(), {}
    for name, uri in [(m.name, project.uri_of(m.table)) for m in project.models.values()] + [
        (name, source.path) for name, source in project.sources.items()
    ]:
        head = log.head(uri)
        if head is not None:
            heads[name] = head.version
    today = (dt.datetime.now(dt.UTC).date() - dt.date(1970, 1, 1)).days
    states: Counter[str] = Counter()
    partitions = 0
    for model in project.models.values():
        first = min(v.effective_from for v in model.versions if v.effective_from)
        for number in range((first - dt.date(1970, 1, 1)).days, today + 1):
            partitions += 1
            state = judge(project, known, model, number, heads)
            if state:
                states[f"{model.name} {state}"] += 1
    drifted = sum(states.values())
    print(json.dumps({"partitions": partitions, "drifted": drifted, "states": states}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
