"""The given data and the expectations of a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.project import Project
from penstock.project.files.nodes import Keys, Section, YamlNode
from penstock.project.files.sections import read_section
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.unit_tests.casting import known_types, model_types, untold_types
from penstock.project.unit_tests.definition import (
    Earlier,
    Expectation,
    ExpectedError,
    Given,
    GivenTable,
    input_named,
    inputs_of,
)
from penstock.project.unit_tests.sections import (
    FORMS,
    SWITCH,
    ErrorSection,
    ExpectSection,
    GivenSection,
    HistorySection,
    ListedSection,
    StateSection,
)
from penstock.project.unit_tests.tables import TableReader

_OF_DBT = ("format", "fixture")
_EXPECT = Keys(tuple(key for key in ExpectSection.declared if key not in _OF_DBT))
_DBT_EXPECT = Keys(("rows", *_OF_DBT))


def expectation_of(node: YamlNode, reader: TableReader) -> Expectation:
    """Read `expect`; a list is its `rows`."""
    findings = reader.findings
    if isinstance(node.value, tuple):
        return Expectation(node.where, reader.rows(node))
    if not node.members.keys().isdisjoint(_OF_DBT):
        listed = read_section(ExpectSection, node, "expect", findings, _DBT_EXPECT)
        return Expectation(node.where, reader.fixture(listed, "expect"))
    section = read_section(ExpectSection, node, "expect", findings, _EXPECT)
    if section.is_mapping and not node.members:
        hint = "give rows, or another key of expect"
        sentence = "expect says nothing"
        findings.append(Finding(node.where, "test-without-expectation", sentence, hint))
    for key, member in section.members.items():
        if member.value is None:
            section.bad(key, "a value, or left out")
    _judge_effects(section)
    rows = reader.form(section, "expect") if any(map(section.find, FORMS)) else None
    quarantine = section.quarantine
    return Expectation(
        where=node.where,
        rows=rows,
        columns=rows.columns if rows else section.columns,
        columns_exact=section.columns_exact,
        unchanged=section.unchanged,
        row_count=section.row_count,
        commits=section.commits,
        metrics={name: count for name, count in section.metrics.items() if count is not None},
        watermark=section.watermark,
        quarantine=reader.table(quarantine, "quarantine") if quarantine else None,
        checks=section.checks,
        status=section.status,
        tolerance=section.tolerance,
    )


def _judge_effects(section: ExpectSection) -> None:
    """Refuse expectations that no step could fail: an empty list, a switch that is off."""
    code = "test-without-expectation"
    for key in ("columns", "metrics", "checks", "watermark"):
        node = section.find(key)
        if node is not None and node.value == {}:
            hint = f"name what must hold under {key}, or leave it out"
            section.report(key, code, f"{key} is empty, so that nothing is compared", hint)
    for key in ("rows", "quarantine"):
        node = section.find(key)
        if node is not None and node.items and not any(item.members for item in node.items):
            hint = "name columns in a row, or give row_count"
            section.report(key, code, f"no row of {key} names a column", hint)
    for key in ("unchanged", "columns_exact"):
        if section.read(key, SWITCH) is False:
            hint = "leave it out, or expect rows or metrics that say what changed"
            section.report(key, code, f"{key}: false expects nothing", hint)
    if section.find("tolerance") and not any(map(section.find, (*FORMS, "quarantine"))):
        hint = "expect rows, or leave it out"
        sentence = "tolerance is for rows, and none are expected"
        section.report("tolerance", code, sentence, hint)


def error_of(node: YamlNode, findings: list[Finding]) -> ExpectedError:
    """Read `expect_error`; a text alone is its code."""
    if isinstance(node.value, str):
        return ExpectedError(node.where, str(node.value))
    section = read_section(ErrorSection, node, "expect_error", findings)
    return ExpectedError(node.where, section.code, section.contains)


@dataclass(slots=True)
class GivenReader:
    """Reads the `given` of one test; `without_target` is dbt's `is_incremental: false`."""

    project: Project
    model: Model
    tables: TableReader
    without_target: bool = False

    def read(self, node: YamlNode | None) -> Given:
        """Read our form, a mapping, or dbt's, a list."""
        if node is None:
            return Given()
        inputs: dict[InputName, GivenTable] = {}
        if isinstance(node.value, tuple):
            return Given(inputs, self._listed(node, inputs))
        section = read_section(GivenSection, node, "given", self.tables.findings)
        for written, inner in section.inputs.items():
            name = self._find_input(written, inner.key)
            table = self.tables.table(inner, f"input {written!r}") or _unread(inner.where)
            if name is not None and name.kind is InputKind.THIS:
                sentence = f"{written!r} is the model's own table"
                self._say(inner.key, "unknown-input", sentence, "give it as target")
            elif name is not None:
                self._add(inputs, name, table, written, inner.key)
        if self.model.entity is not None:
            for key in ("target", "state"):
                if section.find(key):
                    sentence = f"{self.model.name} is built from slices and sources"
                    hint = f"give them to an earlier one of `runs` instead of {key}"
                    section.report(key, "bad-value", sentence, hint)
            return Given(inputs, slices=self._slices(section))
        if section.find("slices"):
            sentence = f"{self.model.name} reads no slices"
            section.report("slices", "unknown-input", sentence, "give inputs")
        target, state = section.target, section.state
        rows = self.tables.table(target, "target") if target else None
        return Given(
            inputs,
            self._target(rows, target),
            state.watermark if state else (),
            self._history(state) if state else (),
        )

    def _say(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        self.tables.findings.append(Finding(where, code, sentence, hint))

    def _slices(self, section: GivenSection) -> dict[str, GivenTable]:
        """Read slices by name; an entity's declarations are types for columns without values."""
        if section.find("slices") and not self.model.strategy.reads_slices:
            sentence = f"{self.model.name} reads a whole source"
            section.report("slices", "unknown-input", sentence, "give it under inputs")
            return {}
        found = {}
        for name, inner in section.slices.items():
            if not {"", ".", ".."}.isdisjoint(name.split("/")):
                sentence = f"{name!r} is not a path below the bronze folder"
                self._say(inner.where, "bad-value", sentence)
                continue
            table = self.tables.table(inner, f"slice {name!r}") or _unread(inner.where)
            found[name] = replace(table, file_types=untold_types(self.model, table))
        return found

    def _listed(self, node: YamlNode, inputs: dict[InputName, GivenTable]) -> GivenTable | None:
        """Read dbt's form, a list of inputs, in which `this` is the target; return the target."""
        targets: dict[InputName, GivenTable] = {}
        for item in node.items:
            section = read_section(ListedSection, item, "an entry of given", self.tables.findings)
            written = section.input
            if not written:
                continue
            where = section.place("input")
            name = self._find_input(written, where)
            table = self.tables.fixture(section, f"input {written!r}")
            if name is not None and name.kind is InputKind.THIS:
                self._once(name, targets, written, item.where)
                target = self._target(table, item)
                targets = {name: target} if target else {}
            elif name is not None:
                self._add(inputs, name, table or _unread(item.where), written, where)
        return next(iter(targets.values()), None)

    def _find_input(self, written: str, where: Location) -> InputName | None:
        name = input_named(self.project, self.model, written)
        if name is None:
            tables = (self.project.table_of(n, self.model) for n in inputs_of(self.model))
            known = list(map(str, tables))
            hint = did_you_mean(written, known) or f"it reads: {some_of(known) or 'no table'}"
            sentence = f"{self.model.name} does not read {written!r}"
            self._say(where, "unknown-input", sentence, hint)
        return name

    def _add(
        self,
        inputs: dict[InputName, GivenTable],
        name: InputName,
        table: GivenTable,
        written: str,
        where: Location,
    ) -> None:
        self._once(name, inputs, written, where)
        inputs[name] = replace(table, file_types=known_types(self.project, name))

    def _once(
        self, name: InputName, inputs: Mapping[InputName, GivenTable], written: str, where: Location
    ) -> None:
        if name in inputs:
            sentence = f"{written!r} is given twice; the first is on line {inputs[name].where.line}"
            self._say(where, "bad-value", sentence, "keep one of them")

    def _target(self, table: GivenTable | None, node: YamlNode | None) -> GivenTable | None:
        if table is None or node is None:
            return None
        if self.model.is_view:
            sentence = f"{self.model.name} is a view, which holds no rows before a step"
            self._say(node.where, "bad-value", sentence, "leave target out")
            return None
        return None if self.without_target else replace(table, file_types=model_types(self.model))

    def _history(self, state: StateSection) -> tuple[Earlier, ...]:
        found = []
        for item in state.history:
            above = "a success in history"
            success = read_section(HistorySection, item, above, self.tables.findings)
            if success.rows is not None:
                key = self._partition(success)
                found.append(Earlier(key, success.rows, success.executed_at))
        return tuple(found)

    def _partition(self, success: HistorySection) -> str:
        is_whole, is_named = self.model.grid.grain is Grain.WHOLE, success.find("partition")
        if is_named and is_whole:
            sentence = f"{self.model.name} has no partitions"
            success.report("partition", "option-conflict", sentence, "leave it out")
        elif is_named:
            return partition_key(success, "partition", success.partition, self.model.grid)
        elif not is_whole:
            sentence = "a success in history needs partition"
            self._say(success.node.where, "missing-key", sentence)
        return ""


def partition_key(section: Section, key: str, text: str, grid: Grid) -> str:
    """Return the key of a partition, "" with a finding."""
    try:
        return grid.key(grid.parse(text))
    except UsageError as error:
        section.report(key, error.code, error.sentence, error.hint)
        return ""


def _unread(where: Location) -> GivenTable:
    """Return a placeholder for an invalid table: it counts as given, and the test never runs."""
    return GivenTable(where, query="-")
