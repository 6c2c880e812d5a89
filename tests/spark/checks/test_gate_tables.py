"""A gate that blocks looks at the table that will be, whatever columns the step changes."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.gate_looks import GateLooks, committed
from fakes.place import Place, statuses
from penstock.app.request import SnapshotRequest

LOOKS = {
    "on_failure": "block",
    "after": [
        {"name": "reads_it", "sql": "select 1 from {destination} where false"},
        {"type": "row_count", "min": 0},
    ],
}
OLD = {
    "id": pa.int32(),
    "at": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
    "p": pa.string(),
    "v": pa.decimal128(10, 2),
    "f": pa.float32(),
    "n": pa.int32(),
    "s": pa.struct({"a": pa.int32()}),
    "gone": pa.string(),
}
WIDER = {
    "id": pa.int64(),
    "v": pa.decimal128(14, 4),
    "f": pa.float64(),
    "n": pa.int64(),
}
DAY = dt.date(2024, 1, 1)


def row(number, day, **more):
    """Give a row of the source; what it has no column for is left out of the table."""
    at = dt.datetime(2024, 1, day, number % 20, tzinfo=dt.UTC)
    cells = {"id": number, "at": at, "day": at.date(), "p": "ab"[number % 2], "v": Decimal("1.00")}
    return {**cells, "f": 0.1, "n": number, "s": {"a": 1, "b": "x"}, "gone": "g", **more}


FIRST = [row(number, 1) for number in (1, 2, 3)]
CHANGED = [row(2, 2, v=Decimal("2.00")), row(3, 2), row(4, 2, gone=None)]
FINER = [
    row(2, 2, v=Decimal("-0.0010"), f=0.2, n=2**40),
    row(3, 2),
    row(2**40, 2, v=Decimal("0.0049")),
]
CHANGES = {
    "nothing": (OLD, CHANGED),
    "wider": ({**OLD, **WIDER}, FINER),
    "new": (
        {**OLD, "s": pa.struct({"a": pa.int32(), "b": pa.string()}), "more": pa.string()},
        [{**each, "more": "m"} for each in CHANGED],
    ),
    "dropped": ({k: kind for k, kind in OLD.items() if k != "gone"}, CHANGED),
    "renamed": (
        {{"v": "V", "n": "N"}.get(k, k): kind for k, kind in OLD.items()},
        [{**each, "V": each["v"], "N": each["n"]} for each in CHANGED],
    ),
    "repartitioned": (OLD, CHANGED),
}
CHANGES["all"] = (
    {
        **{{"v": "V"}.get(k, k): kind for k, kind in CHANGES["wider"][0].items() if k != "gone"},
        "more": pa.string(),
    },
    [{**each, "V": each["v"], "more": "m"} for each in FINER],
)
KEYED = {"unique_key": ["id"]}
STRATEGIES = {
    "append": {"materialized": "append", "time_column": "at"},
    "whole": {"materialized": "table"},
    "parts": {"materialized": "table", "overwrite": "partitions", "partition_by": ["p"]},
    "merge": {"materialized": "merge", **KEYED},
    "kept": {"materialized": "snapshot", "strategy": "check", "check_cols": ["v", "n"], **KEYED},
    "timed": {"materialized": "snapshot", "strategy": "timestamp", "updated_at": "at", **KEYED},
    "days": {
        "materialized": "partition",
        "partition_by": "day",
        "partition_type": "DAY",
        "start": "2024-01-01",
    },
}
MOVED = {
    "append": ["p"],
    "whole": ["p"],
    "parts": ["n"],
    "merge": ["p"],
    "kept": ["p"],
    "timed": ["p"],
    "days": "day",
}


def landed(place, change, schema, rows):
    """Replace the rows and columns of a source."""
    table = pa.Table.from_pylist(
        [{name: each[name] for name in schema} for each in rows],
        pa.schema([pa.field(name, kind) for name, kind in schema.items()]),
    )
    uri = f"{place.root}/landing/{change}"
    write_deltalake(uri, table, mode="overwrite", schema_mode="overwrite")


def modelled(place, strategy, change, **more):
    """Write a model that takes all columns of a source, and a gate that looks at all."""
    where = " where day = @partition_date" if strategy == "days" else ""
    query = f"select * from {{{{ source('raw', '{change}') }}}}{where}"
    place.model(f"{strategy}_{change}", query, **{**STRATEGIES[strategy], **more})


def project(place, *changes):
    listed = ", ".join(f"{{name: {each}, path: ../landing/{each}}}" for each in changes)
    place.write("models/raw.yml", f"sources: [{{name: raw, tables: [{listed}]}}]\n")
    names = [f"{strategy}_{change}" for strategy in STRATEGIES for change in changes]
    models = ", ".join(f"{{name: {name}, checks: {json.dumps(LOOKS)}}}" for name in names)
    place.write("models/m/checks.yml", f"models: [{models}]\n")
    for change in changes:
        landed(place, change, OLD, FIRST)
        for strategy in STRATEGIES:
            modelled(place, strategy, change)


def both(place, day):
    """Run everything, snapshots too, with the partition of a day."""
    key = f"2024-01-0{day}"
    report = place.run(first=key, last=key)
    found = dict(statuses(report))
    found |= statuses(place.run(snapshot=SnapshotRequest()))
    return found


def held(place, looks):
    """Say of each model in what the gate's table, or rows, differ from what was committed."""
    wrong = {}
    for model, (step, table) in looks.of.items():
        made = committed(place, f"{place.root}/warehouse/m/{model}")
        if table != made:
            wrong[model] = (
                table and table.columns,
                made.columns,
                table and table.lines,
                made.lines,
            )
        if step is not None and (step.columns != made.columns or not step.lines <= made.lines):
            wrong[f"{model}: step"] = (step.columns, made.columns, step.lines, made.lines)
    return wrong


def looked_at(place, monkeypatch, *changes):
    """Build, change, run again; give what differs."""
    project(place, *changes)
    first = both(place, 1)
    assert set(first.values()) == {"success"}, first
    for change in changes:
        landed(place, change, *CHANGES[change])
        if change == "repartitioned":
            for strategy, columns in MOVED.items():
                modelled(place, strategy, change, partition_by=columns)
    looks = GateLooks.watching(monkeypatch)

    second = both(place, 2)

    assert set(second.values()) == {"success"}, second
    assert len(looks.of) == len(STRATEGIES) * len(changes)
    return held(place, looks)


def test_a_gate_looks_at_what_is_committed_where_columns_come_go_and_widen(
    place: Place, monkeypatch
) -> None:
    assert looked_at(place, monkeypatch, "all") == {}


@pytest.mark.matrix
@pytest.mark.parametrize("change", [each for each in CHANGES if each != "all"])
def test_a_gate_looks_at_what_is_committed(place: Place, monkeypatch, change) -> None:
    assert looked_at(place, monkeypatch, change) == {}
