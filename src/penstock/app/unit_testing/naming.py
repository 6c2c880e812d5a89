"""Names in a test that its model does not have: checks, counts, keys, columns of a history."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.unit_testing.outcome import COUNTS, is_called
from penstock.core.checks import Check
from penstock.core.history import Snapshot
from penstock.core.model import Model
from penstock.core.unit_tests import CellKind, Expectation, GivenTable, UnitTest
from penstock.project.nearest import did_you_mean, some_of
from penstock.project.unit_tests.reading import Notes
from penstock.strategies.history.counts import first_metrics

_WORDS = ("valid_from", "valid_to", "is_current", "is_deleted", "row_hash")


def judge_names(model: Model, test: UnitTest, notes: Notes) -> None:
    """Note every name under which a run could find nothing."""
    for run in test.runs:
        if run.expect is not None:
            _judge_checks(model, run.expect, notes)
            _judge_counts(model, run.expect, notes)
        if run.given.target is not None and isinstance(model.strategy, Snapshot):
            _judge_history(model.strategy, run.given.target, notes)
    _judge_key(test, notes)


def _judge_checks(model: Model, expected: Expectation, notes: Notes) -> None:
    checks = (*model.checks.all, *(each for v in model.versions for each in v.checks.all))
    for written in expected.checks:
        found = [check for check in checks if is_called(written, check)]
        if not found:
            known = sorted({check.name for check in checks})
            hint = did_you_mean(written, known) or f"there are: {some_of(known) or 'none'}"
            sentence = f"{model.name} has no check {written!r}"
            notes.say(expected.where, "bad-value", sentence, hint)
        elif len(_phases(found)) > 1:
            sentence = f"{model.name} has a check {written!r} before and after its step"
            hint = f"name before.{written} or after.{written}"
            notes.say(expected.where, "bad-value", sentence, hint)


def _phases(checks: list[Check]) -> set[str]:
    return {str(check.phase) for check in checks}


def _judge_counts(model: Model, expected: Expectation, notes: Notes) -> None:
    history = first_metrics(0) if isinstance(model.strategy, Snapshot) else {}
    known = dict.fromkeys((*COUNTS, *history))
    for name in expected.metrics:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            sentence = f"{model.name} has no count {name!r}"
            notes.say(expected.where, "bad-value", sentence, hint)


def _judge_history(strategy: Snapshot, target: GivenTable, notes: Notes) -> None:
    """Find versions without their beginning; only Spark knows those of a query."""
    start = strategy.columns.valid_from.lower()
    plain = dict(zip(_WORDS, strategy.columns.names, strict=True))
    known = {name.lower() for name in target.known}
    called = [f"{n} is {plain[n]} here" for n in plain if n in target.valued and n not in known]
    hint = "; ".join([f"give {strategy.columns.valid_from} in every row", *called])
    for row in target.rows:
        cells = {name.lower(): cell for name, cell in row.items()}
        if start not in cells or cells[start].kind is CellKind.NULL:
            where = next(iter(cells.values())).where if cells else target.where
            sentence = f"a version needs {strategy.columns.valid_from}"
            notes.say(where, "bad-test-value", sentence, hint)


def _judge_key(test: UnitTest, notes: Notes) -> None:
    """Find columns of `key` that no expected row names: they would pair nothing."""
    tables = list(_expected(test))
    named = {name for table in tables for name in table.valued}
    unknown = [name for name in test.key if name.lower() not in named]
    if unknown and not any(table.query for table in tables):
        sentence = f"key: no expected row names {', '.join(unknown)}"
        notes.say(test.where, "bad-value", sentence, f"they name: {some_of(named) or 'nothing'}")


def _expected(test: UnitTest) -> Iterator[GivenTable]:
    for run in test.runs:
        if run.expect is not None:
            yield from filter(None, (run.expect.rows, run.expect.quarantine))
