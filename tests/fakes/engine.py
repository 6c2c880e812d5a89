"""An engine that runs nothing: it writes down what it was asked, and a log believes its commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from fakes.builders import NOON
from fakes.log import FakeLog
from penstock.core.columns.schema import Schema
from penstock.core.errors import PenstockError
from penstock.core.facts import LogCommit
from penstock.core.ports.engine import ExportForm, FrameReaders, QueryResult
from penstock.core.statement import Commit, Row
from penstock.core.steps.inputs import Relation
from penstock.core.steps.step import Intent


@dataclass
class RecordingEngine:
    """Answers with the schemas and rows that a test gives; commits appear in its log."""

    log: FakeLog
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    answer: QueryResult = field(default_factory=lambda: QueryResult((), ()))
    refuses: PenstockError | None = None
    bound: list[Relation] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @contextmanager
    def session(self, model: str, where: object = None) -> Iterator[RecordingEngine]:
        yield self

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        self.bound.extend(relations)
        return {each.view: self.schemas[each.view] for each in relations}

    def define(self, view: str, sql: str, comments: Mapping[str, str] | None = None) -> Schema:
        self.asked.append(sql)
        return self.schemas[view]

    def describe(self, sql: str) -> Schema:
        self.asked.append(sql)
        return next(iter(self.schemas.values()), Schema())

    def rows(self, sql: str) -> tuple[Row, ...]:
        self.asked.append(sql)
        names = self.answer.columns
        return tuple(dict(zip(names, row, strict=True)) for row in self.answer.rows)

    def observed(self, rows: int) -> Row | None:
        return None

    def commit(self, statement: Commit, intent: Intent) -> None:
        if self.refuses:
            raise self.refuses
        self.asked.append(statement.sql)
        before = self.log.tables.get(intent.uri, ())
        told = LogCommit(len(before), NOON, "CTAS", changes_data=True, step=intent.step)
        self.log.tables = {**self.log.tables, intent.uri: (*before, told)}

    @contextmanager
    def sharing(self, frames: Mapping[str, FrameReaders]) -> Iterator[None]:
        yield

    def frame(self, relations: Sequence[Relation], sql: str) -> object:
        raise NotImplementedError

    def query(self, relations: Sequence[Relation], sql: str, limit: int) -> QueryResult:
        self.bound.extend(relations)
        self.asked.append(sql)
        return self.answer

    def export(
        self,
        relations: Sequence[Relation],
        sql: str,
        limit: int | None,
        form: ExportForm,
        file: BinaryIO,
    ) -> int:
        file.writelines(f"{form}: {row}\n".encode() for row in self.answer.rows[:limit])
        if self.refuses:
            raise self.refuses
        return len(self.answer.rows[:limit])
