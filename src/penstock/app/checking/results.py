"""Inputs and results of checks: for all groups, as errors, as documents."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from penstock.core.check_results import (
    RESULT_COLUMNS,
    WHOLE_GROUP,
    Checked,
    CheckResult,
    Flag,
    InvariantReport,
    Quarantine,
    RowsBefore,
    Sample,
    ValuesBefore,
)
from penstock.core.checks.check import Check, CheckScope, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.columns.schema import Schema
from penstock.core.errors import CheckFailedError, PenstockError
from penstock.core.findings import Severity, some
from penstock.core.masking import mask
from penstock.core.names import InputName, quoted
from penstock.core.partitions.partition import Grid, shown_ranges
from penstock.core.partitions.ranges import Ranges, merged, numbers
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.statement import Row
from penstock.core.steps.step import LONGEST, Intent, StepFailure
from penstock.strategies.checks.literals import DETAILS, MESSAGE, shortened

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def invariants_document(report: InvariantReport) -> dict[str, Json]:
    """Return the results of both phases."""
    return {
        "before": [check_document(result) for result in report.before],
        "after": [check_document(result) for result in report.after],
    }


def check_document(result: CheckResult) -> dict[str, Json]:
    """Return the result of one check; cells of rows only if it may keep them."""
    sample = result.sample
    rows = [list(map(_masked, row)) for row in sample.rows] if sample else []
    said = _fields(result)
    del said["definition"]
    return {
        **said,
        "values": [_value(value) for value in result.values],
        "sample": {"columns": sample.columns, "rows": rows} if sample else None,
        "where": str(result.where) if result.where is not None else None,
    }


def _fields(result: CheckResult | GroupValue) -> dict[str, Json]:
    values = {each.name: getattr(result, each.name) for each in fields(result)}
    return values | {"message": mask(result.message), "details": _masked(result.details)}


def _value(value: GroupValue) -> Json:
    said = _fields(value)
    if said["severity"] is None:  # as grave as its check
        del said["severity"]
    return said | {"values": dict(value.values), "message": said["message"] or None}


def _masked(text: str | None) -> str | None:
    return None if text is None else mask(text)


@dataclass(frozen=True, slots=True)
class ModelChecked:
    """The check results of a model's ranges of keys on current rows, at a Delta `version`."""

    model: str
    partitions: tuple[tuple[str, str], ...]
    count: int
    version: int | None
    report: InvariantReport
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceChecked:
    """The age of a source's newest row; with a severity only if it is too old."""

    source: str
    result: CheckResult


@dataclass(frozen=True, slots=True)
class CheckReport(ShownInNotebooks):
    """All results of one `penstock check`."""

    _columns = f"model {RESULT_COLUMNS}"
    _lines = "notes"

    models: tuple[ModelChecked, ...] = ()
    sources: tuple[SourceChecked, ...] = ()
    strict: bool = False
    notes: tuple[str, ...] = ()

    def _table(self) -> Iterator[Sequence[object]]:
        for each in self.models:
            yield from ((each.model, *cells) for cells in each.report._table())  # noqa: SLF001  ours
        for source in self.sources:
            yield from ((source.source, *cells) for cells in source.result._table())  # noqa: SLF001

    @property
    def reports(self) -> Mapping[str, InvariantReport]:
        """The reports by model; several ranges of one model are combined."""
        found: dict[str, InvariantReport] = {}
        for each in self.models:
            known, more = found.get(each.model, InvariantReport()), each.report
            before, after = (*known.before, *more.before), (*known.after, *more.after)
            found[each.model] = InvariantReport(before, after)
        return found

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Every result, sources last."""
        of_models = [result for each in self.models for result in each.report.all]
        return (*of_models, *(each.result for each in self.sources))

    @property
    def evaluated_nothing(self) -> bool:
        """Whether no check was evaluated: no result is not a success."""
        return all(result.status is CheckStatus.SKIPPED for result in self.results)

    @property
    def ok(self) -> bool:
        """Whether something was evaluated and no gate failed; with `strict`, no check at all."""
        failed = [result for result in self.results if result.failed]
        bad = failed if self.strict else [r for r in failed if r.severity is Severity.ERROR]
        return not bad and not self.evaluated_nothing

    def document(self) -> dict[str, Json]:
        """Return the report as JSON values, as `penstock check --json` prints it."""
        found = Counter(result.status for result in self.results)
        return {
            "command": "check",
            "ok": self.ok,
            "strict": self.strict,
            "checks": {
                "total": len(self.results),
                **{str(status): found[status] for status in CheckStatus},
                "errors": sum(1 for result in self.results if result.failed_gate),
            },
            "models": [
                {
                    "model": each.model,
                    "partitions": each.partitions,
                    "count": each.count,
                    "version": each.version,
                    **invariants_document(each.report),
                    "lines": [mask(line) for line in each.lines],
                }
                for each in self.models
            ],
            "sources": [
                {"source": each.source, **check_document(each.result)} for each in self.sources
            ],
            "notes": [mask(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AcceptReport:
    """The flags that a user closed, or the quarantines that were dropped."""

    flags: tuple[Flag, ...] = ()
    quarantines: tuple[Quarantine, ...] = ()


ONE_GROUP: Ranges = ((0, 0),)


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that typed checks read: a SELECT over views of the session, and its columns.

    `key` is SQL that returns the key of a row's group (`2024-12-01`), "" if all rows are the one
    group `*`. `stands_in` is whether this is the whole table because the rows of the step are no
    longer known.
    """

    sql: str
    columns: Schema
    key: str = ""
    stands_in: bool = False

    @classmethod
    def of_view(cls, view: str, columns: Schema, key: str = "") -> CheckedRows:
        """Return every row of a view."""
        return cls(f"SELECT * FROM {quoted(view)}", columns, key)


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """Everything that the checks of one phase are evaluated on.

    - `step`: rows of scope `step`, None if nothing was written.
    - `table`: the whole table after the step, None if there is none; unused for `before`.
    - `current`: its rows that `unique` counts; for a history table the current versions.
    - `inputs`: the rows that typed `before` checks read, by input.
    - `views`: the views under which SQL reads tables; includes the target under its input name of
      kind THIS, unless it does not exist.
    - `partitions`: the groups, as numbers of `grid`.
    - `later`: models without a table that read this one, so they are built after it.
    - `values`: returns the parameters of a partition as typed literals by name, without `@`.
    - `observed`: aggregates measured while rows were written, by the names of `observables`.
    - `bases`: row counts of earlier successes.
    - `earlier`: earlier values of checks that compare with them, by name.
    - `adds`: whether the step adds rows to existing ones.
    - `keep`: writes the table of a check's failing rows from a query, or removes it for "", and
      returns its location; None writes no table.
    """

    run_timestamp: dt.datetime
    step: CheckedRows | None = None
    table: CheckedRows | None = None
    current: CheckedRows | None = None
    inputs: Mapping[InputName, CheckedRows] = field(default_factory=dict)
    views: Mapping[InputName, str] = field(default_factory=dict)
    later: frozenset[InputName] = frozenset()
    grid: Grid = Grid()
    partitions: Ranges = ONE_GROUP
    values: Callable[[int], Mapping[str, str]] = (
        lambda _: {}
    )  # without partitions there are no parameters
    observed: Row | None = None
    bases: RowsBefore = RowsBefore()
    earlier: Mapping[str, ValuesBefore] = field(default_factory=dict)
    adds: bool = False
    keep: Callable[[Check, str], str] | None = None


CHECK_ERROR = "check-error"

_NAMED, _SHOWN = 3, 5
_GRAVITY = (Severity.WARNING, Severity.ERROR)
_COLUMN = re.compile(r"name (`(?:[^`]|``)*`(?:\.`(?:[^`]|``)*`)*)")
_LONG = 200


def reason_of(error: PenstockError, check: Check, *, ran: bool = False) -> str:
    """Return Spark's message for a check that it cannot evaluate.

    The message for a job that `ran` may quote values of rows: for a check without sample, only the
    kind of the error is returned.
    """
    if ran and not check.sample:
        return error.code.removeprefix("spark-").replace("-", " ")
    if error.code == "spark-unresolved-column" and (named := _COLUMN.search(error.sentence)):
        return f'unknown column "{named[1].replace("`", "")}"'
    return shortened(error.sentence.rstrip("."), _LONG)


def is_of_the_job(error: PenstockError) -> bool:
    """Return whether an error has no Spark condition: a lost executor, not a wrong value."""
    return error.code == "spark-error"


def skip(check: Check, why: str) -> CheckResult:
    """Return the result of a check that is not evaluated."""
    return CheckResult(
        name=check.name,
        type=check.type,
        phase=check.phase,
        severity=check.severity,
        status=CheckStatus.SKIPPED,
        message=why,
        definition=check.definition,
        scope=check.scope,
        where=check.where,
    )


def result_of(
    check: Check,
    inputs: CheckInputs,
    values: Sequence[GroupValue],
    *,
    seconds: float = 0.0,
    sample: Sample | None = None,
) -> CheckResult:
    """Combine the groups of a check; a failed `*` stands for every partition."""
    result = _of_groups(skip(check, ""), values)
    if WHOLE_GROUP in result.partitions:
        keys = tuple(inputs.grid.key(each) for each in numbers(inputs.partitions))
        result = replace(result, partitions=keys)
    is_all = check.phase is Phase.AFTER and inputs.step is not None and inputs.step.stands_in
    scope = CheckScope.TABLE if is_all else check.scope
    return replace(result, sample=sample, duration=seconds, scope=scope)


def refused(check: Check, inputs: CheckInputs, why: str) -> CheckResult:
    """Return the result of a check that could not be evaluated: all partitions failed."""
    message = f"could not be evaluated: {why}"
    value = GroupValue(WHOLE_GROUP, CheckStatus.FAILED, {}, message)
    return replace(result_of(check, inputs, [value]), error=CHECK_ERROR)


def part_of(result: CheckResult, groups: Container[str]) -> CheckResult:
    """Return a check's result for some of its groups; a result for `*` applies to each group."""
    values = [v for v in result.values if v.group in groups or v.group == WHOLE_GROUP]
    if len(values) == len(result.values):
        return result
    less = _of_groups(result, values)
    is_sampled = less.partitions[:1] == result.partitions[:1] != ()
    return less if is_sampled else replace(less, sample=None)


def _of_groups(result: CheckResult, values: Sequence[GroupValue]) -> CheckResult:
    failed = [value for value in values if value.status is CheckStatus.FAILED]
    grave = [value.severity or result.severity for value in failed]
    severity = max(grave, key=_GRAVITY.index, default=result.severity)
    gravest = [v for v, each in zip(failed, grave, strict=True) if each is severity]
    statuses = {value.status for value in values}
    order = (CheckStatus.FAILED, CheckStatus.PASSED, CheckStatus.SKIPPED)
    said = [(value.group, value.details) for value in failed if value.details]
    details = "; ".join(each if len(values) == 1 else f"{group}: {each}" for group, each in said)
    counts = [value.failures for value in failed or values]
    known = [each for each in counts if each is not None]
    return replace(
        result,
        severity=severity,
        status=next((each for each in order if each in statuses), CheckStatus.SKIPPED),
        message=_message(values, failed),
        details=shortened(details, DETAILS) if said else None,
        partitions=tuple(value.group for value in gravest),
        values=tuple(values),
        failures=sum(known) if known and len(known) == len(counts) else None,
    )


def _message(values: Sequence[GroupValue], failed: Sequence[GroupValue]) -> str:
    if len(values) == 1:
        return values[0].message
    if failed:
        first = some([f"{value.group}: {value.message}" for value in failed], _NAMED, "; ")
        return shortened(f"{len(failed)} of {len(values)} partitions failed: {first}", MESSAGE)
    messages = {value.message for value in values}
    if len(messages) == 1:
        return messages.pop()
    passed = sum(value.status is CheckStatus.PASSED for value in values)
    left = len(values) - passed
    return f"{passed} partitions passed" + (f", {left} skipped" if left else "")


def decided(
    intent: Intent, mode: OnFailure, report: InvariantReport, version: int | None
) -> Checked:
    """Return the consequences of the results for the step and its partitions."""
    failed = failed_of(report.after, intent.grid, intent.ords)
    error = refusal(intent.model, Phase.AFTER, report.after, intent.grid, failed)
    if error is None:
        return Checked(mode, report, version)
    return Checked(mode, report, version, StepFailure.of(error), failed)


def failed_of(results: Sequence[CheckResult], grid: Grid, partitions: Ranges) -> Ranges:
    """Return the partitions that failed a gate."""
    gates = (result for result in results if result.failed_gate)
    return merged(each for gate in gates for each in gate.failed_ords(grid, partitions))


def refusal(
    model: str, phase: Phase, results: Sequence[CheckResult], grid: Grid, failed: Ranges
) -> CheckFailedError | None:
    """Return the error of failed gates; it names each of them."""
    gates = [result for result in results if result.failed_gate]
    if not gates:
        return None
    keys, flags = shown_ranges(grid, failed), ""
    if failed and grid != Grid():
        low, high = grid.key(failed[0][0]), grid.key(failed[-1][1])
        flags = f" --date {low}" if low == high else f" --from {low} --to {high}"
    first = some([f"{gate.name}: {gate.message}" for gate in gates], _SHOWN, "; ")
    return CheckFailedError(
        f"{phase}-check-failed",
        f"{model}{f' {keys}' if keys else ''}: {first}"[:LONGEST],
        where=gates[0].where,
        hint=f"penstock check --query {model}{flags} --{phase}",
    )
