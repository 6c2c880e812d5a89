"""What a test gives and what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain
from penstock.core.project import Project
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.unit_tests.casting import known_types, model_types, untold_types
from penstock.project.unit_tests.definition import (
    Cell,
    CellKind,
    Earlier,
    Expectation,
    ExpectedError,
    Given,
    GivenTable,
    GivenWatermark,
    input_named,
    inputs_of,
)
from penstock.project.unit_tests.nodes import FileNotes
from penstock.project.unit_tests.tables import FORMS, TableReader, form_of, table_of

OF_EXPECT = tuple(dict.fromkeys((*FORMS, *(each.name for each in fields(Expectation)[1:]))))
"""Each names a field; the first says where they stand."""
STATUSES = ("success", "failed", "skipped", "unchanged")
CHECK_STATUSES = ("passed", "failed", "skipped")
_STATUS_WORDS = "passed, failed or skipped"
OF_GIVEN = ("inputs", "slices", "target", "state")
OF_STATE = ("watermark", "history")
OF_LISTED = ("input", "format", "fixture", "columns", *FORMS)
"""The keys of an entry of dbt's shape."""


def expectation_of(node: Cell, notes: FileNotes) -> Expectation:
    """Read `expect`; a list is its `rows`."""
    if node.kind is CellKind.LIST:
        return Expectation(node.where, TableReader(notes).rows(node))
    if not node.members.keys().isdisjoint(("format", "fixture")):  # dbt's shape
        listed = notes.members(node, "expect", ("rows", "format", "fixture"))
        return Expectation(node.where, listed_table(listed, node, notes, "expect"))
    if node.kind is CellKind.MAPPING and not node.members:
        hint = "give rows, or another key of expect"
        notes.say(node.where, "test-without-expectation", "expect says nothing", hint)
    for key, inner in node.members.items():
        if key in OF_EXPECT and inner.is_null:
            notes.bad(inner, key, "a value, or left out")
    found = notes.members(node, "expect", OF_EXPECT)
    _judge_effects(found, notes)
    rows: GivenTable | None = None
    if any(form in found for form in FORMS):
        rows = form_of(found, node.where, notes, "expect")
    types = rows.columns if rows else notes.types(found.get("columns"))
    quarantine = found.get("quarantine")
    counts = notes.pairs(found.get("metrics"), "metrics", "numbers").items()
    metrics = [(name, notes.number(inner, name)) for name, inner in counts]
    return Expectation(
        where=node.where,
        rows=rows,
        columns=types,
        columns_exact=notes.flag(found.get("columns_exact"), "columns_exact"),
        unchanged=notes.flag(found.get("unchanged"), "unchanged"),
        row_count=notes.number(found.get("row_count"), "row_count"),
        commits=notes.number(found.get("commits"), "commits"),
        metrics={name: number for name, number in metrics if number is not None},
        watermark=watermarks_of(found.get("watermark"), notes),
        quarantine=table_of(quarantine, notes, "quarantine") if quarantine else None,
        checks={
            name: _one_of(inner, name, CHECK_STATUSES, notes)
            for name, inner in notes.pairs(found.get("checks"), "checks", _STATUS_WORDS).items()
        },
        status=_one_of(found.get("status"), "status", STATUSES, notes),
        tolerance=_tolerance(found.get("tolerance"), notes),
    )


def _judge_effects(found: Mapping[str, Cell], notes: FileNotes) -> None:
    """Refuse what no step could fail: an empty list of things to hold, a switch that is off."""
    code = "test-without-expectation"
    for key in ("columns", "metrics", "checks", "watermark"):
        if key in found and found[key].kind is CellKind.MAPPING and not found[key].members:
            hint = f"name what must hold under {key}, or leave it out"
            notes.say(found[key].where, code, f"{key} is empty, so that nothing is compared", hint)
    for key in ("rows", "quarantine"):
        items = found[key].items if key in found else ()
        if items and not any(item.members for item in items):
            hint = "name columns in a row, or give row_count"
            notes.say(found[key].where, code, f"no row of {key} names a column", hint)
    for key in ("unchanged", "columns_exact"):
        if key in found and found[key].kind is CellKind.BOOLEAN and not notes.flag(found[key], key):
            hint = "leave it out, or expect rows or metrics that say what changed"
            notes.say(found[key].where, code, f"{key}: false expects nothing", hint)
    if "tolerance" in found and not {*FORMS, "quarantine"} & found.keys():
        hint = "expect rows, or leave it out"
        sentence = "tolerance is for rows, and none are expected"
        notes.say(found["tolerance"].where, code, sentence, hint)


def error_of(node: Cell, notes: FileNotes) -> ExpectedError:
    """Read `expect_error`; a text alone is its code."""
    if node.kind not in (CellKind.LIST, CellKind.MAPPING):
        return ExpectedError(node.where, node.text)
    found = notes.members(node, "expect_error", ("code", "contains"))
    code = notes.text(found.get("code"), "code")
    if not code:
        notes.say(node.where, "missing-key", "expect_error needs code")
    return ExpectedError(node.where, code, notes.text(found.get("contains"), "contains"))


def watermarks_of(node: Cell | None, notes: FileNotes) -> tuple[GivenWatermark, ...]:
    """Read a watermark: a value, or values by `input.column`."""
    if node is None or node.is_null:
        return ()
    if node.kind is not CellKind.MAPPING:
        return (GivenWatermark("", notes.text(node, "watermark"), node.where),)
    pairs = node.members.items()
    return tuple(
        GivenWatermark(name, notes.text(inner, name), inner.where) for name, inner in pairs
    )


def _one_of(node: Cell | None, what: str, allowed: tuple[str, ...], notes: FileNotes) -> str:
    text = notes.text(node, what)
    if node is not None and text not in allowed:
        hint = did_you_mean(text, allowed) or f"allowed: {', '.join(allowed)}"
        notes.say(node.where, "bad-value", f"{what} {text!r} is not known", hint)
        return ""
    return text


def _tolerance(node: Cell | None, notes: FileNotes) -> float:
    if node is None:
        return 0.0
    try:
        found = float(notes.text(node, "tolerance"))
    except ValueError:
        found = -1.0
    if node.kind is CellKind.BOOLEAN or not 0 <= found < 1:
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

    def read(self, node: Cell | None) -> Given:
        """Read our shape, a mapping, or dbt's, a list."""
        if node is None or node.is_null:
            return Given()
        inputs: dict[InputName, GivenTable] = {}
        if node.kind is CellKind.LIST:
            return Given(inputs, self._listed(node, inputs))
        found = self.notes.members(node, "given", OF_GIVEN)
        for written, inner in self.notes.pairs(found.get("inputs"), "inputs", "tables").items():
            where = found["inputs"].keys[written]
            name = self._named(written, where)
            table = table_of(inner, self.notes, f"input {written!r}") or _unread(inner.where)
            if name is not None and name.kind is InputKind.THIS:
                sentence = f"{written!r} is the model's own table"
                self.notes.say(where, "unknown-input", sentence, "give it as target")
            elif name is not None:
                self._add(inputs, name, table, written, where)
        target, state = found.get("target"), found.get("state")
        if self.model.entity is not None:
            for key in ("target", "state"):
                if key in found:
                    sentence = f"what {self.model.name} holds is made of slices and sources"
                    hint = f"give them to an earlier one of `runs` instead of {key}"
                    self.notes.say(found[key].where, "bad-value", sentence, hint)
            return Given(inputs, slices=self._slices(found.get("slices")))
        if "slices" in found:
            sentence = f"{self.model.name} reads no slices"
            self.notes.say(found["slices"].where, "unknown-input", sentence, "give inputs")
        rows = table_of(target, self.notes, "target") if target else None
        kept = self.notes.members(state, "state", OF_STATE) if state else {}
        return Given(
            inputs,
            self._target(rows, target),
            watermarks_of(kept.get("watermark"), self.notes),
            self._history(kept.get("history")),
        )

    def _slices(self, node: Cell | None) -> dict[str, GivenTable]:
        """Read slices by their names; what an entity declares are types where rows tell none."""
        if node is not None and not self.model.strategy.reads_slices:
            sentence = f"{self.model.name} reads a whole source"
            self.notes.say(node.where, "unknown-input", sentence, "give it under inputs")
            return {}
        found = {}
        for name, inner in self.notes.pairs(node, "slices", "tables").items():
            if not {"", ".", ".."}.isdisjoint(name.split("/")):
                sentence = f"{name!r} is no path below the bronze folder"
                self.notes.say(inner.where, "bad-value", sentence)
                continue
            table = table_of(inner, self.notes, f"slice {name!r}") or _unread(inner.where)
            found[name] = replace(table, known=untold_types(self.model, table))
        return found

    def _listed(self, node: Cell, inputs: dict[InputName, GivenTable]) -> GivenTable | None:
        """Read dbt's shape, a list of inputs, of which `this` is the target; give the target."""
        targets: dict[InputName, GivenTable] = {}
        for item in node.items:
            found = self.notes.members(item, "given", OF_LISTED)
            written = self.notes.text(found.get("input"), "input")
            if not written:
                self.notes.say(item.where, "missing-key", "an entry of given needs input")
                continue
            where = found["input"].where
            name = self._named(written, where)
            table = listed_table(found, item, self.notes, f"input {written!r}")
            if name is not None and name.kind is InputKind.THIS:
                self._once(name, targets, written, item.where)
                target = self._target(table, item)
                targets = {name: target} if target else {}
            elif name is not None:
                self._add(inputs, name, table or _unread(item.where), written, where)
        return next(iter(targets.values()), None)

    def _named(self, written: str, where: Location) -> InputName | None:
        name = input_named(self.project, self.model, written)
        if name is None:
            tables = (self.project.table_of(n, self.model) for n in inputs_of(self.model))
            known = list(map(str, tables))
            hint = did_you_mean(written, known) or f"it reads: {some_of(known) or 'no table'}"
            sentence = f"{self.model.name} does not read {written!r}"
            self.notes.say(where, "unknown-input", sentence, hint)
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
        inputs[name] = replace(table, known=known_types(self.project, name))

    def _once(
        self, name: InputName, found: Mapping[InputName, GivenTable], written: str, where: Location
    ) -> None:
        if name in found:
            sentence = f"{written!r} is given twice; the first is on line {found[name].where.line}"
            self.notes.say(where, "bad-value", sentence, "keep one of them")

    def _target(self, table: GivenTable | None, node: Cell | None) -> GivenTable | None:
        if table is None or node is None:
            return None
        if self.model.is_view:
            sentence = f"{self.model.name} is a view, which holds no rows before a step"
            self.notes.say(node.where, "bad-value", sentence, "leave target out")
            return None
        return None if self.without_target else replace(table, known=model_types(self.model))

    def _history(self, node: Cell | None) -> tuple[Earlier, ...]:
        found = []
        for item in self.notes.items(node, "history"):
            success = self.notes.members(item, "history", ("partition", "rows", "executed_at"))
            rows = self.notes.number(success.get("rows"), "rows")
            at = self.notes.timestamp(success.get("executed_at"), "executed_at")
            if rows is None:
                self.notes.say(item.where, "missing-key", "a success in history needs rows")
                continue
            found.append(Earlier(self._partition(success.get("partition"), item), rows, at))
        return tuple(found)

    def _partition(self, node: Cell | None, item: Cell) -> str:
        is_whole = self.model.grid.grain is Grain.WHOLE
        if node is not None and is_whole:
            sentence = f"{self.model.name} has no partitions"
            self.notes.say(node.where, "option-conflict", sentence, "leave it out")
        elif node is not None:
            return self.notes.partition(node, self.model.grid)
        elif not is_whole:
            self.notes.say(item.where, "missing-key", "a success in history needs partition")
        return ""


def _unread(where: Location) -> GivenTable:
    """Stand for a table that has a finding: it is given, and nothing is ever run."""
    return GivenTable(where, query="-")


def listed_table(
    found: Mapping[str, Cell], item: Cell, notes: FileNotes, what: str
) -> GivenTable | None:
    """Read a table of dbt's shape, where `rows` is in the `format`: dict, csv or sql."""
    form = notes.text(found.get("format"), "format") or "dict"
    if form not in ("dict", "csv", "sql"):
        notes.bad(found["format"], "format", "dict, csv or sql")
        return None
    reader = TableReader(notes, notes.types(found.get("columns")))
    fixture, rows = found.get("fixture"), found.get("rows")
    if fixture is not None:
        name = notes.text(fixture, "fixture")
        path = name if "." in name else f"fixtures/{name}.{'sql' if form == 'sql' else 'csv'}"
        return reader.file(path, fixture.where)
    if form == "csv" and rows is not None:
        return reader.csv(notes.text(rows, "rows"), rows.where)
    if form == "sql" and rows is not None:
        found = {**{key: inner for key, inner in found.items() if key != "rows"}, "sql": rows}
    return form_of(found, item.where, notes, what)
