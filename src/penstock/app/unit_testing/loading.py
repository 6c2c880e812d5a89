"""Unit tests with everything that is wrong with them, before Spark starts (spec/checks.md §9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.app.unit_testing.marks import carriers, mark_of, no_watermark
from penstock.app.unit_testing.naming import judge_names
from penstock.app.unit_testing.versions import is_seed, wanted_inputs
from penstock.app.wire import Where, open_project
from penstock.core.errors import PenstockError, UsageError
from penstock.core.model import Model, window_settings
from penstock.core.names import InputName
from penstock.core.project import Project
from penstock.core.schema import Column, Schema
from penstock.core.unit_tests import GivenTable, Mark, UnitTest
from penstock.plan.resolve import dated
from penstock.project.unit_tests.inferred import inferred
from penstock.project.unit_tests.judging import column_of
from penstock.project.unit_tests.load import LoadedTests, load_unit_tests
from penstock.project.unit_tests.naming import shown
from penstock.project.unit_tests.reading import Notes

_Vars = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Variants:
    """A project as the variables of tests make it; each set of them is loaded once."""

    project: Project
    _found: dict[_Vars, Project] = field(default_factory=dict)

    def of(self, variables: Mapping[str, str]) -> Project:
        """Give the project with these variables beside its own; raises `ProjectError`."""
        key = tuple(sorted(variables.items()))
        if not key:
            return self.project
        if key not in self._found:
            project = self.project
            known = {**project.vars, **variables}
            self._found[key] = open_project(Where(Path(project.root), project.target.name, known))
        return self._found[key]


def load_tests(variants: Variants) -> LoadedTests:
    """Read all tests and judge each against the project with its own variables.

    Codes beside those of `load_unit_tests`: `missing-input`, `unknown-column`.
    """
    loaded = load_unit_tests(variants.project, variants.of)
    notes = Notes(Path(variants.project.root))
    for test in loaded.tests:
        project = variants.of(test.vars)
        model = project.models[test.model]
        _judge_inputs(project, test, notes)
        judge_names(model, test, notes)
        _judge_marks(model, test, notes)
    findings = sorted(dict.fromkeys((*loaded.findings, *notes.findings)))
    return LoadedTests(loaded.tests, tuple(findings))


def _judge_inputs(project: Project, test: UnitTest, notes: Notes) -> None:
    """Find what a run reads and neither it nor a run before it gives; a seed has its own rows."""
    model = project.models[test.model]
    given: set[InputName] = set()
    lacking: dict[InputName, None] = {}
    for run in test.runs:
        given |= run.given.inputs.keys()
        wanted = wanted_inputs(model, test, run)
        lacking |= dict.fromkeys(
            name for name in wanted if name not in given and not is_seed(project, name)
        )
    missing = ", ".join(shown(project, model, name) for name in lacking)
    if missing:
        sentence = f"{test.name!r} does not give {missing}, which {model.name} reads"
        hint = f"add them under given.inputs: {missing}"
        notes.say(test.where, "missing-input", sentence, hint)


def _judge_marks(model: Model, test: UnitTest, notes: Notes) -> None:
    """Find watermarks that the model does not have, and values that are none of their types."""
    given: dict[InputName, GivenTable] = {}
    for run in test.runs:
        given |= run.given.inputs
        marks = (*run.given.watermarks, *(run.expect.watermarks if run.expect else ()))
        counted = dated({model.name: model}, run.as_of.date())[model.name]
        for mark in marks:
            try:
                _judge_mark(counted, given, mark)
            except UsageError as error:
                notes.say(mark.where, error.code, error.sentence, error.hint)


def _judge_mark(model: Model, given: Mapping[InputName, GivenTable], mark: Mark) -> None:
    """Raise `UsageError`; where columns are known to Spark alone its step does."""
    if window_settings(model.strategy) is None:
        raise no_watermark(model, mark)
    read = {n.name: given[n] for n in model.query.inputs if n in given}
    if any(table.query for table in read.values()):
        return
    try:
        known = carriers(model, {name: _schema(table) for name, table in read.items()})
    except PenstockError:
        return
    mark_of(mark, known or {})


def _schema(table: GivenTable) -> Schema:
    names = {name.lower(): name for name in (*table.known, *table.names)}
    kinds = {n: table.type_of(n) or inferred(column_of(table, n)) for n in names.values()}
    return Schema(tuple(Column(name, str(kind)) for name, kind in kinds.items() if kind))
