"""A gate that blocks looks at the table that will be, whatever columns the step changes."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.entity_files import entity
from fakes.entity_place import T1, T2, EntityPlace
from fakes.gate_looks import GateLooks, committed
from fakes.place import Place, statuses
from penstock.app.request import SnapshotRequest

pytestmark = pytest.mark.matrix

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


def project(place, *changes, strategies):
    listed = ", ".join(f"{{name: {each}, path: ../landing/{each}}}" for each in changes)
    place.write("models/raw.yml", f"sources: [{{name: raw, tables: [{listed}]}}]\n")
    names = [f"{strategy}_{change}" for strategy in strategies for change in changes]
    models = ", ".join(f"{{name: {name}, checks: {json.dumps(LOOKS)}}}" for name in names)
    place.write("models/m/checks.yml", f"models: [{models}]\n")
    for change in changes:
        landed(place, change, OLD, FIRST)
        for strategy in strategies:
            modelled(place, strategy, change)


def ran(place, day, *strategies):
    """Run everything, snapshots too, with the partition of a day."""
    key = f"2024-01-0{day}"
    found = statuses(place.run(first=key, last=key))
    if any(STRATEGIES[each]["materialized"] == "snapshot" for each in strategies):
        found |= statuses(place.run(snapshot=SnapshotRequest()))
    return found


def held(place, looks):
    """Say of each model in what the gate's table, or rows, differ from what was committed."""
    wrong = {}
    for model, (step, table) in looks.of.items():
        made = committed(place, f"{place.root}/warehouse/m/{model}")
        if table != made:
            wrong[model] = (table, made)
        if step is not None and (step.columns != made.columns or not step.lines <= made.lines):
            wrong[f"{model}: step"] = (step, made)
    return wrong


def looked_at(place, monkeypatch, *changes, strategies=tuple(STRATEGIES)):
    """Build, change, run again; give what differs."""
    project(place, *changes, strategies=strategies)
    first = ran(place, 1, *strategies)
    assert set(first.values()) == {"success"}, first
    for change in changes:
        landed(place, change, *CHANGES[change])
        for strategy in strategies:
            if change == "repartitioned":
                modelled(place, strategy, change, partition_by=MOVED[strategy])
    looks = GateLooks.watching(monkeypatch)

    second = ran(place, 2, *strategies)

    assert set(second.values()) == {"success"}, second
    assert len(looks.of) == len(strategies) * len(changes)
    return held(place, looks)


def test_a_gate_looks_at_what_is_committed_where_columns_come_go_and_widen(
    place: Place, monkeypatch
) -> None:
    few = ("append", "parts", "merge", "days")
    assert looked_at(place, monkeypatch, "all", strategies=few) == {}


@pytest.mark.parametrize("change", CHANGES)
def test_a_gate_of_any_strategy_looks_at_what_is_committed(
    place: Place, monkeypatch, change
) -> None:
    assert looked_at(place, monkeypatch, change) == {}


def gate(**check):
    return {"on_failure": "block", "after": [check]}


def test_values_that_only_a_wider_type_holds_are_judged_as_they_will_be(place: Place) -> None:
    gates = {
        "fine": gate(name="negative", sql="select 1 from {destination} where v < 0"),
        "keys": gate(type="unique", column="id"),
        "same": gate(name="equal", sql="select 1 from {destination} where f = 0.1D"),
    }
    place.write("models/raw.yml", "sources: [{name: raw, tables: [{name: x, path: ../landing/x}]}]")
    models = ", ".join(
        f"{{name: {name}, checks: {json.dumps(how)}}}" for name, how in gates.items()
    )
    place.write("models/m/checks.yml", f"models: [{models}]\n")
    for name in gates:
        query = "select id, v, f from {{ source('raw', 'x') }}"
        place.model(name, query, materialized="merge", unique_key="id")
    columns = ("id", "v", "f")
    landed(place, "x", {name: OLD[name] for name in columns}, FIRST)
    first = statuses(place.run())
    finer = [row(2, 2, v=Decimal("-0.0010")), row(2**40, 2)]
    landed(place, "x", {name: WIDER[name] for name in columns}, finer)

    second = place.run()

    assert first == {"fine": "success", "keys": "success", "same": "success"}
    assert statuses(second) == {"fine": "failed", "keys": "success", "same": "failed"}
    assert second["fine"].error.code == second["same"].error.code == "after-check-failed"
    assert (place.version("fine"), place.version("same")) == (0, 0)
    made = committed(place, f"{place.root}/warehouse/m/keys")
    assert dict(made.columns) == {"id": "bigint", "v": "decimal(14,4)", "f": "double"}


def test_a_function_that_replaces_a_range_is_called_once_and_its_gate_sees_the_range(
    place: Place, monkeypatch
) -> None:
    place.write("models/raw.yml", "sources: [{name: raw, tables: [{name: x, path: ../landing/x}]}]")
    place.write(
        "models/m/ranges.py",
        """\
        from pyspark.sql import functions as F
        from penstock import incremental_table

        @incremental_table(time_column="at", partition_by=["day"], checks=CHECKS)
        def ranges(raw__x):
            return raw__x.select("id", "at", "day", "v", F.rand().alias("luck"))
        """.replace("CHECKS", repr(LOOKS)),
    )
    landed(place, "x", OLD, FIRST)
    first = place.run()
    landed(place, "x", OLD, [*FIRST, *CHANGED])
    looks = GateLooks.watching(monkeypatch)

    second = place.run()

    assert [statuses(each) for each in (first, second)] == [{"ranges": "success"}] * 2
    assert held(place, looks) == {}
    assert looks.of["ranges"][0].lines.total() == 3


def test_gates_of_entities_look_at_what_is_committed(spark, tmp_path, monkeypatch) -> None:
    checks = {**LOOKS, "before": []}
    kinds = ("full", "merge", "historic")
    made = [
        entity(n, kind, kind, checks=checks, settings={"bronze_path": "aw/x"})
        for n, kind in enumerate(kinds, 1)
    ]
    lake = EntityPlace(tmp_path, spark, *made)
    narrow = {"ID": pa.int32(), "v": pa.decimal128(10, 2)}
    wide = {"ID": pa.int64(), "v": pa.decimal128(14, 4)}
    old = "ID, SeqNr, name, v"
    lake.slice(
        "a", (1, 1, "A", Decimal("1.00")), (2, 1, "B", Decimal("2.00")), columns=old, types=narrow
    )
    first = lake.at(T1, "kind:entity")
    lake.slice(
        "b",
        (2**40, 2, Decimal("-0.0010"), "m"),
        (2, 2, Decimal("0.0049"), "m"),
        columns="ID, SeqNr, v, more",
        types=wide,
    )
    looks = GateLooks.watching(monkeypatch)

    second = lake.at(T2, "kind:entity")

    for report in (first, second):
        assert {each.status for each in report.results} == {"success"}
    wrong = {}
    for kind in kinds:
        step, table = looks.of[f"silver_aw.{kind}"]
        rows = committed(lake, str(lake.silver(kind)))
        if table != rows or step.columns != rows.columns:
            wrong[kind] = (step, table, rows)
    assert wrong == {}
