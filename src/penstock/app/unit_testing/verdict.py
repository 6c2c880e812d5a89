"""Compare the results of a run with the expectations of its test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.app.reports import ModelResult
from penstock.app.services.services import Services
from penstock.app.unit_testing.differences import Comparison, Difference
from penstock.app.unit_testing.tables import columns_of, errors_at, read_rows, typed_table
from penstock.app.unit_testing.world import is_meant
from penstock.core.check_results import CheckResult
from penstock.core.checks.check import Check
from penstock.core.checks.check_type import CheckStatus
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.columns.types import ColumnType
from penstock.core.errors import ModelFailedError, PenstockError, UsageError
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import StepKind
from penstock.core.steps.token import read_intent
from penstock.core.steps.window import Watermark
from penstock.project.files.values import shown_type
from penstock.project.unit_tests import definition
from penstock.project.unit_tests.casting import Column
from penstock.strategies.relations import bind_query

_COUNTED = (StepKind.BUILD, StepKind.ROLLBACK)
COUNTS = ("inserted", "updated", "deleted", "written", "late")
"""The counts of every strategy; `late` is missing if the input's log cannot provide it."""
_VIEW = "penstock_test_view"


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """A finished run; `before` is the version before it, `refused` what prevented it."""

    services: Services
    model: Model
    before: int | None
    results: tuple[ModelResult, ...] = ()
    refused: PenstockError | None = None

    @property
    def uri(self) -> str:
        """The folder of the target."""
        return self.services.project.uri_of(self.model.table)

    @property
    def after(self) -> int | None:
        """The target's version now, None without a table."""
        if self.model.is_view:
            return None
        head = self.services.log.head(self.uri)
        return head.version if head else None

    @property
    def is_taken_back(self) -> bool:
        """Whether the target has its earlier rows again: each build was followed by a RESTORE."""
        if self.before is None or self.after is None:
            return False
        commits = self.services.log.commits(self.uri, self.before)
        kinds = [_kind(commit.token) for commit in commits]
        return bool(kinds) and kinds == [*_COUNTED] * (len(kinds) // 2)

    @property
    def error(self) -> PenstockError | None:
        """The first error of the step, None if it succeeded."""
        errors = (result.error for result in self.results if result.error is not None)
        return self.refused or next(errors, None)

    @property
    def status(self) -> str:
        """The worst status of its steps: failed, skipped, success or unchanged."""
        if self.refused is not None:
            return "failed"
        found = {result.status for result in self.results}
        return next((s for s in ("failed", "skipped", "success") if s in found), "unchanged")

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """The check results of all steps."""
        reports = (result.invariant_report for result in self.results)
        return tuple(check for report in reports if report is not None for check in report.all)

    @property
    def metrics(self) -> Mapping[str, int]:
        """The sum of the counts of all steps: rows, and further counts of the strategy."""
        found: dict[str, int] = {}
        for result in self.results:
            rows = result.rows
            counts = {name: getattr(rows, name) for name in COUNTS} | dict(result.metrics)
            for name, count in counts.items():
                if count is not None:
                    found[name] = found.get(name, 0) + count
        return found

    @property
    def commits(self) -> int:
        """How many commits on the target wrote or restored rows."""
        if self.after is None:
            return 0
        base = -1 if self.before is None else self.before
        commits = self.services.log.commits(self.uri, base)
        counted = (*_COUNTED, None)
        return sum(1 for commit in commits if commit.step and _kind(commit.token) in counted)

    @property
    def watermarks(self) -> tuple[Watermark, ...]:
        """The current recorded watermarks."""
        record = self.services.reading.records.models().get(self.model.name)
        return record.watermarks if record else ()


def is_called(written: str, check: Check | CheckResult) -> bool:
    """Return whether a test names a check: by its name, or `before.NAME` and `after.NAME`."""
    return written in (check.name, f"{check.phase}.{check.name}")


def _kind(token: str) -> StepKind | None:
    try:
        return read_intent(token).kind
    except (KeyError, ValueError):  # a token that was cut
        return None


def source_of(session: StepSession, outcome: TestOutcome) -> tuple[Schema, str] | None:
    """Return the columns of the rows and SQL that reads them; None if there is no table."""
    project = outcome.services.project
    model = project.models[outcome.model.name]
    if not model.is_view:
        facts = outcome.services.log.facts(outcome.uri)
        if facts is None:
            return None
        this, read = InputName(InputKind.THIS, ""), DeltaRead(outcome.uri, facts.version)
        session.bind([Relation(this, _VIEW, read)])
        return facts.schema, quoted(_VIEW)
    inputs = {name: project.sources[name.name].path for name in model.query.inputs}
    heads = {name: outcome.services.log.head(uri) for name, uri in inputs.items()}
    reads = {
        name: DeltaRead(uri, h.version if (h := heads[name]) else None)
        for name, uri in inputs.items()
    }
    bind = bind_query(project, model.query, reads, outcome.services.clock.now())
    session.bind(bind.relations)
    return session.define(_VIEW, bind.sql), quoted(_VIEW)


def judge_error(expected: definition.ExpectedError, outcome: TestOutcome) -> Iterator[Difference]:
    """Return whether the step failed as expected, and did not change its table."""
    error = outcome.error
    if error is None:
        became = {"success": "the step succeeded", "unchanged": "the step changed nothing"}
        yield f"expected {expected.code}, {became.get(outcome.status, f'it was {outcome.status}')}"
        return
    if error.code != expected.code:
        yield f"expected {expected.code}, it failed with {_message(error)}"
    elif expected.contains not in f"{_message(error)}\n{error.hint}":
        yield f"expected {expected.contains!r} in the error: {_message(error)}"
    if outcome.after != outcome.before and not outcome.is_taken_back:
        yield f"the target changed: {_version(outcome.before)} -> {_version(outcome.after)}"


@dataclass(frozen=True, slots=True)
class ExpectationCheck:
    """One expectation, and the key by which its rows are paired for display."""

    session: StepSession
    expected: definition.Expectation
    outcome: TestOutcome
    key: tuple[str, ...] = ()

    def differences(self) -> Iterator[Difference]:
        """Yield all differences from the expectation: rows first."""
        expected, outcome = self.expected, self.outcome
        found, asked = outcome.status, expected.status
        wrong = f": {_message(outcome.error)}" if outcome.error is not None else ""
        is_wrong = asked != found if asked else found not in ("success", "unchanged")
        if not is_wrong or outcome.after is not None or outcome.model.is_view:
            shape = expected.columns or expected.columns_exact
            if expected.rows is not None or expected.row_count is not None or shape:
                yield from self._of_target()
            if expected.quarantine is not None:
                yield from self._quarantine(expected.quarantine)
        if is_wrong:
            yield f"status: {asked or 'success'} expected, {found} found{wrong}"
        if expected.unchanged and outcome.after != outcome.before:
            yield f"unchanged: {_version(outcome.before)} -> {_version(outcome.after)}"
        if expected.commits is not None and expected.commits != outcome.commits:
            yield f"commits: {expected.commits} expected, {outcome.commits} found"
        counted = outcome.metrics
        counts = [
            f"{name} {wanted} expected, "
            + (f"{counted[name]} found" if name in counted else "the step has no such count")
            for name, wanted in expected.metrics.items()
            if counted.get(name) != wanted
        ]
        if counts:
            yield f"metrics: {'; '.join(counts)}"
        recorded = {watermark.key: watermark.value for watermark in outcome.watermarks}
        for watermark in expected.watermark:
            said = _watermark(watermark, recorded)
            if said:
                yield f"watermark: {said}"
        yield from self._checks()

    def _of_target(self) -> Iterator[Difference]:
        found = source_of(self.session, self.outcome)
        if found is None:
            rows, wanted = self.expected.rows, self.expected.row_count
            if rows is not None and (rows.rows or rows.query):
                yield "rows: the table does not exist"
            elif wanted:
                yield f"row_count: {wanted} expected, the table does not exist"
            elif self.expected.columns:
                yield "columns: the table does not exist"
            return
        schema, source = found
        yield from _types("columns", self.expected.columns, schema)
        if self.expected.columns_exact:
            yield from self._others(schema)
        if self.expected.rows is not None:
            yield from self._rows("rows", self.expected.rows, schema, source)
        if self.expected.row_count is not None:
            count = self.session.row(f"SELECT count(*) AS n FROM {source}")["n"]
            if count != self.expected.row_count:
                yield f"row_count: {self.expected.row_count} expected, {count} found"

    def _others(self, schema: Schema) -> Iterator[str]:
        """Return the columns in neither rows nor `columns`, if all columns must be named."""
        try:
            named = {name.lower() for name in self._named_columns()}
        except UsageError:
            return  # the rows of that query say why
        if self.outcome.model.history is not None:
            named |= {name.lower() for name in self.outcome.model.history.columns.names}
        extra = [name for name in schema.names if name.lower() not in named]
        if extra:
            yield f"columns: {', '.join(extra)} not expected"

    def _named_columns(self) -> tuple[str, ...]:
        rows = self.expected.rows
        if rows is None or not rows.query:
            return (*(rows.names if rows else ()), *self.expected.columns)
        with errors_at(rows):
            return (*self.session.describe(rows.query).names, *self.expected.columns)

    def _rows(
        self, what: str, table: definition.GivenTable, schema: Schema, source: str
    ) -> Iterator[Difference]:
        """Compare the columns of rows; for columns only in `columns`, compare just the type."""
        actual = {name.lower(): (name, kind) for name, kind in columns_of(schema)}
        said = {name.lower() for name in table.columns}
        if not table.query:
            named = {n: kind for n, kind in table.columns.items() if n.lower() in table.valued}
            table = replace(table, columns=named)
        gone = [name for name in table.names if name.lower() not in actual]
        if not gone:
            try:
                made = typed_table(self.session, table, dict(actual.values()), add=False)
                with errors_at(table):
                    wanted = read_rows(self.session, made.columns, f"({made.sql})")
            except UsageError as error:
                yield f"{what}: {error.where}: {_message(error)}"
                return
            gone = [name for name in made.names if name.lower() not in actual]
        if gone:
            unsaid = [name for name in gone if name.lower() not in said]
            if unsaid:
                yield f"{what}: test-column-missing: {', '.join(unsaid)}"
            return
        columns: list[Column] = [actual[name.lower()] for name in made.names]
        if any(kind != made.type_of(name) for name, kind in columns):
            return  # it was said that the types differ
        found = read_rows(self.session, columns, source)
        comparison = Comparison(columns, self._key(), self.expected.tolerance)
        differ = comparison.differ(what, wanted, found)
        if differ is not None:
            yield differ

    def _key(self) -> tuple[str, ...]:
        """Return the columns that identify rows, if any."""
        keys, history = self.outcome.model.strategy.keys, self.outcome.model.history
        if self.key or history is None:
            return self.key or keys
        start = history.columns.valid_from
        return (*keys, start) if start.lower() in map(str.lower, self._named_columns()) else keys

    def _quarantine(self, table: definition.GivenTable) -> Iterator[Difference]:
        outcome = self.outcome
        kept = outcome.services.reading.checks.quarantines()
        steps = {result.step for result in outcome.results}
        mine = [each for each in kept if each.step in steps]
        if not mine:
            if table.rows or table.query:
                yield "quarantine: nothing was kept"
            return
        facts = outcome.services.log.facts(mine[0].uri)
        if facts is None:
            yield f"quarantine: {mine[0].table} is gone"
            return
        tables = " UNION ALL BY NAME ".join(f"SELECT * FROM delta.`{each.uri}`" for each in mine)
        yield from _types("quarantine: columns", table.columns, facts.schema)
        yield from self._rows("quarantine", table, facts.schema, f"({tables})")

    def _checks(self) -> Iterator[str]:
        """Compare the named checks; if there are any, or success is expected, no other may fail."""
        order = (CheckStatus.FAILED, CheckStatus.PASSED, CheckStatus.SKIPPED)
        named = self.expected.checks
        for name, wanted in named.items():
            found = [check for check in self.outcome.checks if is_called(name, check)]
            status = min((check.status for check in found), key=order.index, default=None)
            if status is None:
                yield f"checks: {name} {wanted} expected, it was not evaluated"
            elif str(status) != wanted:
                said = "; ".join(check.message for check in found)
                yield f"checks: {name} {wanted} expected, {status} found: {said}"
        if named or self.expected.status in ("", "success"):
            for check in self.outcome.checks:
                if check.failed_gate and not any(is_called(name, check) for name in named):
                    yield f"checks: {check.name} failed: {check.message}"


def _types(what: str, wanted: Mapping[str, ColumnType], schema: Schema) -> Iterator[str]:
    columns = {name.lower(): kind for name, kind in columns_of(schema)}
    for name, kind in wanted.items():
        found = columns.get(name.lower())
        if found is None:
            yield f"{what}: test-column-missing: {name}"
        elif found != kind:
            yield f"{what}: {name} is {shown_type(found)}, {shown_type(kind)} expected"


def _watermark(watermark: definition.GivenWatermark, values: dict[str, TypedValue]) -> str:
    keys = [key for key in values if is_meant(watermark, key)]
    if len(keys) != 1:
        there = ", ".join(f"{key} {values[key].text}" for key in values) or "none"
        return f"{watermark.column or watermark.text} expected, {there} found"
    value = values[keys[0]]
    try:
        same = TypedValue.parse(value.type, watermark.text) == value
    except UsageError as error:
        return f"bad-test-value: {watermark.where}: {error.sentence}"
    return "" if same else f"{watermark.text} expected, {value.text} found"


def _message(error: PenstockError) -> str:
    """Return code and message; for a function that raised, the line as well."""
    line = f"{error.where}: " if isinstance(error, ModelFailedError) and error.where else ""
    return f"{error.code}: {line}{error.sentence}"


def _version(version: int | None) -> str:
    return "no table" if version is None else f"version {version}"
