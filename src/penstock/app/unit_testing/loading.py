"""Load unit tests and find all their errors before Spark starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.app.services.wire import Where, open_project
from penstock.app.unit_testing import world
from penstock.app.unit_testing.verdict import COUNTS, is_called
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ColumnType
from penstock.core.errors import PenstockError, UsageError
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.project.files.values import did_you_mean, shown_type, some_of
from penstock.project.unit_tests.casting import CellError, model_types, type_in, typed
from penstock.project.unit_tests.definition import Expectation, GivenTable, GivenWatermark, UnitTest
from penstock.project.unit_tests.load import LoadedTests, load_unit_tests
from penstock.project.unit_tests.tables import columns_of_model

_WORDS = ("valid_from", "valid_to", "is_current", "is_deleted", "row_hash")


@dataclass(slots=True)
class Variants:
    """The project under the variables of each test; each set of variables is loaded once.

    A `broken` project, which loads with no variables, is used for every test.
    """

    project: Project
    broken: bool = False
    _cache: dict[tuple[tuple[str, str], ...], Project] = field(default_factory=dict)

    def of(self, variables: Mapping[str, str]) -> Project:
        """Return the project with these variables added; raise `ProjectError`."""
        key = tuple(sorted(variables.items()))
        if not key or self.broken:
            return self.project
        if key not in self._cache:
            project = self.project
            known = {**project.vars, **variables}
            self._cache[key] = open_project(Where(Path(project.root), project.target.name, known))
        return self._cache[key]


def load_tests(variants: Variants) -> LoadedTests:
    """Read all tests and check each against the project with its variables.

    Codes in addition to those of `load_unit_tests`: `missing-input`, `unknown-column`.
    """
    loaded = load_unit_tests(variants.project, variants.of)
    notes = list[Finding]()
    for test in loaded.tests:
        project = variants.of(test.vars)
        model = project.models[test.model]
        expected = [run.expect for run in test.runs if run.expect is not None]
        tables = [each for e in expected for each in (e.rows, e.quarantine) if each is not None]
        _judge_inputs(project, test, notes)
        _judge_targets(model, test, tables, notes)
        for each in expected:
            _judge_names(model, each, notes)
        named = {name for table in tables for name in table.valued}
        unknown = [name for name in test.key if name.lower() not in named]
        if unknown and not any(table.query for table in tables):  # they would pair nothing
            sentence = f"key: no expected row names {', '.join(unknown)}"
            hint = f"they name: {some_of(named) or 'nothing'}"
            notes.append(Finding(test.where, "bad-value", sentence, hint))
        _judge_watermarks(model, test, notes)
    findings = sorted(dict.fromkeys((*loaded.findings, *notes)))
    return LoadedTests(loaded.tests, tuple(findings))


def _judge_inputs(project: Project, test: UnitTest, notes: list[Finding]) -> None:
    """Find inputs without rows, from this run or an earlier one; a seed has its own rows."""
    model = project.models[test.model]
    given: set[InputName] = set()
    lacking: dict[InputName, None] = {}
    for run in test.runs:
        for table in run.given.slices.values():
            _judge_input(table, notes)
        for name, table in run.given.inputs.items():
            _judge_input(table, notes)
            _judge_columns(project, name, table, notes)
        given |= run.given.inputs.keys()
        wanted = world.wanted_inputs(model, test, run)
        lacking |= dict.fromkeys(
            name for name in wanted if name not in given and not world.is_seed(project, name)
        )
    missing = ", ".join(str(project.table_of(name, model)) for name in lacking)
    if model.strategy.reads_slices and not any(run.given.slices for run in test.runs):
        sentence = f"{test.name!r} gives no slice, and {model.name} reads nothing else"
        hint = "add one under given.slices: its name, and rows"
        notes.append(Finding(test.where, "missing-input", sentence, hint))
    if missing:
        sentence = f"{test.name!r} does not give {missing}, which {model.name} reads"
        hint = f"add them under given.inputs: {missing}"
        notes.append(Finding(test.where, "missing-input", sentence, hint))


def _judge_input(table: GivenTable, notes: list[Finding]) -> None:
    if not table.query and not table.names and not table.file_types:
        hint = "give columns: {name: TYPE}"
        notes.append(
            Finding(table.where, "test-type-unknown", "a table without rows has no columns", hint)
        )
    for name in table.names if not table.query else ():
        kind = type_in(table, name)
        if kind is not None:
            _judge_column(table, name, kind, notes)
            continue
        cells = table.column(name)
        sentence = f"column {name!r} holds only NULL, and nothing says its type"
        hint = f"give columns: {{{name}: TYPE}}"
        where = cells[0].where if cells else table.where
        notes.append(Finding(where, "test-type-unknown", sentence, hint))


def _judge_columns(
    project: Project, name: InputName, table: GivenTable, notes: list[Finding]
) -> None:
    """Find columns that the model of an input certainly lacks: no tested SQL reads them."""
    model = project.models.get(name.name) if name.kind is InputKind.MODEL else None
    known = columns_of_model(project, model) if model else None
    if model is None or known is None or model.query.waits:  # rows make columns
        return
    folded = {each.lower() for each in known}
    for column in table.names:
        if column.lower() not in folded:
            row = next((each for each in table.rows if column in each), {})
            where = row[column].where if column in row else table.where
            hint = did_you_mean(column, known) or f"there are: {some_of(known)}"
            notes.append(
                Finding(where, "unknown-column", f"{model.name} has no column {column!r}", hint)
            )


def _judge_targets(
    model: Model, test: UnitTest, expected: Iterable[GivenTable], notes: list[Finding]
) -> None:
    """Find values that do not fit the types of the model, as far as they are known."""
    known = {name.lower(): kind for name, kind in model_types(model).items()}
    targets = [run.given.target for run in test.runs if run.given.target is not None]
    for table in (*targets, *expected):
        for name in table.names if not table.query else ():
            kind = table.type_of(name) or known.get(name.lower())
            if kind is not None:
                _judge_column(table, name, kind, notes)
    if model.history is None:
        return
    columns = model.history.columns
    plain = {word: getattr(columns, word) for word in _WORDS if getattr(columns, word)}
    for target in targets:  # versions without their beginning; only Spark knows those of a query
        named = target.valued - {name.lower() for name in target.file_types}
        called = [f"{name} is {plain[name]} here" for name in plain if name in named]
        hint = "; ".join([f"give {columns.valid_from} in every row", *called])
        for row in target.rows:
            cells = {name.lower(): cell for name, cell in row.items()}
            start = cells.get(columns.valid_from.lower())
            if start is None or start.is_absent:
                where = next(iter(cells.values())).where if cells else target.where
                sentence = f"a version needs {columns.valid_from}"
                notes.append(Finding(where, "bad-test-value", sentence, hint))


def _judge_column(table: GivenTable, name: str, kind: ColumnType, notes: list[Finding]) -> None:
    for cell in table.column(name):
        try:
            typed(cell, kind)
        except CellError as error:
            sentence = f"column {name!r} is {shown_type(kind)}: {error}"
            notes.append(Finding(cell.where, "bad-test-value", sentence))


def _judge_names(model: Model, expected: Expectation, notes: list[Finding]) -> None:
    checks = (*model.checks.all, *(each for v in model.versions for each in v.checks.all))
    for written in expected.checks:
        found = [check for check in checks if is_called(written, check)]
        if not found:
            names = sorted({check.name for check in checks})
            hint = did_you_mean(written, names) or f"there are: {some_of(names) or 'none'}"
            sentence = f"{model.name} has no check {written!r}"
            notes.append(Finding(expected.where, "bad-value", sentence, hint))
        elif len({check.phase for check in found}) > 1:
            sentence = f"{model.name} has a check {written!r} before and after its step"
            hint = f"name before.{written} or after.{written}"
            notes.append(Finding(expected.where, "bad-value", sentence, hint))

    known = dict.fromkeys((*COUNTS, *model.strategy.counts({})))
    for name in expected.metrics:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            sentence = f"{model.name} has no count {name!r}"
            notes.append(Finding(expected.where, "bad-value", sentence, hint))


def _judge_watermarks(model: Model, test: UnitTest, notes: list[Finding]) -> None:
    """Find watermarks that the model does not have, and values of the wrong type."""
    tables: dict[InputName, GivenTable] = {}
    for run in test.runs:
        tables |= run.given.inputs
        counted = world.model_on(model, run.as_of)
        for watermark in (*run.given.watermarks, *(run.expect.watermark if run.expect else ())):
            try:
                _judge_watermark(counted, tables, watermark)
            except UsageError as error:
                notes.append(Finding(watermark.where, error.code, error.sentence, error.hint))


def _judge_watermark(
    model: Model, tables: Mapping[InputName, GivenTable], watermark: GivenWatermark
) -> None:
    """Raise `UsageError`; if only Spark knows the columns, the step raises it."""
    entries = model.entity.watermark if model.entity else ()
    kept = dict.fromkeys(each.column for each in entries)
    if any(world.is_meant(watermark, column) for column in kept):
        return
    if kept:
        sentence = f"watermark {watermark.column!r}: the model has {', '.join(kept)}"
        raise UsageError("unknown-column", sentence, where=watermark.where, hint="name one of them")
    if model.strategy.window is None:
        raise world.no_watermark(model, watermark)
    schemas = {}
    for name in model.query.inputs:
        table = tables.get(name)
        if table is None:
            continue
        if table.query:
            return
        names = {each.lower(): each for each in (*table.file_types, *table.names)}
        kinds = {each: type_in(table, each) for each in names.values()}
        columns = (Column(each, str(kind)) for each, kind in kinds.items() if kind)
        schemas[name.name] = Schema(tuple(columns))
    try:
        known = world.carriers(model, schemas)
    except PenstockError:
        return
    world.watermark_of(watermark, known or {})
