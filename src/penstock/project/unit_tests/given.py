"""What a test gives and what it expects (spec/checks.md §9.2, §9.3)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.core.columns.types import ColumnType
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain
from penstock.core.project import Project
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.unit_tests.definition import (
    CellKind,
    Earlier,
    Expectation,
    ExpectedError,
    Given,
    GivenTable,
    GivenWatermark,
    input_named,
    inputs_of,
    shown,
)
from penstock.project.unit_tests.nodes import CellNode, FileNotes
from penstock.project.unit_tests.tables import (
    FORMS,
    csv_table,
    file_table,
    form_of,
    rows_table,
    table_of,
)
from penstock.project.unit_tests.types import known_types

OF_EXPECT = (
    *FORMS,
    "columns",
    "columns_exact",
    "unchanged",
    "row_count",
    "commits",
    "metrics",
    "watermark",
    "quarantine",
    "checks",
    "status",
    "tolerance",
)
STATUSES = ("success", "failed", "skipped", "unchanged")
CHECK_STATUSES = ("passed", "failed", "skipped")
OF_GIVEN = ("inputs", "target", "state")
OF_STATE = ("watermark", "history")
OF_LISTED = ("input", "format", "fixture", "columns", *FORMS)
"""The keys of an entry of dbt's shape."""


def expectation_of(node: CellNode, notes: FileNotes) -> Expectation:
    """Read `expect`; a list is its `rows`."""
    if node.items is not None:
        return Expectation(node.where, rows_table(node, {}, notes))
    if node.members == {}:
        hint = "give rows, or another key of expect"
        notes.say(node.where, "test-without-expectation", "expect says nothing", hint)
    for key, inner in (node.members or {}).items():
        if key in OF_EXPECT and inner.is_null:
            notes.bad(inner, key, "a value, or left out")
    found = notes.members(node, "expect", OF_EXPECT)
    rows: GivenTable | None = None
    if any(form in found for form in FORMS):
        rows = form_of(found, node.where, notes, "expect")
    types = rows.columns if rows else notes.types(found.get("columns"), "columns")
    quarantine = found.get("quarantine")
    return Expectation(
        where=node.where,
        rows=rows,
        columns=types,
        columns_exact=notes.flag(found.get("columns_exact"), "columns_exact"),
        unchanged=notes.flag(found.get("unchanged"), "unchanged"),
        row_count=notes.number(found.get("row_count"), "row_count"),
        commits=notes.number(found.get("commits"), "commits"),
        metrics=_metrics(found.get("metrics"), notes),
        watermarks=watermarks_of(found.get("watermark"), notes),
        quarantine=table_of(quarantine, notes, "quarantine") if quarantine else None,
        checks=_checks(found.get("checks"), notes),
        status=_one_of(found.get("status"), "status", STATUSES, notes),
        tolerance=_tolerance(found.get("tolerance"), notes),
    )


def error_of(node: CellNode, notes: FileNotes) -> ExpectedError:
    """Read `expect_error`; a text alone is its code."""
    if node.cell is not None:
        return ExpectedError(node.where, node.text)
    found = notes.members(node, "expect_error", ("code", "contains"))
    code = notes.text(found.get("code"), "code")
    if not code:
        notes.say(node.where, "missing-key", "expect_error needs code")
    return ExpectedError(node.where, code, notes.text(found.get("contains"), "contains"))


def watermarks_of(node: CellNode | None, notes: FileNotes) -> tuple[GivenWatermark, ...]:
    """Read a watermark: a value, or values by `input.column`."""
    if node is None or node.is_null:
        return ()
    if node.members is None:
        return (GivenWatermark("", notes.text(node, "watermark"), node.where),)
    pairs = node.members.items()
    return tuple(
        GivenWatermark(name, notes.text(inner, name), inner.where) for name, inner in pairs
    )


def _metrics(node: CellNode | None, notes: FileNotes) -> Mapping[str, int]:
    if node is None or node.members is None:
        if node is not None:
            notes.bad(node, "metrics", "a mapping of names to numbers")
        return {}
    found = {name: notes.number(inner, name) for name, inner in node.members.items()}
    return {name: number for name, number in found.items() if number is not None}


def _checks(node: CellNode | None, notes: FileNotes) -> Mapping[str, str]:
    if node is None or node.members is None:
        if node is not None:
            notes.bad(node, "checks", "a mapping of names to passed, failed or skipped")
        return {}
    return {
        name: _one_of(inner, name, CHECK_STATUSES, notes) for name, inner in node.members.items()
    }


def _one_of(node: CellNode | None, what: str, allowed: tuple[str, ...], notes: FileNotes) -> str:
    text = notes.text(node, what)
    if node is not None and text not in allowed:
        hint = did_you_mean(text, allowed) or f"allowed: {', '.join(allowed)}"
        notes.say(node.where, "bad-value", f"{what} {text!r} is not known", hint)
        return ""
    return text


def _tolerance(node: CellNode | None, notes: FileNotes) -> float:
    if node is None:
        return 0.0
    try:
        found = float(notes.text(node, "tolerance"))
    except ValueError:
        found = -1.0
    if node.cell is None or node.cell.kind is CellKind.BOOLEAN or not 0 <= found < 1:
        notes.bad(node, "tolerance", "a number from 0 to below 1, for example 1e-9")
        return 0.0
    return found


@dataclass(slots=True)
class GivenReader:
    """Reads the `given` of one test; `without_target` is dbt's `is_incremental: false`."""

    project: Project
    model: Model
    notes: FileNotes
    without_target: bool = False

    def read(self, node: CellNode | None) -> Given:
        """Read our shape, a mapping, or dbt's, a list."""
        if node is None or node.is_null:
            return Given()
        if node.items is not None:
            return self._listed(node)
        found = self.notes.members(node, "given", OF_GIVEN)
        inputs = self._inputs(found.get("inputs"))
        target = found.get("target")
        table = table_of(target, self.notes, "target") if target else None
        state = found.get("state")
        kept = self.notes.members(state, "state", OF_STATE) if state else {}
        return Given(
            inputs,
            self._target(table, target),
            watermarks_of(kept.get("watermark"), self.notes),
            self._history(kept.get("history")),
        )

    def _inputs(self, node: CellNode | None) -> Mapping[InputName, GivenTable]:
        if node is None:
            return {}
        if node.members is None:
            self.notes.bad(node, "inputs", "a mapping of names to tables")
            return {}
        found: dict[InputName, GivenTable] = {}
        for written, inner in node.members.items():
            name = self._named(written, node.keys[written])
            table = table_of(inner, self.notes, f"input {written!r}")
            if name is not None and name.kind is InputKind.THIS:
                hint = "give it as target"
                sentence = f"{written!r} is the model's own table"
                self.notes.say(node.keys[written], "unknown-input", sentence, hint)
            elif name is not None:
                self._once(name, found, written, node.keys[written])
                found[name] = replace(table or _unread(inner.where), known=self._known(name))
        return found

    def _named(self, written: str, where: Location) -> InputName | None:
        name = input_named(self.project, self.model, written)
        if name is None:
            known = [shown(self.project, self.model, each) for each in inputs_of(self.model)]
            hint = did_you_mean(written, known) or f"it reads: {some_of(known) or 'no table'}"
            sentence = f"{self.model.name} does not read {written!r}"
            self.notes.say(where, "unknown-input", sentence, hint)
        return name

    def _once(
        self, name: InputName, found: Mapping[InputName, GivenTable], written: str, where: Location
    ) -> None:
        if name in found:
            sentence = f"{written!r} is given twice; the first is on line {found[name].where.line}"
            self.notes.say(where, "bad-value", sentence, "keep one of them")

    def _known(self, name: InputName) -> Mapping[str, ColumnType]:
        return known_types(self.project, name)

    def _target(self, table: GivenTable | None, node: CellNode | None) -> GivenTable | None:
        if table is None or node is None:
            return None
        if self.model.is_view:
            sentence = f"{self.model.name} is a view, which holds no rows before a step"
            self.notes.say(node.where, "bad-value", sentence, "leave target out")
            return None
        own = InputName(InputKind.MODEL, self.model.name)
        return None if self.without_target else replace(table, known=self._known(own))

    def _history(self, node: CellNode | None) -> tuple[Earlier, ...]:
        found = []
        for item in self.notes.items(node, "history"):
            success = self.notes.members(item, "history", ("partition", "rows", "executed_at"))
            rows = self.notes.number(success.get("rows"), "rows")
            at: dt.datetime | None = self.notes.timestamp(success.get("executed_at"), "executed_at")
            if rows is None:
                self.notes.say(item.where, "missing-key", "a success in history needs rows")
                continue
            found.append(Earlier(self._partition(success.get("partition"), item), rows, at))
        return tuple(found)

    def _partition(self, node: CellNode | None, item: CellNode) -> str:
        """Give the key of a success in history; it needs one exactly where the model has some."""
        grid = self.model.grid
        if grid.grain is Grain.WHOLE:
            if node is not None:
                sentence = f"{self.model.name} has no partitions"
                self.notes.say(node.where, "option-conflict", sentence, "leave it out")
            return ""
        if node is None:
            self.notes.say(item.where, "missing-key", "a success in history needs partition")
            return ""
        return self.notes.partition(node, grid)

    def _listed(self, node: CellNode) -> Given:
        """Read dbt's shape: a list of inputs, of which `this` is the target."""
        inputs: dict[InputName, GivenTable] = {}
        target: GivenTable | None = None
        for item in node.items or ():
            found = self.notes.members(item, "given", OF_LISTED)
            written = self.notes.text(found.get("input"), "input")
            if not written:
                self.notes.say(item.where, "missing-key", "an entry of given needs input")
                continue
            name = self._named(written, found["input"].where)
            table = listed_table(found, item, self.notes, f"input {written!r}")
            if name is None:
                continue
            if name.kind is InputKind.THIS:
                if target is not None:
                    self._once(name, {name: target}, written, item.where)
                target = self._target(table, item)
                continue
            self._once(name, inputs, written, found["input"].where)
            inputs[name] = replace(table or _unread(item.where), known=self._known(name))
        return Given(inputs, target)


def _unread(where: Location) -> GivenTable:
    """Stand for a table that has a finding: it is given, and nothing is ever run."""
    return GivenTable(where, query="-")


def listed_table(
    found: Mapping[str, CellNode], item: CellNode, notes: FileNotes, what: str
) -> GivenTable | None:
    """Read a table of dbt's shape, where `rows` is in the `format`: dict, csv or sql."""
    form = notes.text(found.get("format"), "format") or "dict"
    if form not in ("dict", "csv", "sql"):
        notes.bad(found["format"], "format", "dict, csv or sql")
        return None
    types = notes.types(found.get("columns"), "columns")
    fixture = found.get("fixture")
    if fixture is not None:
        name = notes.text(fixture, "fixture")
        path = name if "." in name else f"fixtures/{name}.{'sql' if form == 'sql' else 'csv'}"
        return file_table(path, fixture.where, types, notes)
    rows = found.get("rows")
    if form == "dict" or rows is None:
        return form_of(found, item.where, notes, what)
    if form == "csv":
        return csv_table(notes.text(rows, "rows"), rows.where, types, notes)
    return form_of({**_without(found, "rows"), "sql": rows}, item.where, notes, what)


def _without(found: Mapping[str, CellNode], key: str) -> dict[str, CellNode]:
    return {name: node for name, node in found.items() if name != key}
