"""What is wrong with the values of a test before anything runs (spec/checks.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.model import Model
from penstock.core.types import ColumnType
from penstock.core.unit_tests import Cell, GivenTable, UnitTest
from penstock.project.trees.field_types import shown_type
from penstock.project.unit_tests.casting import CellError, typed
from penstock.project.unit_tests.declared import model_types
from penstock.project.unit_tests.inferred import inferred
from penstock.project.unit_tests.reading import Notes


def judge_values_of(model: Model, test: UnitTest, notes: Notes) -> None:
    """Find values that no column can hold, in everything that a test gives and expects."""
    known = model_types(model)
    for run in test.runs:
        for table in run.given.inputs.values():
            judge_input(table, notes)
        if run.given.target is not None:
            judge_values(run.given.target, known, notes)
        if run.expect is not None:
            for expected in (run.expect.rows, run.expect.quarantine):
                if expected is not None:
                    judge_values(expected, known, notes)


def judge_input(table: GivenTable, notes: Notes) -> None:
    """Find columns of an input without a type, and values that do not fit."""
    if table.query:
        return
    if not table.names and not table.known:
        hint = "give columns: {name: TYPE}"
        notes.say(table.where, "test-type-unknown", "a table without rows has no columns", hint)
    for name in table.names:
        cells = column_of(table, name)
        kind = table.type_of(name) or inferred(cells)
        if kind is None:
            first = next(iter(cells), None)
            sentence = f"column {name!r} holds only NULL, and nothing says its type"
            hint = f"give columns: {{{name}: TYPE}}"
            notes.say(first.where if first else table.where, "test-type-unknown", sentence, hint)
        else:
            _judge_cells(name, cells, kind, notes)


def judge_values(table: GivenTable, known: Mapping[str, ColumnType], notes: Notes) -> None:
    """Find values that do not fit the types that are known before anything runs."""
    folded = {name.lower(): kind for name, kind in known.items()}
    for name in table.names if not table.query else ():
        kind = table.type_of(name) or folded.get(name.lower())
        if kind is not None:
            _judge_cells(name, column_of(table, name), kind, notes)


def column_of(table: GivenTable, name: str) -> tuple[Cell, ...]:
    """Give the values of a column that are written, in any case of letters."""
    folded = name.lower()
    return tuple(cell for row in table.rows for key, cell in row.items() if key.lower() == folded)


def _judge_cells(name: str, cells: Iterable[Cell], kind: ColumnType, notes: Notes) -> None:
    for cell in cells:
        try:
            typed(cell, kind)
        except CellError as error:
            sentence = f"column {name!r} is {shown_type(kind)}: {error}"
            notes.say(cell.where, "bad-test-value", sentence)
