"""A model over a few inputs, and what mapping its inputs gives."""

from __future__ import annotations

import datetime as dt

from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Finding, Location
from penstock.core.model import (
    Body,
    Fingerprint,
    InputMapping,
    Model,
    Source,
    Version,
)
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import Computed, Lower, Moved, RangeMapping
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import Query, mention, mentioned
from penstock.project.files.cache import ParseCache
from penstock.project.input_ranges.inputs import Declared
from penstock.project.input_ranges.mappings import map_inputs
from penstock.strategies.partition import Partition
from penstock.strategies.table import Table
from penstock.strategies.view import View

DAYS = Grid(Grain.DAY)
WHERE = Location("queries/weekly.yaml", 7)
ENTRY = Location("queries/weekly.yaml", 3)
DAILY = InputName(InputKind.MODEL, "daily")
WEEKLY = InputName(InputKind.MODEL, "weekly")
USERS = InputName(InputKind.MODEL, "users")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
BY_UDF = "select 1 from {daily} where my_udf(date) = @partition_date"


def query(sql: str) -> Query:
    tokens = {
        "daily": mention(DAILY, alias="daily"),
        "this": mention(InputName(InputKind.THIS, "weekly"), alias="weekly"),
        "events": mention(EVENTS, alias="events"),
        "users": mention(USERS, alias="users"),
        "recent": mention(InputName(InputKind.MODEL, "recent"), alias="recent"),
        "shards": mention(InputName(InputKind.MODEL, "shards"), alias="shards"),
        "other": mention(InputName(InputKind.EXTERNAL, "raw.other"), alias="other"),
    }
    text = sql.format(**tokens)
    return Query(text, text, text, mentioned(text))


def partition_model(name: str, sql: str, grid: Grid = DAYS, field: str = "date") -> Model:
    print_of_code = Fingerprint("", "", effective_from=dt.date(2024, 11, 25))
    body = Body(query(sql), print_of_code, sql, "", WHERE)
    kind = "int" if grid.grain is Grain.RANGE else "date"
    version = Version(1, body, Schema((Column(field, kind), Column("n", "int"))))
    return Model(
        name,
        TableName("analytics", name),
        Location("x"),
        Partition(field, kind, grid),
        body.query,
        body.fingerprint,
        versions=(version,),
    )


def other_model(name: str, sql: str, strategy: View | Table) -> Model:
    return Model(
        name, TableName("a", name), Location("x"), strategy, query(sql), Fingerprint("", "")
    )


def project(sql: str, grid: Grid = DAYS) -> dict[str, Model]:
    models = [
        partition_model("daily", "select 1"),
        partition_model("shards", "select 1", Grid(Grain.RANGE, 0, 300, 100), "bucket"),
        other_model("users", "select 1", Table()),
        other_model("recent", "select date as day from {daily}", View()),
        partition_model("weekly", sql, grid),
    ]
    return {model.name: model for model in models}


SOURCES = {"raw.events": Source(TableName("raw", "events"), Location("s"), "")}


def mapped(
    sql: str, *declared: Declared, grid: Grid = DAYS
) -> tuple[tuple[InputMapping, ...], list[Finding]]:
    cache = ParseCache(None, "")
    models, findings = map_inputs(project(sql, grid), SOURCES, {"weekly": declared}, cache)
    return models["weekly"].versions[0].body.inputs, findings


def declare(mapping: RangeMapping | None, name: InputName = DAILY, column: str = "") -> Declared:
    return Declared(name, mapping, column, ENTRY)


SEVEN_DAYS = Computed("date", ((Moved(Lower(), micros=-6 * DAY), Moved(Lower(), micros=DAY)),))
ONE_DAY = Computed("date", ((Lower(), Moved(Lower(), micros=DAY)),))
SAME_DAY = "select 1 from {daily} where date = @partition_date"
