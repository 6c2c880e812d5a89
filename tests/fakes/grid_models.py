"""Models of each grain, of which the first partitions are built without Spark."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from fakes.services import ME, an_intent
from penstock.app.observation.log_reader import note_written
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record
from penstock.core.records import Run
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import Outcome
from penstock.core.steps.token import write_token


@dataclass(frozen=True, slots=True)
class GridModel:
    """A model, and which of its partitions are built."""

    name: str
    partition: str
    type: str
    sql: str
    values: tuple[object, ...]
    built: str
    since: str = "2024-12-14"

    @property
    def text(self) -> str:
        """Return its file."""
        return f"""\
name: {self.name}
destination: {{dataset: s, table: {self.name}, partition: {{field: part, {self.partition}}}}}
versions:
  - version: 1
    effective_from: {self.since}
    sql: SELECT {self.sql} AS part, 1 AS n FROM raw.events WHERE {self.sql} = @partition_date
    schema: [{{name: part, type: {self.type}}}, {{name: n, type: INT64}}]
"""


MODELS = (
    GridModel(
        "hourly",
        "type: HOUR",
        "TIMESTAMP",
        "date_trunc('hour', created_at)",
        tuple(dt.datetime(2024, 12, 14, hour, tzinfo=dt.UTC) for hour in range(6)),
        "2024-12-14T00..2024-12-14T05",
    ),
    GridModel(
        "weekly",
        "type: WEEK",
        "DATE",
        "cast(date_trunc('week', created_at) as date)",
        (dt.date(2024, 11, 25), dt.date(2024, 12, 2)),
        "2024-11-25..2024-12-02",
        since="2024-11-25",
    ),
    GridModel(
        "monthly",
        "type: MONTH",
        "DATE",
        "cast(date_trunc('month', created_at) as date)",
        (dt.date(2024, 8, 1), dt.date(2024, 9, 1), dt.date(2024, 10, 1)),
        "2024-08..2024-10",
        since="2024-08-01",
    ),
    GridModel(
        "ranged",
        "type: RANGE, start: 0, end: 90, interval: 10",
        "INT64",
        "length(user_id)",
        (0, 10, 20, 30),
        "0..30",
    ),
)
FILES = {f"queries/{model.name}.yaml": model.text for model in MODELS}


def build_grids(services: Services) -> None:
    """Build the first partitions of each model in one run."""
    now = services.clock.now()
    run = Run(ME.run, "run", "run --select weekly", "dev", now, ME, now)
    with on_record(services, run) as succeed:
        for model in MODELS:
            _build(services, model)
        succeed()


def _build(services: Services, built: GridModel) -> None:
    model = services.project.models[built.name]
    pin = DeltaPin(DeltaTable(f"{services.project.root}/lake/raw/events").metadata().id, 0)
    intent = replace(
        an_intent(model, raw__events=pin),
        uri=services.project.uri_of(model.table),
        fingerprint=model.versions[0].bodies[0].fingerprint,
        partitions=(built.built,),
        grid=model.grid,
    )
    begun = services.writing.journal.begin(intent, {}, ME, None)
    store = services.writing.archive.store_id()
    token = write_token(replace(intent, step_seq=begun.step_seq), "0.1.0", store, "stats")
    write_deltalake(
        intent.uri,
        pa.table({"part": pa.array(built.values), "n": pa.array([1] * len(built.values))}),
        commit_properties=CommitProperties(custom_metadata={"userMetadata": token}),
    )
    table = DeltaTable(intent.uri)
    done = Outcome(table.version(), table.metadata().id, table.version())
    services.writing.journal.finish(intent.step, done)
    services.writing.leases.unlock(str(model.table))
    note_written(services, [built.name])
