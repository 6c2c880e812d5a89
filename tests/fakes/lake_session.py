"""A session of the lake in memory: it tells of views, refuses unknown ones, and commits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import QueryError, interruption
from penstock.core.findings import Location
from penstock.core.statement import OBSERVED_ROWS, ROW_CHANGE, Commit, Feed, Row, Stage, StagedRows
from penstock.core.steps.inputs import DeltaRead, QueryRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.token import write_token

if TYPE_CHECKING:
    from fakes.lake import FakeLake

ID = Schema((Column("id", "int"),))
OPERATIONS = {
    "CREATE": "CREATE OR REPLACE TABLE AS SELECT",
    "INSERT": "WRITE",
    "MERGE": "MERGE",
    "ALTER": "SET TBLPROPERTIES",
    "DELETE": "DELETE",
    "COMMENT": "SET TBLPROPERTIES",
    "RESTORE": "RESTORE",
}
_READ = re.compile(r"\b(?:FROM|JOIN)\s+(?!VALUES\b)(?:`(\w+)`|(\w+)\b)(?![.(])", re.IGNORECASE)
_COMMENT = re.compile(r"(?:COMMENT|COMMENT ON TABLE \S+ IS) '([^']*)'")
_BACK = re.compile(r"^RESTORE .* VERSION AS OF (\d+)")
_PROPERTIES = re.compile(r"TBLPROPERTIES \(([^)]*)\)")
_HIGH = re.compile(
    r"max\(`(\w+)`\) AS STRING\) AS (high_\d+), count_if\([^)]*\) AS nulls_\d+ FROM `(\w+)`"
)


@dataclass
class FakeSession:
    """One step's session: its views and staged looks are its own."""

    lake: FakeLake
    model: str
    where: Location | None
    views: dict[str, tuple[Schema, Relation | None]] = field(default_factory=dict)
    staged: dict[str, Row] = field(default_factory=dict)
    confs: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    watched: Feed | None = None

    @property
    def side_tables(self) -> FakeSession:
        """It makes what lies beside the target itself."""
        return self

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        for relation in relations:
            self._do("bind", relation.view)
            match relation.read:
                case DeltaRead(uri):
                    schema = self.lake.tables[uri].schema
                case QueryRead(sql):
                    schema = self._columns(sql)
                case _:
                    schema = self._columns(relation.view)
            self.views[relation.view] = schema, relation
        return {relation.view: self.views[relation.view][0] for relation in relations}

    def define(self, view: str, sql: str, comments: Mapping[str, str] | None = None) -> Schema:
        self._do("define", sql)
        self.views[view] = self._columns(sql), None
        return self.views[view][0]

    def replays(self, view: str) -> bool:
        return view not in self.views

    def row(self, sql: str) -> Row:
        self._do("look", sql)
        for view in self._views_in(sql):
            if view in self.staged:
                return self.staged[view]
        return self._answer(sql)

    def share(self, view: str) -> str:
        return "SELECT 1 AS id"  # views are a session's own

    def sample(self, sql: str) -> tuple[str, ...]:
        self._do("sample", sql)
        return tuple(str(value) for value in self._answer(sql).values())

    def stage(self, stage: Stage) -> Row:
        if stage.passing:
            for view, sql in stage.passing.sides.items():
                self.views[view] = self._columns(sql), None
            self.views[stage.passing.view] = self._columns(stage.passing.sql), None
        self._do("stage", stage.sql)
        self.views[stage.view] = self._columns(stage.sql), None
        self.confs.update(stage.confs)
        if stage.passing:
            seen = self._passed(stage)
        else:
            seen = self.staged[stage.view] = self._answer(stage.look_sql)
        self.confs.clear()
        return seen

    def _passed(self, stage: Stage) -> Row:
        """Give the counts of a stage's passing rows: what is told, else one new row.

        Counts that an answer leaves out are 0.
        """
        counts = stage.passing.counts if stage.passing else {}
        told = next((row for part, row in self.lake.rows if part in stage.sql), None)
        found = {"source_rows": 1, "opened_new": 1, "new": 1} if told is None else told
        found = found() if callable(found) else found
        sides = stage.passing.sides if stage.passing else {}
        return {name: found.get(name, 0) for name in (*counts, *sides)}

    def commit(self, statement: Commit, intent: Intent) -> None:
        self._do("commit", statement.sql)
        word = statement.sql.split()[0]
        self.watched = None
        if not intent.uri:
            return
        self._fill(statement.feed)
        written = statement.feed.view if statement.feed else "penstock_query"
        schema = self.views.get(written, (None, None))[0]
        table = self.lake.tables.get(intent.uri)
        if statement.once and intent.step_seq and table is not None:
            if intent.step_seq <= table.transactions.get(intent.transaction, 0):
                return
            table.transactions[intent.transaction] = intent.step_seq
        self.watched = None if word == "CREATE" else statement.feed
        token = write_token(intent, *self.lake.signature(), metrics=statement.metrics)
        made = schema if word not in ("ALTER", "COMMENT") else None
        self.lake.write(intent.uri, OPERATIONS[word], made, token, self._highs() if made else None)
        if back := _BACK.search(statement.sql):
            commits = self.lake.tables[intent.uri].commits
            commits[-1] = replace(commits[-1], restored=int(back[1]))
        self._keep_word(intent.uri, statement)
        self._describe(intent.uri, statement.sql)
        self.lake.meet(self.model, "committed")

    def _fill(self, feed: Feed | None) -> None:
        if feed is not None:
            self.views[feed.view] = self._columns(feed.sql), None

    def observed(self, rows: int) -> Row | None:
        self._do("observed", self.watched.sql if self.watched else "")
        seen = self._counted(self.watched) if self.watched and self.watched.counts else None
        return seen if seen and seen[OBSERVED_ROWS] == rows else None

    def _counted(self, feed: Feed) -> Row:
        """Give the counts of a feed's rows: what is told of its SQL, else one row and no values."""
        told = next((row for part, row in self.lake.rows if part in feed.sql), {})
        found = {OBSERVED_ROWS: 1, **(told() if callable(told) else told)}
        return {name: found.get(name) for name in feed.counts}

    def rows(self, sql: str) -> tuple[Row, ...]:
        self._do("rows", sql)
        if not sql.startswith("REVOKE"):  # from somebody
            self._views_in(sql)
        told = self._answer(sql)
        return told if isinstance(told, tuple) else (told,)

    def describe(self, sql: str) -> Schema:
        self._do("describe", sql)
        return self._columns(sql)

    def keep(self, feed: Feed, folder: str) -> StagedRows:
        self._do("keep", feed.sql)
        self._fill(feed)
        self.lake.folders.make(folder)
        counted = self._counted(Feed(feed.view, feed.sql, {OBSERVED_ROWS: "count(*)"}))
        return StagedRows(counted[OBSERVED_ROWS], self._counted(feed) if feed.counts else None)

    def write_table(self, sql: str, uri: str) -> int:
        self._do("write_table", sql)
        self.lake.write(uri, OPERATIONS["CREATE"], self._columns(sql), "")
        return self._counted(Feed("", sql, {OBSERVED_ROWS: "count(*)"}))[OBSERVED_ROWS]

    def clone(self, uri: str, version: int, to: str) -> str:
        self._do("clone", uri)
        highs = self.lake.tables[uri].highs[version]
        self.lake.write(to, "CLONE", self.lake.tables[uri].schema, "", highs)
        return f"delta.`{to}`"

    def trial(self, statement: Commit) -> None:
        self._do("trial", statement.sql)
        self._fill(statement.feed)
        for uri in re.findall(r"delta\.`([^`]*)`", statement.sql)[:1]:
            self.lake.write(uri, OPERATIONS[statement.sql.split()[0]], None, "")

    def added(self, uri: str, version: int, folder: str, view: str) -> Schema:
        self._do("added", view)
        self.lake.tables[uri].entry(version)
        self.lake.folders.make(folder)
        self.views[view] = self.lake.tables[uri].schema, None
        return self.views[view][0]

    def _keep_word(self, uri: str, statement: Commit) -> None:
        """Let the commit have done what was expected of it."""
        told = {name: wanted for name, (_, wanted) in statement.expected.items()}
        commits = self.lake.tables[uri].commits
        change = told.pop(ROW_CHANGE, None)
        commits[-1] = replace(commits[-1], metrics=told or commits[-1].metrics, row_change=change)

    def _highs(self) -> dict[str, str]:
        """Give the greatest values of what was read: what is written has them too."""
        found: dict[str, str] = {}
        for view, (schema, _) in self.views.items():
            for name in schema.names:
                known, high = found.get(name), self._high(view, name)
                if high is not None and (known is None or int(known) < int(high)):
                    found[name] = high
        return found

    def _describe(self, uri: str, sql: str) -> None:
        """Keep the properties and the comment that a statement sets."""
        table = self.lake.tables[uri]
        if sql.startswith("CREATE"):
            table.comment, table.properties = "", {}
        table.comment = next(iter(_COMMENT.findall(sql)), table.comment)
        for told in _PROPERTIES.findall(sql):
            table.properties.update(re.findall(r"'([^']*)' = '([^']*)'", told))

    def _do(self, word: str, sql: str) -> None:
        self.lake.meet(self.model, word)
        if self.interrupted:
            raise interruption()
        self.lake.ran.append((self.model, word, sql))

    def _columns(self, sql: str) -> Schema:
        told = next((schema for part, schema in self.lake.schemas if part in sql), None)
        read = [self.views[view][0] for view in self._views_in(sql)]
        return told or (read[0] if read else ID)

    def _views_in(self, sql: str) -> list[str]:
        """Give the views that SQL reads; refuse one that nobody has made, as Spark does."""
        for number, line in enumerate(sql.splitlines(), 1):
            for name in _names(line):
                if name not in self.views:
                    where = self.where and replace(self.where, line=number)
                    sentence = f"The table or view `{name}` cannot be found."
                    raise QueryError("spark-table-or-view-not-found", sentence, where=where)
        return _names(sql)

    def _answer(self, sql: str) -> Row:
        if sql.startswith("SET "):
            return {"key": sql[4:], "value": self.confs.get(sql[4:], "<undefined>")}
        told = next((row for part, row in self.lake.rows if part in sql), None)
        if told is not None:
            return told() if callable(told) else told
        row: dict[str, str | int | None] = {"rows": 1, "copied": 0, "null_keys": 0, "late": 0}
        row |= {"new": 1, "changed": 0, "beyond": 0, "early": 0} | {
            f"nulls_{number}": 0 for number in range(9)
        }
        return row | {high: self._high(view, column) for column, high, view in _HIGH.findall(sql)}

    def _high(self, view: str, column: str) -> str | None:
        relation = self.views[view][1]
        match relation and relation.read:
            case DeltaRead(uri, version):
                return self.lake.tables[uri].highs[-1 if version is None else version].get(column)
            case QueryRead(sql):
                highs = [self._high(each, column) for each in self._views_in(sql)]
                return max((high for high in highs if high is not None), default=None, key=int)
            case _:
                return None


def _names(sql: str) -> list[str]:
    return [quoted or bare for quoted, bare in _READ.findall(sql)]
