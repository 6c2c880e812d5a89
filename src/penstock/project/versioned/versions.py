"""`versions:`: dated generations of a model, their revisions and checks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.checks.check import Phase
from penstock.core.findings import Finding, Location
from penstock.core.partitions.partition import Grain, Grid
from penstock.project.checks.phases import (
    NONE,
    Phases,
    changed,
    find_check,
    name_of,
    phases_in,
    read_phases,
    word_in,
)
from penstock.project.files.nodes import VersionReference, YamlNode, items_of
from penstock.project.files.references import Files, SqlText, sql_under
from penstock.project.files.sections import read_section
from penstock.project.files.values import near_or_known
from penstock.project.settings.check_keys import PHASES, WITH_CHECKS
from penstock.project.versioned.given import GivenRevision, GivenVersion
from penstock.project.versioned.schema import Schemas, follow_version
from penstock.project.versioned.sections import (
    CheckChangeSection,
    CheckListsSection,
    DatedSection,
    RevisionSection,
    VersionSection,
)

_CHANGES = ("remove", "modify", "add")
_Checks = tuple[YamlNode, ...]
_Whose = tuple[str, str]
"""The owner of checks, for messages: `v3`, and the word of its key."""
_UNDATED = {
    Grain.RANGE: "partitions of type RANGE have no date",
    Grain.WHOLE: "partitions are what this model lacks",
}
_NO_SCHEMA = YamlNode((), Location("", 1, 1))


@dataclass(slots=True)
class Invariants:
    """The checks of one file's versions, each read once. None is a broken one.

    `written` holds the content of each version, and which of the two words it uses.
    """

    written: Mapping[int, tuple[YamlNode, str]]
    numbers: Collection[int]
    findings: list[Finding]
    read: dict[int, Phases | None] = field(default_factory=dict)

    def of(self, number: int, chain: tuple[int, ...] = ()) -> Phases | None:
        """Return the checks of a version in the user's form; without any, it has none."""
        if number not in self.written:
            return NONE
        if number not in self.read:
            node, word = self.written[number]
            self.read[number] = self._read(node, (f"v{number}", word), (*chain, number))
        return self.read[number]

    def _read(self, node: YamlNode, whose: _Whose, chain: tuple[int, ...]) -> Phases | None:
        value, above = node.value, whose[1]
        if isinstance(value, VersionReference):
            word = value.field if value.field in WITH_CHECKS else above
            number = follow_version(value, node.where, chain, word, self.numbers, self.findings)
            return None if number is None else self.of(number, chain)
        if isinstance(value, Mapping) and not value.keys().isdisjoint(("base", *_CHANGES)):
            return self._changed(node, whose, chain)
        return read_phases(node, above, self.findings)

    def _changed(self, node: YamlNode, whose: _Whose, chain: tuple[int, ...]) -> Phases | None:
        section = read_section(CheckChangeSection, node, whose[1], self.findings)
        base = section.base
        found = self._read(base, whose, chain) if base is not None else None
        parts = {key: self._part(section, key) for key in _CHANGES}
        if found is None:
            return None
        before, after = (
            self._list(found.of(phase), {key: part.of(phase) for key, part in parts.items()}, whose)
            for phase in (Phase.BEFORE, Phase.AFTER)
        )
        return Phases(before, after, section.on_failure or found.on_failure)

    def _part(self, section: CheckChangeSection, key: str) -> Phases:
        part = section.find(key)
        if part is None:
            return NONE
        inner = read_section(CheckListsSection, part, section.dotted(key), self.findings)
        if key != "remove":
            return phases_in(inner)
        before, after = (items_of(inner, phase, "names") for phase in PHASES)
        return Phases(before, after)

    def _list(self, nodes: _Checks, parts: Mapping[str, _Checks], whose: _Whose) -> _Checks:
        """Remove checks from a list, change others and add more."""
        for item in parts["remove"]:
            found = find_check(nodes, _removal(item))
            if found is None:
                self._unknown("remove", item, nodes, whose)
            nodes = tuple(each for each in nodes if each is not found)
        for item in parts["modify"]:
            found = find_check(nodes, name_of(item))
            if found is None:
                self._unknown("modify", item, nodes, whose)
            nodes = tuple(changed(each, item) if each is found else each for each in nodes)
        for item in parts["add"]:
            name = name_of(item)
            found = find_check(nodes, name) if name else None
            if found is None:
                nodes = (*nodes, item)
                continue
            sentence = f'{whose[0]}: add names "{name}", which is there already ({found.where})'
            hint = "change it under modify:"
            self.findings.append(Finding(item.where, "duplicate-check", sentence, hint))
        return nodes

    def _unknown(self, word: str, item: YamlNode, nodes: _Checks, whose: _Whose) -> None:
        name = _removal(item)
        known = [each for each in map(name_of, nodes) if each]
        hint = near_or_known(name, known)
        found = Finding(item.where, "unknown-check", f'{whose[0]}: {word} names "{name}"', hint)
        if not name:
            sentence = f"{whose[1]}.{word} needs the name of a check"
            found = Finding(item.where, "bad-value", sentence)
        self.findings.append(found)


def _removal(item: YamlNode) -> str:
    return item.value if isinstance(item.value, str) else name_of(item)


@dataclass(slots=True)
class Versions:
    """Reads the versions of one file, which may refer to each other."""

    files: Files
    grid: Grid
    findings: list[Finding]
    sections: dict[int, VersionSection] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)

    def read(self, nodes: Sequence[YamlNode]) -> tuple[GivenVersion, ...]:
        """Return every complete version, in the order of the file."""
        for node in nodes:
            self._open(node)
        given = self.sections.items()
        schemas = Schemas({n: s.schema or _NO_SCHEMA for n, s in given}, self.findings)
        checks = {n: (s.checks, word_in(s.node)) for n, s in given if s.checks}
        invariants = Invariants(checks, self.sections.keys(), self.findings)
        read = [self._version(number, section, schemas) for number, section in given]
        said = [invariants.of(number) or NONE for number, _ in given]
        pairs = zip(read, said, strict=True)
        return tuple(replace(each, checks=checks) for each, checks in pairs if each is not None)

    def _open(self, node: YamlNode) -> None:
        section = read_section(VersionSection, node, "versions", self.findings)
        number = section.version
        if number is None:
            self._sql(section, ())
        elif number in self.sections:
            first = self.sections[number].place("version").line
            sentence = f"version {number} is there twice; the first is on line {first}"
            section.report("version", "duplicate-version", sentence, "give one another number")
        else:
            self.sections[number] = section

    def _version(
        self, number: int, section: VersionSection, schemas: Schemas
    ) -> GivenVersion | None:
        own = self._dated(section, 0, (number,))
        revisions = self._revisions(number, section, self._since(section))
        fields = schemas.of(number) if section.schema else ()
        if section.schema and fields == ():
            sentence = f"v{number}: the schema is empty, so that no column is checked"
            section.warn("schema", "empty-schema", sentence, "list the columns with their types")
        if own is None:
            return None
        return GivenVersion(number, own, fields, revisions)

    def _revisions(
        self, number: int, section: VersionSection, since: dt.date | None
    ) -> tuple[GivenRevision, ...]:
        found: dict[int, GivenRevision] = {}
        for node in section.sql_revisions:
            inner = read_section(RevisionSection, node, "versions.sql_revisions", self.findings)
            revision = inner.revision
            given = self._dated(inner, revision or 0, (), since)
            if revision in found:
                sentence = f"v{number}: revision {revision} is there twice"
                inner.report("revision", "duplicate-revision", sentence, "give it another number")
            elif given is not None and revision is not None:
                found[revision] = given
        return tuple(found.values())

    def _dated(
        self,
        section: DatedSection,
        number: int,
        chain: tuple[int, ...],
        since: dt.date | None = None,
    ) -> GivenRevision | None:
        sql = self._sql(section, chain)
        own = self._since(section) if number else None
        if section.effective_from is None or sql is None:
            return None
        return GivenRevision(section, number, section.effective_from, sql, own or since)

    def _since(self, section: DatedSection) -> dt.date | None:
        if section.backfill_since is None or self.grid.grain not in _UNDATED:
            return section.backfill_since
        section.bad("backfill_since", f"left out: {_UNDATED[self.grid.grain]}")
        return None

    def _sql(self, section: DatedSection, chain: tuple[int, ...]) -> SqlText | None:
        node = section.sql
        if node is None or not isinstance(node.value, VersionReference):
            return sql_under(section, "sql", self.files, "the SQL is empty")
        known, number = self.sections.keys(), None
        if not self.broken.intersection(chain[:1]):
            number = follow_version(node.value, node.where, chain, "sql", known, self.findings)
        if number is not None:
            return self._sql(self.sections[number], (*chain, number))
        self.broken.update(chain)
        return None
