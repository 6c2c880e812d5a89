"""A session over a lake of rows: the SQL of a step, run by SQLite, and its one commit."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.findings import Location
from penstock.core.statement import QUERY_VIEW, Commit, Row, Stage
from penstock.core.steps.inputs import DeltaRead, QueryRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.token import write_token

if TYPE_CHECKING:
    from fakes.row_lake import RowLake

TYPES = {"id": "int", "v": "int", "n": "bigint", "total": "bigint", "at": "timestamp"}
TYPES |= {"day": "date"}
"""The Spark type of a column, by its name; times are texts, as a watermark writes them."""

_DIALECT = (
    (re.compile(r"\b(?:DATE|TIMESTAMP) '([^']*)'", re.IGNORECASE), r"'\1'"),
    (re.compile(r" AS (?:STRING|DATE|TIMESTAMP)\)"), " AS TEXT)"),
    (re.compile(r"<=>"), "IS"),
    (re.compile(r"\btry_cast\(", re.IGNORECASE), "CAST("),
)
_CREATE = re.compile(r"CREATE OR REPLACE TABLE .*? TBLPROPERTIES \([^)]*\) AS (.*)", re.DOTALL)
_EMPTY = re.compile(r"(?:CREATE|REPLACE) TABLE \S+ \((.*?)\) USING")
_REPLACE = re.compile(r"INSERT .*? REPLACE WHERE (.*?) (SELECT .*)", re.DOTALL)
_INSERT = re.compile(r"INSERT .*?(?:BY NAME) (SELECT .*)", re.DOTALL)
_MERGE = re.compile(r"MERGE .*? USING \((.*?)\) s ON (.*?) WHEN", re.DOTALL)


@dataclass
class Table:
    """One Delta table; a place in each list is a version, also of the one it replaced."""

    table_id: str
    names: tuple[str, ...]
    replaced: Table | None = None
    commits: list[object] = field(default_factory=list)
    versions: list[tuple[tuple[object, ...], ...]] = field(default_factory=list)
    changes: list[tuple[tuple[tuple[object, ...], ...], ...]] = field(default_factory=list)
    transactions: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.replaced is not None:
            self.commits = [*self.replaced.commits]
            self.versions = [*self.replaced.versions]
            self.changes = [*self.replaced.changes]
            self.transactions = {**self.replaced.transactions}

    @property
    def rows(self) -> tuple[tuple[object, ...], ...]:
        """The rows of the newest version."""
        return self.versions[-1] if self.versions else ()


def bounds(
    names: tuple[str, ...], rows: Sequence[tuple[object, ...]]
) -> tuple[dict[str, str], dict[str, str], dict[str, int]]:
    """Give the least and the greatest value of every column, and how many are NULL."""
    low, high, nulls = {}, {}, {}
    for place, name in enumerate(names):
        values = [row[place] for row in rows if row[place] is not None]
        nulls[name] = len(rows) - len(values)
        if values:
            low[name], high[name] = str(min(values)), str(max(values))  # type: ignore[type-var]
    return low, high, nulls


class _RefusedError(Exception):
    pass


def _raise(text: str) -> None:
    raise _RefusedError(text)


class _CountIf:
    def __init__(self) -> None:
        self.found = 0

    def step(self, value: object) -> None:
        self.found += bool(value)

    def finalize(self) -> int:
        return self.found


def _moved(day: str, days: int) -> str:
    import datetime as dt

    return (dt.date.fromisoformat(day) - dt.timedelta(days)).isoformat()


class RowSession:
    """One step's session: its views are temporary tables of a database of its own."""

    def __init__(self, lake: RowLake, model: str, where: Location | None) -> None:
        self._lake, self._model, self._where = lake, model, where
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.create_aggregate("count_if", 1, _CountIf)  # type: ignore[arg-type]
        self._db.create_function("struct", -1, lambda *each: json.dumps(each))
        self._db.create_function("concat", -1, lambda *each: "".join(map(str, each)))
        self._db.create_function("raise_error", 1, _raise)
        self._db.create_function("date_sub", 2, _moved)

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        return {each.view: self._bound(each) for each in relations}

    def _bound(self, relation: Relation) -> Schema:
        match relation.read:
            case DeltaRead(uri, version):
                table = self._lake.tables[uri]
                rows = table.rows if version is None else table.versions[version]
                if relation.read.since is not None:
                    rows = rows[len(table.versions[relation.read.since]) :]
                self._keep(relation.view, table.names, rows)
            case QueryRead(sql):
                window = f" WHERE {relation.window.condition}" if relation.window else ""
                names, found = self._run(f"SELECT * FROM ({sql}){window}")
                self._keep(relation.view, names, found)
        return self._schema(relation.view)

    def define(self, view: str, sql: str, comments: Mapping[str, str] | None = None) -> Schema:
        self._keep(view, *self._run(sql))
        return self._schema(view)

    def describe(self, sql: str) -> Schema:
        names, _ = self._run(sql)
        return Schema(tuple(Column(name, TYPES[name]) for name in names))

    def replays(self, view: str) -> bool:
        return self.rows(f"SELECT * FROM {view}") == self.rows(f"SELECT * FROM {view}")

    def row(self, sql: str) -> Row:
        return self.rows(sql)[0]

    def rows(self, sql: str) -> tuple[Row, ...]:
        names, found = self._run(sql)
        return tuple(dict(zip(names, row, strict=True)) for row in found)

    def sample(self, sql: str) -> tuple[str, ...]:
        return tuple(str(row[0]) for row in self._run(sql)[1])

    def stage(self, stage: Stage) -> Row:
        if stage.passing:
            for view, sql in stage.passing.sides.items():
                self._keep(view, *self._run(sql))
            self._keep(stage.passing.view, *self._run(stage.passing.sql))
            self._keep(stage.view, *self._run(stage.sql))
            counts = (f"{sql} AS `{name}`" for name, sql in stage.passing.counts.items())
            sides = {
                v: self.row(f"SELECT count(*) AS n FROM `{v}`")["n"] for v in stage.passing.sides
            }
            return {**self.row(f"SELECT {', '.join(counts)} FROM `{stage.passing.view}`"), **sides}
        self._keep(stage.view, *self._run(stage.sql))
        return self.row(stage.look_sql)

    def observed(self, rows: int) -> Row | None:
        return None

    def commit(self, statement: Commit, intent: Intent) -> None:
        if self._model in self._lake.broken:
            self._lake.broken.discard(self._model)
            raise QueryError("spark-error", "the disk is full", where=self._where)
        if not intent.uri:
            return
        if statement.feed is not None:
            self._keep(statement.feed.view, *self._run(statement.feed.sql))
        sql, uri = statement.sql, intent.uri
        token = write_token(intent, *self._lake.signature(), statement.metrics)
        names, rows = self._after(sql, self._lake.tables.get(uri))
        word = sql.split()[0]
        operation = {"INSERT": "WRITE", "ALTER": "SET TBLPROPERTIES"}.get(word, f"{word} TABLE")
        operation = "MERGE" if word == "MERGE" else operation
        self._lake.write(uri, names, rows, operation=operation, token=token)
        self._lake.tables[uri].transactions[intent.transaction] = intent.step_seq

    def _after(self, sql: str, table: Table | None) -> tuple[tuple[str, ...], list[tuple]]:  # type: ignore[type-arg]
        """Give the columns and rows of a table after a statement."""
        if found := _CREATE.match(sql):
            return self._run(found[1])
        if found := _EMPTY.match(sql):
            return tuple(re.findall(r"`(\w+)`", found[1])), []
        assert table is not None
        names, before = table.names, list(table.rows)
        if sql.startswith("ALTER"):
            return names, before
        if found := _REPLACE.match(sql):
            self._keep("_before", names, before)
            kept = self._run(f"SELECT * FROM `_before` WHERE NOT ({found[1]})")[1]
            return names, kept + self._named(names, found[2])
        if found := _INSERT.match(sql):
            return names, before + self._named(names, found[1])
        found = _MERGE.match(sql)
        assert found is not None, sql
        keys = [names.index(key) for key in re.findall(r"t\.`(\w+)`", found[2])]
        new = {tuple(row[k] for k in keys): row for row in self._named(names, found[1])}
        kept = [row for row in before if tuple(row[k] for k in keys) not in new]
        return names, kept + list(new.values())

    def _named(self, names: tuple[str, ...], sql: str) -> list[tuple]:  # type: ignore[type-arg]
        given, rows = self._run(sql)
        places = [given.index(name) for name in names]
        return [tuple(row[place] for place in places) for row in rows]

    def _keep(self, view: str, names: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
        kinds = {"int": "INTEGER", "bigint": "INTEGER"}
        told = ", ".join(f"`{n}` {kinds.get(TYPES.get(n, 'int'), 'TEXT')}" for n in names)
        self._db.execute(f"DROP TABLE IF EXISTS `{view}`")
        self._db.execute(f"CREATE TABLE `{view}` ({told})")
        marks = ", ".join("?" for _ in names)
        self._db.executemany(f"INSERT INTO `{view}` VALUES ({marks})", rows)

    def _schema(self, view: str) -> Schema:
        names, _ = self._run(f"SELECT * FROM `{view}` LIMIT 0")
        return Schema(tuple(Column(name, TYPES[name]) for name in names))

    def _run(self, sql: str) -> tuple[tuple[str, ...], list[tuple]]:  # type: ignore[type-arg]
        for pattern, other in _DIALECT:
            sql = pattern.sub(other, sql)
        try:
            cursor = self._db.execute(sql)
            rows = cursor.fetchall()
        except sqlite3.OperationalError as error:
            if "user-defined function raised" in str(error):
                raise DataError("row-outside-partition", str(error)) from error
            raise AssertionError(f"{error}: {sql}") from error
        return tuple(each[0] for each in cursor.description), rows


__all__ = ["QUERY_VIEW", "TYPES", "RowSession", "Table", "bounds"]
