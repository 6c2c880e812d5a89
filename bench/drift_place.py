"""Generated places for the benchmarks of drift: many partition models, their records, their logs.

Nothing is built: records and logs are written as a backfill of everything would leave them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drift_log import Log
from sqlalchemy import Connection, Engine, insert, make_url, update

from penstock.app.services.wire import Where, open_services
from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.partition import Grain, Grid, write_ranges
from penstock.core.project import Project
from penstock.core.records import Status
from penstock.core.steps.inputs import DeltaPin, InputPin
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import write_token
from penstock.state.schema import models, partition_state, steps, target_state
from penstock.state.sql import sqlite
from penstock.state.sql.rows import fingerprint_id, insert_step, model_id
from penstock.state.transitions.model_state import StoredStep

DAY = Grid(Grain.DAY)


@dataclass(frozen=True, slots=True)
class Shape:
    """How much there is: models of `days` days, built `batch` days at a time.

    Every model reads three of the layer above it; the first layer reads sources. Each was built
    after all that it reads. Of each table there were `before` commits more, of each source
    `delivered`.
    """

    models: int = 1000
    days: int = 1000
    layers: int = 10
    sources: int = 20
    batch: int = 31
    before: int = 0
    delivered: int = 4

    @property
    def first(self) -> dt.date:
        """The first day, such that the last one is today's."""
        return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=self.days - 1)

    @property
    def batches(self) -> int:
        """How many steps built a model."""
        return -(-self.days // self.batch)

    @property
    def last(self) -> int:
        """The version that a table has in the end."""
        return self.before + self.batches

    def day(self, number: int) -> str:
        """Give a day; after the last one it begins anew."""
        return (self.first + dt.timedelta(days=number % self.days)).isoformat()


def write_project(root: Path, shape: Shape) -> None:
    """Write a versioned YAML file and its SQL for every model; every fourth has two versions."""
    _write(root / "penstock.yml", _PROJECT)
    tables = "".join(
        f"      - {{name: events_{n:02d}, path: ../lake/events_{n:02d}}}\n"
        for n in range(shape.sources)
    )
    _write(root / "queries/sources.yml", f"sources:\n  - name: raw\n    tables:\n{tables}")
    for number in range(shape.models):
        name = model_name(number)
        folder = root / "queries" / f"g{number // 100:02d}"
        text = (_RANGE if number % 2 else _SINGLE).format(*_inputs(number, shape))
        versions = [_VERSION.format(n=1, day=shape.first, file=f"{name}.sql")]
        _write(folder / f"{name}.sql", text)
        if number % 4 == 0:
            day = shape.first + dt.timedelta(days=shape.batch * (shape.batches // 2))
            versions.append(_VERSION.format(n=2, day=day, file=f"{name}.v2.sql"))
            _write(folder / f"{name}.v2.sql", text.replace("c.amount", "2 * c.amount"))
        _write(folder / f"{name}.yaml", _MODEL.format(name=name) + "".join(versions))


def model_name(number: int) -> str:
    """Give the name of a model."""
    return f"m_{number:05d}"


def _inputs(number: int, shape: Shape) -> list[str]:
    per_layer = -(-shape.models // shape.layers)
    layer, place = divmod(number, per_layer)
    if layer == 0:
        return [f"raw.events_{(place + k) % shape.sources:02d}" for k in range(3)]
    near = dict.fromkeys(at % per_layer for at in (place, place * 7 + 3, place * 13 + 5))
    spare = (at % per_layer for at in range(place + 1, place + per_layer))
    picked = list(dict.fromkeys([*near, *spare]))[:3]
    return [f"mart.{model_name((layer - 1) * per_layer + each)}" for each in picked]


def write_sources(project: Project, shape: Shape) -> None:
    """Write the logs of all sources."""
    for name, source in project.sources.items():
        log = Log(Path(source.path), f"id-{name}")
        log.create("")
        for number in range(shape.delivered):
            log.replace("", shape.day(number))


def write_world(root: Path, shape: Shape) -> None:
    """Write the sources, the logs of all tables, and a record of every partition."""
    services = open_services(Where(root))
    try:
        write_sources(services.project, shape)
        store = services.writing
        builder = _Builder(services.project, shape, store.archive.store_id())
        engine = sqlite.connect(make_url(services.project.target.state))
        builder.write(engine)
        engine.dispose()
        for model in services.project.models.values():
            seen = Seen(str(model.table), f"id-{model.name}", shape.last)
            store.notes.note(seen, builder.commits[model.name])
    finally:
        services.close()


@dataclass(slots=True)
class _Builder:
    """Writes a step at a time to a table's log, and all steps of a model to the database."""

    project: Project
    shape: Shape
    store: str
    commits: dict[str, list[Touched]] = field(default_factory=dict)
    _number: int = 0

    def write(self, engine: Engine) -> None:
        with engine.begin() as connection:
            for name in sorted(self.project.models):
                model = self.project.models[name]
                log = Log(Path(self.project.uri_of(model.table)), f"id-{name}")
                for batch in range(-1, self.shape.batches):
                    self._step(connection, model, batch, log)

    def _step(self, connection: Connection, model: Model, batch: int, log: Log) -> None:
        """Write one step as `begin` and `finish` do; batch -1 creates the table."""
        self._number += 1
        low = DAY.parse(self.shape.first.isoformat())
        first = low + max(batch, 0) * self.shape.batch
        last = min(first + self.shape.batch, low + self.shape.days) - 1
        intent = self._intent(model, batch, first, last)
        token = write_token(intent, "bench", self.store)
        if batch < 0:
            log.create(token)
            for each in range(self.shape.before):
                log.replace(token, self.shape.day(each))
        else:
            log.append(token, [DAY.key(each) for each in range(first, last + 1)])
        insert_step(connection, StoredStep(intent, _MOMENT, "bench@bench"))
        number = model_id(connection, model.name)
        ended = {
            "status": Status.SUCCESS,
            "ended": _MOMENT,
            "table_id": log.table_id,
            "commit_version": log.version if batch >= 0 else 0,
            "settled_version": log.version if batch >= 0 else 0,
        }
        seq = steps.c.step_seq == self._number
        connection.execute(update(steps).where(seq).values(**ended))
        if batch < 0:
            connection.execute(update(models).where(models.c.id == number).values(grid=DAY))
            return
        spans = {"date": ((DAY.lower(first), DAY.upper(last)),)}
        touched = Touched(log.version, _MOMENT, "WRITE", intent.step, self.store, spans=spans)
        self.commits.setdefault(model.name, []).append(touched)
        mark = fingerprint_id(connection, number, intent.fingerprint)
        rows = _rows(first, last, self._number, log.version)
        same = {"model_id": number, "fingerprint_id": mark}
        connection.execute(insert(partition_state), [{**row, **same} for row in rows])
        if batch == self.shape.batches - 1:
            seen = {"table_id": log.table_id, "seen_version": log.version}
            connection.execute(
                insert(target_state).values(target=str(model.table), high_time=_MOMENT, **seen)
            )

    def _intent(self, model: Model, batch: int, first: int, last: int) -> Intent:
        mark = self._mark(model, first)
        inputs = tuple(
            InputPin(each.name, self._pin(each.name))
            for each in model.inputs
            if each.name in self.project.models or each.name in self.project.sources
        )
        intent = Intent(
            step=f"step-{self._number:07d}-0000-7000-8000-000000000000",
            run="bench",
            model=model.name,
            table=model.table,
            uri=self.project.uri_of(model.table),
            kind=StepKind.CREATE if batch < 0 else StepKind.BUILD,
            strategy="partition",
            reason="never_run",
            triggered_by="backfill",
            run_timestamp=_MOMENT,
            fingerprint=mark,
            partitions=write_ranges(DAY, ((first, last),)),
            inputs=inputs,
            base_version=batch if batch >= 0 else None,
            step_seq=self._number,
            grid=DAY,
        )
        return replace(intent, inputs=(), partitions=()) if batch < 0 else intent

    def _mark(self, model: Model, number: int) -> Fingerprint:
        """Give the fingerprint of the version that is for a day."""
        day = DAY.key(number)
        fit = [v for v in model.versions if str(v.effective_from) <= day]
        return max(fit, key=lambda each: str(each.effective_from)).body.fingerprint

    def _pin(self, name: str) -> DeltaPin:
        is_source = name in self.project.sources
        return DeltaPin(f"id-{name}", self.shape.delivered if is_source else self.shape.last)


def _rows(first: int, last: int, step: int, version: int) -> Iterator[dict[str, Any]]:
    for each in range(first, last + 1):
        yield {
            "ord": each,
            "partition": DAY.key(each),
            "status": Status.SUCCESS,
            "step_seq": step,
            "last_step_seq": step,
            "commit_version": version,
            "settled_version": version,
            "executed_at": _MOMENT,
            "execution_time_ms": 1200,
            "rows_written": 100,
            "bytes_written": 4000,
        }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_MOMENT = dt.datetime.now(dt.UTC).replace(microsecond=0)

_PROJECT = """\
name: bench
models: [queries]
targets:
  dev: {warehouse: warehouse, state: sqlite}
"""

_MODEL = """\
name: {name}
description: What {name} holds
destination:
  dataset: mart
  table: {name}
  partition: {{field: date, type: DAY}}
versions:
"""

_VERSION = """\
  - version: {n}
    effective_from: {day}
    sql: {file}
    schema:
      - {{name: date, type: DATE}}
      - {{name: id, type: INT64}}
      - {{name: amount, type: INT64}}
"""

_SINGLE = """\
select a.date, a.id, a.amount + b.amount + c.amount as amount
from {} as a
join {} as b on a.id = b.id and b.date = @partition_date
join {} as c on a.id = c.id and c.date = @partition_date
where a.date = @partition_date
"""

_RANGE = """\
select a.date, a.id, a.amount + b.amount + c.amount as amount
from {} as a
join {} as b on a.id = b.id and a.date = b.date
join {} as c on a.id = c.id and a.date = c.date
where a.date >= @start_date and a.date < @end_date
  and b.date >= @start_date and b.date < @end_date
  and c.date >= @start_date and c.date < @end_date
"""
