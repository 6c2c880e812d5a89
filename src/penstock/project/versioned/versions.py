"""`versions:`: the dated generations of a model and their revisions (spec/drift.md §1.3)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.core.findings import Finding, Location
from penstock.core.partition import Grain, Grid
from penstock.project.checks.phases import NONE, word_in
from penstock.project.trees.nodes import Node, VersionReference
from penstock.project.trees.references import Files
from penstock.project.trees.sheet import Keys, Sheet, open_sheet
from penstock.project.trees.sql_texts import SqlText, file_text, is_path
from penstock.project.versioned.chains import Chains
from penstock.project.versioned.given import GivenRevision, GivenVersion
from penstock.project.versioned.invariants import Invariants, Said
from penstock.project.versioned.schema import Schemas

_BOTH = ("effective_from", "sql", "backfill_since", "description")
_ALIASES = {"source": "sql"}
VERSION = Keys(
    ("version", *_BOTH, "sql_revisions", "schema", "invariants"),
    ("version", "effective_from", "sql", "schema"),
    {**_ALIASES, "revisions": "sql_revisions", "checks": "invariants"},
)
REVISION = Keys(("revision", *_BOTH, "reason"), ("revision", "effective_from", "sql"), _ALIASES)
_DATED = (Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR)


@dataclass(slots=True)
class Versions:
    """Reads the versions of one file, which may refer to each other."""

    files: Files
    grid: Grid
    findings: list[Finding]
    sheets: dict[int, Sheet] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)

    def read(self, nodes: Sequence[Node]) -> tuple[GivenVersion, ...]:
        """Give every version that has what it needs, in the order of the file."""
        for node in nodes:
            self._open(node)
        numbers = tuple(self.sheets)
        written = {n: found for n, s in self.sheets.items() if (found := s.find("schema"))}
        schemas = Schemas({n: written.get(n, _NO_SCHEMA) for n in numbers}, self.findings)
        checks = {
            n: Said(found, word_in(s.node))
            for n, s in self.sheets.items()
            if (found := s.find("invariants"))
        }
        invariants = Invariants(checks, numbers, self.findings)
        read = [self._version(number, sheet, schemas) for number, sheet in self.sheets.items()]
        said = {number: invariants.of(number) or NONE for number in numbers}
        return tuple(replace(each, checks=said[each.number]) for each in read if each is not None)

    def _open(self, node: Node) -> None:
        sheet = open_sheet(node, VERSION, "versions", self.findings)
        number = sheet.number("version", 1)
        if number is None:
            _ = sheet.date("effective_from"), self._sql(sheet, ()), sheet.date("backfill_since")
        elif number in self.sheets:
            first = self.sheets[number].place("version").line
            sentence = f"version {number} is there twice; the first is on line {first}"
            sheet.report("version", "duplicate-version", sentence, "give one another number")
        else:
            self.sheets[number] = sheet

    def _version(self, number: int, sheet: Sheet, schemas: Schemas) -> GivenVersion | None:
        own = self._dated(sheet, 0, (number,))
        since = self._since(sheet)
        revisions = self._revisions(number, sheet, since)
        fields = schemas.of(number) if sheet.find("schema") else ()
        if sheet.find("schema") and fields == ():
            sentence = f"v{number}: the schema is empty, so that no column is checked"
            sheet.warn("schema", "empty-schema", sentence, "list the columns with their types")
        if own is None:
            return None
        return GivenVersion(number, own, fields, sheet.place("schema"), revisions)

    def _revisions(
        self, number: int, sheet: Sheet, since: dt.date | None
    ) -> tuple[GivenRevision, ...]:
        listed = sheet.find("sql_revisions")
        if listed is None:
            return ()
        if not isinstance(listed.value, tuple):
            sheet.bad("sql_revisions", "a list of revisions")
        found: dict[int, GivenRevision] = {}
        for node in listed.items:
            inner = open_sheet(node, REVISION, "versions.sql_revisions", self.findings)
            revision = inner.number("revision", 1)
            given = self._dated(inner, revision or 0, (), since)
            if revision in found:
                sentence = f"v{number}: revision {revision} is there twice"
                inner.report("revision", "duplicate-revision", sentence, "give it another number")
            elif given is not None and revision is not None:
                found[revision] = given
        return tuple(found.values())

    def _dated(
        self, sheet: Sheet, number: int, chain: tuple[int, ...], since: dt.date | None = None
    ) -> GivenRevision | None:
        date, sql = sheet.date("effective_from"), self._sql(sheet, chain)
        own = self._since(sheet) if number else None
        if date is None or sql is None:
            return None
        return GivenRevision(
            number,
            sheet.node.where,
            date,
            sheet.place("effective_from"),
            sql,
            own or since,
            sheet.text("description").strip(),
            sheet.text("reason").strip(),
        )

    def _since(self, sheet: Sheet) -> dt.date | None:
        found = sheet.date("backfill_since")
        if found and self.grid.grain not in _DATED:
            what = "partitions of type RANGE" if self.grid.grain is Grain.RANGE else "partitions"
            has = "have no date" if self.grid.grain is Grain.RANGE else "are what this model lacks"
            sheet.bad("backfill_since", f"left out: {what} {has}")
            return None
        return found

    def _sql(self, sheet: Sheet, chain: tuple[int, ...]) -> SqlText | None:
        node = sheet.find("sql")
        if node is None:
            return None
        if isinstance(node.value, VersionReference):
            chains = Chains("sql", tuple(self.sheets), self.findings)
            number = (
                None
                if self.broken.intersection(chain[:1])
                else chains.follow(node.value, node.where, chain)
            )
            if number is None:
                self.broken.update(chain)
                return None
            return self._sql(self.sheets[number], (*chain, number))
        if not isinstance(node.value, str):
            sheet.bad("sql", "SQL, or a path that ends in .sql")
            return None
        if not node.value.strip():
            sheet.report("sql", "empty-file", "the SQL is empty", "write a query")
            return None
        if not node.file and is_path(node.value):
            return file_text(node.value, node.where, self.files, self.findings)
        return SqlText(node.value, node.where.path, node.where.line, node.file)


_NO_SCHEMA = Node((), Location("", 1, 1))
