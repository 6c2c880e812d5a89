"""Random stories of one entity: deliveries that drift, come late, are wrong, and come again."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakes.entity_files import entity
from fakes.entity_place import EntityPlace
from fakes.outside_entity import COUNTS, Delivery, OutsideTable, RefusedError, Rules, Values

BEGIN = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
MOMENTS = ("p_lastSeen", "p_ValidFrom", "p_ValidTo")
KINDS = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "decimal": pa.decimal128(9, 2),
}
BIG = 5_000_000_000


def rules_of(chance: random.Random, process: str) -> Rules:
    """Choose what the document says."""
    if process == "full":
        keys = chance.choice([("ID",), ()])
        return Rules(
            "full", keys, chance.choice(["", "region"]), dear_above=chance.choice([None, 3])
        )
    return Rules(
        process,
        keys=chance.choice([("ID",), ("ID", "region")]),
        partition=chance.choice(["", "", "region"]),
        lookback=chance.choice([0, 3, 3]),
        infers=chance.random() < 0.7,
        on_change=process == "merge" and chance.random() < 0.4,
        renamed={"Order Date": "order_date"},
        dear_above=chance.choice([None, 3]),
    )


def document_of(rules: Rules) -> dict[str, object]:
    """Write the rules as a document says them."""
    columns: list[dict[str, object]] = []
    for name in dict.fromkeys((*rules.keys, *filter(None, [rules.partition]))):
        roles = ["businesskey"] * (name in rules.keys) + ["partition"] * (name == rules.partition)
        columns.append({"name": name, "fieldroles": roles})
    columns += [{"name": old, "newname": new} for old, new in rules.renamed.items()]
    if rules.dear_above is not None:
        columns.append({"name": "dear", "expression": f"price > {rules.dear_above}"})
    text = f"${{minus(last_value, {rules.lookback})}}" if rules.lookback else "${last_value}"
    watermark = [{"column_name": "Seq", "expression": f"'{text}'"}]
    settings: dict[str, object] = {"delete_missing": True} if rules.infers else {}
    if rules.on_change:
        settings["last_seen"] = "on_change"
    return entity(
        process=rules.process,
        columns=columns,
        watermark=watermark if rules.lookback is not None else None,
        settings=settings,
    )


class OutsideStory:
    """A project and its second opinion; every run is compared."""

    ending = "parquet"

    def __init__(self, root: Path, spark, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311  a story, no secret
        self.rules = rules_of(self.chance, ("full", "merge", "merge", "historic")[seed % 4])
        self.place = EntityPlace(root, spark, document_of(self.rules))
        self.table = OutsideTable(self.rules)
        self.files: dict[str, Delivery] = {}
        self.done: set[str] = set()
        self.minutes, self.round = 0, 0

    def tell(self, rounds: int) -> None:
        """Deliver and run a few times; a wrong slice is mended, a processed one run again."""
        for _ in range(rounds):
            self.round += 1
            if self.done and self.chance.random() < 0.25:
                self.run(self.chance.choice(sorted(self.done)))
                continue
            for _ in range(self.chance.choice([1, 1, 2])):
                self.deliver(f"s{self.chance.randint(10, 99)}.{self.ending}")
            refused = self.run()
            if refused:
                self.deliver(refused, mends=True)
                assert self.run() == ""

    def deliver(self, name: str, *, mends: bool = False) -> None:
        """Write a slice, now and then a wrong one."""
        if name in self.done:
            return
        types, rows = self._rows()
        if not mends and self.chance.random() < 0.15:
            types, rows = self._spoiled(types, rows)
        self.files[name] = Delivery(name, tuple(rows), types)
        shown = [tuple(row[column] for column in types) for row in rows]
        kinds = {column: KINDS[kind] for column, kind in types.items()}
        self.place.slice(name, *shown, columns=",".join(types), types=kinds)

    def _rows(self) -> tuple[dict[str, str], list[Values]]:
        chance = self.chance
        types = {"ID": "int", "Seq": "int", "region": "string", "price": "decimal"}
        types["Order Date"] = "date"
        optional = (("name", 0.85, "string"), ("extra", 0.15 * self.round, "string"))
        optional += (("sys_load", 0.3, "int"), ("p_deleted", 0.6, "boolean"))
        types |= {name: kind for name, odds, kind in optional if chance.random() < odds}
        if chance.random() < 0.6:
            types["amount"] = chance.choice(["int", "int", "bigint"])
        names = list(types)
        chance.shuffle(names)
        keys = chance.sample(range(1, 9), chance.choice([0, 2, 4, 6]))
        return {name: types[name] for name in names}, [self._row(names, types, key) for key in keys]

    def _row(self, names: list[str], types: dict[str, str], key: int) -> Values:
        chance, at = self.chance, 4 * self.round
        regions = ["EU", "EU", "US"] + ["", None] * ("region" not in self.rules.keys)
        values: Values = {
            "ID": key,
            "Seq": chance.choice([None, at - 5, at - 1, at, at + 2]),
            "region": chance.choice(regions),
            "price": chance.choice([None, Decimal("1.00"), Decimal("2.50"), Decimal("10.00")]),
            "Order Date": chance.choice([None, dt.date(2025, 1, 31), dt.date(1969, 12, 31)]),
            "name": chance.choice([None, "", "a", "é's"]),
            "extra": chance.choice([None, None, "E"]),
            "sys_load": self.round,
            "p_deleted": chance.choice([None, False, False, True]),
            "amount": chance.choice([None, 0, -7, *[BIG] * (types.get("amount") == "bigint")]),
        }
        return {name: values[name] for name in names}

    def _spoiled(
        self, types: dict[str, str], rows: list[Values]
    ) -> tuple[dict[str, str], list[Values]]:
        kind = self.chance.choice(["twice", "null", "type"])
        if kind == "type" and "amount" in types:
            return types | {"amount": "string"}, [row | {"amount": "x"} for row in rows]
        if not rows:
            return types, rows
        return types, [*rows, rows[0] | ({"ID": None} if kind == "null" else {})]

    def run(self, named: str = "") -> str:
        """Run what waits, or one slice; return the name of the slice that was refused."""
        self.minutes += 1
        at = BEGIN + dt.timedelta(minutes=self.minutes)
        wanted = [named] if named else sorted(self.files.keys() - self.done)
        expected, refused = [], ""
        for number, name in enumerate(wanted):
            moment = self._micros(at) + number
            if refused:
                expected.append((name, "skipped"))
                continue
            try:
                expected.append((name, self._taken(moment, name)))
            except RefusedError as error:
                expected.append((name, error.codes[0]))
                refused = name
            else:
                self.done.add(name)
        report = self.place.at(at.isoformat(), slice=named)
        told = [self._told(each) for each in report.results if each.slice]
        assert told == expected, (self.rules, told, expected)
        self.compare()
        return refused

    @staticmethod
    def _micros(at: dt.datetime) -> int:
        return (at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)

    def _taken(self, moment: int, name: str) -> dict[str, int]:
        return self.table.take(moment, self.files[name])

    @staticmethod
    def _told(result) -> tuple[str, object]:
        if result.status == "skipped":
            return result.slice, "skipped"
        if result.error is not None:
            return result.slice, result.error.code
        assert result.metrics["touched"] == 0
        return result.slice, {name: result.metrics[name] for name in COUNTS}

    def compare(self) -> None:
        """Hold rows with hashes, and the watermark, against the second opinion."""
        if self.table.exists:
            stored = stored_rows(self.place)
            names = sorted({name for row in [*stored, *self.table.rows] for name in row})
            both = [_ordered(rows, names) for rows in (stored, self.table.rows)]
            assert both[0] == both[1], (self.rules, both)
        services = self.place.services()
        try:
            record = services.reading.records.models().get("silver_aw.x")
            found = {e.column: int(e.value.text) for e in record.watermarks} if record else {}
        finally:
            services.close()
        known = self.table.watermark
        assert found == ({} if known is None else {"Seq": known})


DECLARED = {
    "ID": "int",
    "Seq": "int",
    "region": "string",
    "price": "decimal",
    "Order Date": "date",
    "name": "string",
    "extra": "string",
    "sys_load": "int",
    "p_deleted": "boolean",
    "amount": "bigint",
}
BROKEN = {
    "csv": ("1,2", ",".join(map(str, range(20))), "x"),
    "json": ('{"ID": 1,', '{"ID": 7, "Seq": "x"}', '{"ID": 3000000000}', '{"price": 1e9, "ID": 4}'),
}


class TextStory(OutsideStory):
    """The same of text files: columns are declared, and some records do not fit."""

    def __init__(self, root: Path, spark, seed: int, ending: str) -> None:
        super().__init__(root, spark, seed)
        self.ending, self.bad = ending, dict[str, int]()
        said: Any = document_of(self.rules)
        columns = {each["name"]: each for each in said["columns"]}
        for name, kind in DECLARED.items():
            datatype = "decimal(9, 2)" if kind == "decimal" else kind
            columns[name] = {"name": name, "datatype": datatype, **columns.get(name, {})}
        # Spark takes "" for NULL unless NULL is something else
        options = {"header": True, "escape": '"', "nullValue": "NULL"} if ending == "csv" else {}
        said["columns"] = [*columns.values()]
        said["settings"] |= {
            "bronze_format": ending,
            "options": options,
            "bad_records": self.chance.choice(["quarantine", "drop_counted"]),
        }
        self.place = EntityPlace(root, spark, said)

    def deliver(self, name: str, *, mends: bool = False) -> None:
        """Write a slice as text, now and then with records that do not fit."""
        if name in self.done:
            return
        types, rows = self._rows()
        if not mends and self.chance.random() < 0.15:
            _, rows = self._spoiled({}, rows)
        whole = tuple({column: row.get(column) for column in DECLARED} for row in rows)
        self.files[name] = Delivery(name, whole, DECLARED)
        lines = [self._line([row[column] for column in types], types) for row in rows]
        broken = self.chance.sample(BROKEN[self.ending], self.chance.choice([0, 0, 1]))
        self.bad[name] = len(broken)
        lines += broken
        self.chance.shuffle(lines)
        head = [self._line([*types], dict.fromkeys(types, "string"))] * (self.ending == "csv")
        file = self.place.bronze() / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in head + lines))

    def _line(self, values: list[object], types: dict[str, str]) -> str:
        if self.ending == "json":
            pairs = zip(types, values, strict=True)
            return json.dumps({name: v for name, v in pairs if v is not None}, default=str)
        texts = zip(values, types.values(), strict=True)
        return ",".join(
            f'"{v}"' if kind == "string" and v is not None else shown(v) for v, kind in texts
        )

    def _taken(self, moment: int, name: str) -> dict[str, int]:
        return {**super()._taken(moment, name), "bad_records": self.bad[name]}

    @staticmethod
    def _told(result) -> tuple[str, object]:
        name, told = OutsideStory._told(result)
        if isinstance(told, dict):
            told["bad_records"] = result.metrics["bad_records"]
        return name, told


def shown(value: object) -> str:
    """Write a value that is no text: nothing for NULL."""
    return "" if value is None else str(value)


def stored_rows(place: EntityPlace) -> list[Values]:
    """Read the silver table; instants as microseconds."""
    table = f"delta.`{place.silver()}`"
    assert place.spark is not None
    spark = place.spark.newSession()
    names = spark.sql(f"SELECT * FROM {table}").columns
    shown = [f"unix_micros({n}) AS {n}" if n in MOMENTS else f"`{n}`" for n in names]
    found = spark.sql(f"SELECT {', '.join(shown)} FROM {table}").collect()
    return [row.asDict() for row in found]


def _ordered(rows: list[Values], names: list[str]) -> list[list[str]]:
    """Write rows so that they compare: a column that a row lacks is NULL there."""
    return sorted([f"{name}={row.get(name)!r}" for name in names] for row in rows)
