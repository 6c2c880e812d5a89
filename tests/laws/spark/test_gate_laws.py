"""What a gate in `block` looked at is what was committed, whatever columns and strangers do."""

import datetime as dt
import random
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.gate_looks import GateLooks, committed
from fakes.place import Place, statuses
from penstock.app.request import SnapshotRequest

CHECKS = (
    "{on_failure: block, after: [{name: reads_it, sql: select 1 from {destination} where false}, "
    "{type: row_count, min: 0}]}"
).replace("select 1 from {destination} where false", "'select 1 from {destination} where false'")
STRATEGIES = {
    "append": {"materialized": "append", "time_column": "at"},
    "whole": {"materialized": "table"},
    "parts": {"materialized": "table", "overwrite": "partitions", "partition_by": ["p"]},
    "merge": {"materialized": "merge", "unique_key": ["id"]},
    "kept": {
        "materialized": "snapshot",
        "strategy": "check",
        "check_cols": "all",
        "unique_key": ["id"],
    },
    "closing": {
        "materialized": "snapshot",
        "strategy": "timestamp",
        "updated_at": "at",
        "unique_key": ["id"],
        "hard_deletes": "invalidate",
    },
}
TYPES = {
    "n": [pa.int16(), pa.int32(), pa.int64()],
    "v": [pa.decimal128(10, 2), pa.decimal128(14, 4), pa.decimal128(20, 6)],
    "f": [pa.float32(), pa.float64()],
    "s": [pa.struct({"a": pa.int32()}), pa.struct({"a": pa.int32(), "b": pa.string()})],
    "gone": [pa.string()],
}
"""The types that a column gets one after the other: each holds the values of those before."""


@dataclass
class Source:
    """Columns and rows of one source; each delivery may change both."""

    luck: random.Random
    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TYPES, 0))
    hidden: set[str] = field(default_factory=set)
    more: int = 0
    delivered: int = 0

    def evolve(self) -> None:
        """Widen a column, add one, hide one or show it again, or do nothing."""
        name = self.luck.choice([*TYPES])
        match self.luck.choice(("wider", "wider", "new", "hide", "show", "nothing")):
            case "wider":
                self.kinds[name] = min(self.kinds[name] + 1, len(TYPES[name]) - 1)
            case "new":
                self.more = min(self.more + 1, 3)
            case "hide":
                self.hidden.add(name)
            case "show":
                self.hidden.discard(name)
            case _:
                pass

    def table(self) -> pa.Table:
        """Give the next delivery: a few keys, some of them known, all of them later."""
        self.delivered += 1
        fields = [pa.field("id", pa.int64()), pa.field("at", pa.timestamp("us", "UTC"))]
        fields.append(pa.field("p", pa.string()))
        fields += [
            pa.field(name.upper() if self.luck.random() < 0.1 else name, TYPES[name][kind])
            for name, kind in self.kinds.items()
            if name not in self.hidden
        ]
        fields += [pa.field(f"more_{number}", pa.string()) for number in range(self.more)]
        keys = self.luck.sample(range(8), self.luck.randint(1, 5))
        return pa.Table.from_pylist([self._row(key, fields) for key in keys], pa.schema(fields))

    def _row(self, key: int, fields: list[pa.Field]) -> dict[str, object]:
        at = dt.datetime(2024, 1, self.delivered, key, tzinfo=dt.UTC)
        row: dict[str, object] = {"id": key, "at": at, "p": "ab"[key % 2]}
        return row | {
            each.name: self._value(each.name.lower(), each.type)
            for each in fields
            if each.name not in row
        }

    def _value(self, name: str, kind: pa.DataType) -> object:
        if self.luck.random() < 0.15:
            return None
        if name == "v":
            return Decimal(self.luck.randint(-99, 99)).scaleb(-kind.scale)
        if name == "n":
            return self.luck.choice((1, -1, 2 ** (kind.bit_width - 2)))
        if name == "f":
            return self.luck.choice((0.1, -0.0, 1e30))
        return {"a": self.luck.randint(0, 2), "b": "b"} if name == "s" else self.luck.choice("xyz")


def meddle(place: Place, luck: random.Random, name: str) -> None:
    """Let somebody else delete a row of a table, or write one twice."""
    table = place.table(name)
    if luck.random() < 0.5:
        place.sql(f"DELETE FROM {table} WHERE id = {luck.randint(0, 7)}")
    elif not name.startswith(("kept", "closing", "merge")):  # keys are there once
        place.sql(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1")


def story(place: Place, luck: random.Random, monkeypatch, *, models: int, runs: int) -> int:
    """Run some models of random strategies again and again; count what was compared."""
    sources = {f"x{number}": Source(luck) for number in range(models)}
    listed = ", ".join(f"{{name: {each}, path: ../landing/{each}}}" for each in sources)
    place.write("models/raw.yml", f"sources: [{{name: raw, tables: [{listed}]}}]\n")
    names = {f"{luck.choice([*STRATEGIES])}_{source}": source for source in sources}
    for name, source in names.items():
        query = f"select * from {{{{ source('raw', '{source}') }}}}"
        place.model(name, query, **STRATEGIES[name.partition("_")[0]])
    checked = ", ".join(f"{{name: {name}, checks: {CHECKS}}}" for name in names)
    place.write("models/m/checks.yml", f"models: [{checked}]\n")
    compared = 0
    for number in range(runs):
        for source, now in sources.items():
            if number:
                now.evolve()
            uri = f"{place.root}/landing/{source}"
            write_deltalake(uri, now.table(), mode="overwrite", schema_mode="overwrite")
        for name in names:
            if number and luck.random() < 0.2:
                meddle(place, luck, name)
        compared += ran(place, monkeypatch)
    return compared


def ran(place: Place, monkeypatch) -> int:
    """Run everything once; hold what gates looked at against what was committed."""
    with monkeypatch.context() as patch:
        looks = GateLooks.watching(patch)
        report = place.run()
        ended = statuses(report) | statuses(place.run(snapshot=SnapshotRequest()))
    assert set(ended.values()) <= {"success", "unchanged"}, {
        name: str(result.error) for name, result in report.items()
    }
    for model, (step, table) in looks.of.items():
        made = committed(place, f"{place.root}/warehouse/m/{model}")
        assert table == made, model
        assert step is None or (step.columns == made.columns and step.lines <= made.lines), model
    return len(looks.of)


@pytest.mark.matrix
def test_gates_of_random_models_looked_at_what_was_committed(place, monkeypatch) -> None:
    assert story(place, random.Random(3), monkeypatch, models=3, runs=2) == 6  # noqa: S311  a story


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(10))
def test_gates_of_a_hundred_random_models_looked_at_what_was_committed(
    place, monkeypatch, seed
) -> None:
    assert story(place, random.Random(seed), monkeypatch, models=10, runs=6) > 40  # noqa: S311
