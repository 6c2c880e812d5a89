"""All unit tests of a project, entry by entry. No JVM, no tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core.checks.check import OnFailure
from penstock.core.errors import ProjectError
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.partitions.partition import Grain
from penstock.core.project import Project
from penstock.project.files.discovery import decode, read_content
from penstock.project.files.documents import read_document
from penstock.project.files.nodes import Keys, YamlNode, file_node
from penstock.project.files.sections import read_section
from penstock.project.files.values import Plain, did_you_mean, some_of
from penstock.project.unit_tests.definition import (
    DEFAULT_AS_OF,
    FOLDER,
    KEY,
    CellKind,
    Given,
    UnitRun,
    UnitTest,
    Written,
    asked_variables,
    files_with_tests,
    model_named,
)
from penstock.project.unit_tests.given import GivenReader, error_of, expectation_of, partition_key
from penstock.project.unit_tests.sections import (
    OverridesSection,
    RunSection,
    TestFileSection,
    UnitTestSection,
)
from penstock.project.unit_tests.tables import TableReader

if TYPE_CHECKING:
    import yaml

_RANGE = ("partition", "from", "to")
_EXPECTED = ("expect", "expect_error")
_DAY = 86_400_000_000
Variant = Callable[[Mapping[str, str]], Project]
"""Returns the project with these variables added; raises `ProjectError` with its findings."""


def read_entry(node: YamlNode, variant: Variant, tables: TableReader) -> UnitTest | None:
    """Read an entry with its own variables; None if it is disabled or its model is unknown."""
    findings, before = tables.findings, len(tables.findings)
    section = read_section(UnitTestSection, node, "a unit test", findings)
    if section.config and not section.config.enabled:
        del findings[before:]
        return None
    overrides = section.overrides
    variables = section.vars | (overrides.vars if overrides else {})
    _judge_variables(section, variant)
    if overrides:
        _judge_variables(overrides, variant)
    try:
        project = variant(variables)
    except ProjectError as error:
        findings += error.findings
        return None
    return _EntryReader(project, tables, section).read(variables)


def _judge_variables(section: UnitTestSection | OverridesSection, variant: Variant) -> None:
    """Refuse variables that nothing in the project uses: with them a test proves nothing."""
    if not section.vars:
        return
    project, places = variant({}), section.members["vars"].members
    unknown = [name for name in section.vars if name not in project.vars]
    asked = asked_variables(project) if unknown else set()
    for name in (each for each in unknown if each not in asked):
        known = sorted({*project.vars, *asked})
        hint = did_you_mean(name, known) or f"there are: {some_of(known) or 'none'}"
        sentence = f"vars: no model or macro asks for {name!r}"
        section.findings.append(Finding(places[name].key, "missing-var", sentence, hint))


@dataclass(slots=True)
class _EntryReader:
    """Reads one entry of a project."""

    project: Project
    tables: TableReader
    entry: UnitTestSection

    def read(self, variables: Mapping[str, str]) -> UnitTest | None:
        """Read the entry; None, with findings, if its model is unknown."""
        entry, written = self.entry, self.entry.model
        model = model_named(self.project, written)
        if model is None:
            if written:
                models = self.project.models.values()
                known = [name for each in models for name in (each.name, str(each.table))]
                hint = did_you_mean(written, known) or f"there are: {some_of(self.project.models)}"
                sentence = f"no model is called {written!r}"
                entry.report("model", "unknown-model", sentence, hint)
            return None
        config = entry.config
        return UnitTest(
            name=entry.name,
            model=model.name,
            where=entry.node.where,
            runs=self._runs(model),
            written=str(model.table),
            description=entry.description,
            tags=config.tags if config and not entry.find("tags") else entry.tags,
            version=self._version(model),
            vars=variables,
            key=entry.key_,
        )

    def _runs(self, model: Model) -> tuple[UnitRun, ...]:
        entry = self.entry
        macros = entry.overrides and entry.overrides.macros
        is_incremental = macros and macros.is_incremental
        reader = GivenReader(self.project, model, self.tables, is_incremental is False)
        base = {key: node for key, node in entry.members.items() if key in RunSection.declared}
        runs: list[UnitRun] = []
        for number, item in enumerate(entry.runs or (entry.node,), 1):
            members = item.members if entry.runs else {}
            own = {key: node for key, node in members.items() if not node.is_absent}
            left = {*_EXPECTED} if number < len(entry.runs) else set()  # they are for the last
            left |= {*_RANGE} if not own.keys().isdisjoint(_RANGE) else set()
            kept = {key: node for key, node in base.items() if key not in left}
            if not isinstance(item.value, Mapping) and not item.is_absent:
                read_section(RunSection, item, "a run", self.tables.findings)  # says so
            node = YamlNode({**members, **kept, **own}, item.where)
            section = read_section(RunSection, node, "a run", self.tables.findings)
            run = self._run(section, model)
            if runs and model.strategy.moves_forward and "as_of" not in own:
                run = replace(run, as_of=runs[-1].as_of + dt.timedelta(seconds=1))
            given = reader.read(section.given if "given" in own else None)
            if number == 1:
                under = reader.read(entry.given)
                given = Given(
                    {**under.inputs, **given.inputs},
                    given.target or under.target,
                    given.watermarks or under.watermarks,
                    given.history or under.history,
                    {**under.slices, **given.slices},
                )
            if runs:
                self._judge_later(runs, given, item)
            runs.append(replace(run, given=given))
        if macros and is_incremental and runs[0].given.target is None:
            sentence = "is_incremental is true, and no rows are given for the model's own table"
            macros.report("is_incremental", "missing-key", sentence, "give input: this")
        if not any(run.expect or run.error for run in runs):
            sentence, hint = f"{entry.name!r} expects nothing", "give expect or expect_error"
            self._say(entry.node, "test-without-expectation", sentence, hint)
        return tuple(runs)

    def _say(self, node: YamlNode, code: str, sentence: str, hint: str = "") -> None:
        self.tables.findings.append(Finding(node.where, code, sentence, hint))

    def _judge_later(self, runs: Sequence[UnitRun], given: Given, item: YamlNode) -> None:
        """Find data that a later run cannot have."""
        again = given.slices.keys() & {name for run in runs for name in run.given.slices}
        if again:
            sentence = f"slice {min(again)!r} was delivered in an earlier run"
            self._say(item, "bad-value", sentence, "give it another name")
        if given.target is not None:
            sentence = (
                "target is given in a later run, which starts from the table that the last one left"
            )
            self._say(item, "bad-value", sentence, "give it in the first run")

    def _run(self, section: RunSection, model: Model) -> UnitRun:
        expect, error = section.expect, section.expect_error
        if expect and error:
            sentence = "expect and expect_error exclude each other"
            section.report("expect_error", "option-conflict", sentence)
        first, last = self._partitions(section, model)
        mode = section.on_failure
        return UnitRun(
            as_of=section.as_of or _run_timestamp(model, last),
            first=first,
            last=last,
            full_refresh=section.full_refresh,
            on_failure=OnFailure(mode) if mode else None,
            expect=expectation_of(expect, self.tables) if expect else None,
            error=error_of(error, self.tables.findings) if error else None,
        )

    def _partitions(self, section: RunSection, model: Model) -> tuple[str, str]:
        grid, named = model.grid, [key for key in _RANGE if section.find(key)]
        if grid.grain is Grain.WHOLE:
            for key in named:
                sentence = f"{model.name} has no partitions"
                section.report(key, "option-conflict", sentence, "leave it out")
            return "", ""
        if not named or (section.find(_RANGE[0]) and len(named) > 1):
            first_of_2024 = grid.at(19_723 * _DAY)
            example = grid.key(0 if grid.grain is Grain.RANGE else first_of_2024)
            sentence = f"{model.name} has partitions; a test names one, or from and to"
            self._say(section.node, "missing-key", sentence, f"partition: {example}")
            return "", ""
        if named in (["from"], ["to"]):
            sentence = "from and to are given together"
            section.report(named[0], "missing-key", sentence, "or give partition")
            return "", ""
        texts = {"partition": section.partition, "from": section.from_, "to": section.to}
        first, last = (partition_key(section, key, texts[key], grid) for key in (named * 2)[:2])
        if not first or not last:
            return "", ""
        if grid.parse(first) > grid.parse(last):
            section.report("to", "bad-value", f"from {first} lies after to {last}")
            return "", ""
        return first, last

    def _version(self, model: Model) -> int | None:
        number, known = self.entry.version, [each.number for each in model.versions]
        if number is None or number in known:
            return number
        hint = f"there are: {', '.join(map(str, known))}" if known else "leave it out"
        sentence = f"{model.name} has no version {number}"
        self.entry.report("version", "bad-value", sentence, hint)
        return None


def _run_timestamp(model: Model, last: str) -> dt.datetime:
    """Return a time after the end of all its partitions and the start of all versions."""
    found = [DEFAULT_AS_OF]
    bodies = [body for version in model.versions for body in version.bodies]
    found += (
        dt.datetime.combine(each.effective_from, dt.time(), dt.UTC)
        for each in bodies
        if each.effective_from is not None
    )
    if last and model.grid.grain is not Grain.RANGE:
        after = model.grid.upper(model.grid.parse(last))
        with suppress(OverflowError):
            found.append(dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=after))
    return max(found)


@dataclass(frozen=True, slots=True)
class LoadedTests:
    """The tests in the order of files and lines; with findings they must not run."""

    tests: tuple[UnitTest, ...] = ()
    findings: tuple[Finding, ...] = ()


def load_unit_tests(project: Project, variant: Variant) -> LoadedTests:
    """Read every file with the key `unit_tests`, under tests/ and beside models.

    `variant` returns the project with the variables of a test. Codes beside those of every YAML
    file: `duplicate-test`, `unknown-model`, `unknown-input`, `bad-test-value`, `test-type-unknown`,
    `test-without-expectation`.
    """
    tables = TableReader(Path(project.root), [])
    tests: dict[tuple[str, str], UnitTest] = {}
    found: list[UnitTest] = []
    for path in files_with_tests(project):
        for node in _entries(tables.root, path, tables.findings):
            test = read_entry(node, variant, tables)
            if test is None:
                continue
            found.append(test)
            first = tests.setdefault((test.model, test.name), test)
            if first is not test and test.name:
                sentence = f"{test.model} has a test {test.name!r} already, in {first.where}"
                hint = "rename one of them"
                tables.findings.append(Finding(test.where, "duplicate-test", sentence, hint))
    return LoadedTests(tuple(found), tuple(sorted(dict.fromkeys(tables.findings))))


def _entries(root: Path, path: str, findings: list[Finding]) -> tuple[YamlNode, ...]:
    content = read_content(root, path, findings)
    text = None if content is None else decode(content, findings)
    if text is None:
        return ()
    node, more = written_node(path, text)
    if not node.is_absent and KEY not in node.members:
        return ()
    findings += more
    if node.is_absent:
        return ()
    is_own = path.startswith(f"{FOLDER}/")  # other keys of files that describe models are theirs
    keys = TestFileSection.key_set if is_own else Keys(tuple(node.members))
    return read_section(TestFileSection, node, "the document", findings, keys).unit_tests


def written_node(path: str, text: str) -> tuple[YamlNode, tuple[Finding, ...]]:
    """Read one YAML document without converting its scalars."""
    file = read_document(path, text, _written)
    return file_node(file, file.tree), file.findings


def _written(node: yaml.ScalarNode) -> Plain:
    tag = node.tag.rpartition(":")[2]
    if node.style is not None:
        return Written.of(str(node.value), CellKind.TEXT)
    kind = CellKind.BOOLEAN if tag == "bool" else None
    return None if tag == "null" else Written.of(str(node.value), kind)
