"""Small values for tests: a model, a project, a record, with everything else at its default."""

from __future__ import annotations

import datetime as dt

from penstock.core.findings import Location
from penstock.core.model import ColumnDoc, Fingerprint, Model, Seed, Source
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Project, Target
from penstock.core.query import Query, mention
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import Pin
from penstock.core.strategy import Strategy
from penstock.strategies.table import Table

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


def reads(*names: str) -> tuple[InputName, ...]:
    """Name inputs: `raw.x` is a source, a plain word a model."""
    return tuple(
        InputName(InputKind.SOURCE if "." in name else InputKind.MODEL, name) for name in names
    )


def a_model(name: str, *inputs: str, strategy: Strategy | None = None, **changes: object) -> Model:
    """A table model in schema `s` that selects from its inputs."""
    read = reads(*inputs)
    tables = ", ".join(mention(each, each.name.rpartition(".")[2]) for each in read) or "(select 1)"
    text = f"select * from {tables}"
    settings: dict[str, object] = {
        "name": name,
        "table": TableName("s", name),
        "where": Location(f"models/{name}.sql"),
        "strategy": strategy or Table(),
        "query": Query(text, text, text, read),
        "fingerprint": Fingerprint(f"sql-{name}", f"canonical-{name}", "", ""),
        "depends_on": tuple(each.name for each in read if each.kind is InputKind.MODEL),
    }
    return Model(**(settings | changes))  # type: ignore[arg-type]


def a_source(name: str, **changes: object) -> Source:
    """A Delta source `raw.NAME` in /landing."""
    table = TableName("raw", name)
    settings: dict[str, object] = {
        "table": table,
        "where": Location("models/sources.yml", 4),
        "path": f"/landing/{name}",
    }
    return Source(**(settings | changes))  # type: ignore[arg-type]


def a_project(*parts: Model | Source) -> Project:
    """A project of these models and sources in the warehouse /w."""
    return Project(
        name="shop",
        root="/shop",
        target=Target("dev", "/w", "sqlite://"),
        models={each.name: each for each in parts if isinstance(each, Model)},
        sources={str(each.table): each for each in parts if isinstance(each, Source)},
    )


def a_success(model: Model, step_seq: int = 1, version: int = 0, **pins: Pin) -> ModelRecord:
    """The record of a model that was built as its code says, at a table version."""
    return ModelRecord(
        model=model.name,
        status=Status.SUCCESS,
        last_step_seq=step_seq,
        step=f"step-{step_seq}",
        step_seq=step_seq,
        fingerprint=model.fingerprint,
        table_id=f"id-{model.name}",
        commit_version=version,
        settled_version=version,
        pins={name.replace("__", "."): pin for name, pin in pins.items()},
    )


def countries(*columns: ColumnDoc) -> Seed:
    """The seed of countries, with these columns declared."""
    return Seed(
        name="countries",
        table=TableName("s", "countries"),
        where=Location("seeds/countries.csv"),
        path="/shop/seeds/countries.csv",
        format="csv",
        digest="d1",
        columns=columns,
    )
