"""One result of what was found of all groups of a check (spec/checks.md §7.1)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from penstock.app.checking.chosen import skipped
from penstock.app.checking.inputs import CHECK_ERROR, CheckInputs, Refusal
from penstock.core.check_results import (
    WHOLE_GROUP,
    Checked,
    CheckResult,
    CheckStatus,
    GroupValue,
    InvariantReport,
    Sample,
)
from penstock.core.checks import Check, OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.findings import some
from penstock.core.partition import Grid, shown_ranges
from penstock.core.ranges import Ranges, merged, numbers
from penstock.core.step import LONGEST, Intent, StepFailure
from penstock.strategies.checks.written import DETAILS, MESSAGE, shortened

_NAMED = 3


def told(
    check: Check,
    check_inputs: CheckInputs,
    values: Sequence[GroupValue],
    *,
    seconds: float = 0.0,
    sample: Sample | None = None,
) -> CheckResult:
    """Put the groups of a check together: it fails if one of them does."""
    failed = [value for value in values if value.status is CheckStatus.FAILED]
    return replace(
        _unsaid(check),
        status=_status(values),
        message=_message(values, failed),
        details=_details(failed, len(values)),
        partitions=_keys(failed, check_inputs),
        values=tuple(values),
        failures=_failures(failed or values),
        sample=sample,
        duration=seconds,
    )


def told_refused(check: Check, check_inputs: CheckInputs, refusal: Refusal) -> CheckResult:
    """Say that a check could not be evaluated: it failed for every partition of the step."""
    value = GroupValue(WHOLE_GROUP, CheckStatus.FAILED, {}, refusal.message)
    return replace(
        _unsaid(check),
        status=CheckStatus.FAILED,
        message=refusal.message,
        partitions=_keys([value], check_inputs),
        values=(value,),
        error=CHECK_ERROR,
    )


def told_within(result: CheckResult, groups: Container[str]) -> CheckResult:
    """Give what a check said of some of its groups; what it says of `*` it says of each."""
    values = [v for v in result.values if v.group in groups or v.group == WHOLE_GROUP]
    if len(values) == len(result.values):
        return result
    failed = [value for value in values if value.status is CheckStatus.FAILED]
    is_sampled = bool(failed) and failed[0].group in result.partitions[:1]
    return replace(
        result,
        status=_status(values),
        message=_message(values, failed),
        details=_details(failed, len(values)),
        partitions=tuple(value.group for value in failed),
        values=tuple(values),
        failures=_failures(failed or values),
        sample=result.sample if is_sampled else None,
    )


def _unsaid(check: Check) -> CheckResult:
    return skipped([check], "")[0]


def _status(values: Sequence[GroupValue]) -> CheckStatus:
    found = {value.status for value in values}
    for status in (CheckStatus.FAILED, CheckStatus.PASSED):
        if status in found:
            return status
    return CheckStatus.SKIPPED


def _message(values: Sequence[GroupValue], failed: Sequence[GroupValue]) -> str:
    if len(values) == 1:
        return values[0].message
    if not failed:
        messages = {value.message for value in values}
        return messages.pop() if len(messages) == 1 else _counts(values)
    told = some([f"{value.group}: {value.message}" for value in failed], _NAMED, "; ")
    return shortened(f"{len(failed)} of {len(values)} partitions failed: {told}", MESSAGE)


def _counts(values: Sequence[GroupValue]) -> str:
    passed = sum(value.status is CheckStatus.PASSED for value in values)
    left = len(values) - passed
    return f"{passed} partitions passed" + (f", {left} skipped" if left else "")


def _details(failed: Sequence[GroupValue], groups: int) -> str | None:
    found = [(value.group, value.details) for value in failed if value.details]
    if not found:
        return None
    if groups == 1:
        return shortened(str(found[0][1]), DETAILS)
    return shortened("; ".join(f"{group}: {details}" for group, details in found), DETAILS)


def _keys(failed: Sequence[GroupValue], check_inputs: CheckInputs) -> tuple[str, ...]:
    """Give the groups that failed; `*` stands for every partition of the step."""
    if any(value.group == WHOLE_GROUP for value in failed):
        return tuple(check_inputs.grid.key(each) for each in numbers(check_inputs.partitions))
    return tuple(value.group for value in failed)


def _failures(values: Sequence[GroupValue]) -> int | None:
    counts = [value.failures for value in values]
    known = [each for each in counts if each is not None]
    return sum(known) if known and len(known) == len(counts) else None


_SHOWN = 5


def decided(
    intent: Intent, mode: OnFailure, report: InvariantReport, version: int | None
) -> Checked:
    """Give what the results after a step mean for it and its partitions."""
    failed = failed_of(report.after, intent.grid, intent.ords)
    error = refusal(intent.model, Phase.AFTER, report.after, intent.grid, failed)
    if error is None:
        return Checked(mode, report, version)
    return Checked(mode, report, version, StepFailure.of(error), failed)


def failed_of(results: Sequence[CheckResult], grid: Grid, partitions: Ranges) -> Ranges:
    """Give the partitions that failed a gate."""
    gates = (result for result in results if result.failed_gate)
    return merged(each for gate in gates for each in gate.failed_ords(grid, partitions))


def refusal(
    model: str, phase: Phase, results: Sequence[CheckResult], grid: Grid, failed: Ranges
) -> CheckFailedError | None:
    """Give the error of failed gates; every one of them is named."""
    gates = [result for result in results if result.failed_gate]
    if not gates:
        return None
    keys = shown_ranges(grid, failed)
    told = some([f"{gate.name}: {gate.message}" for gate in gates], _SHOWN, "; ")
    return CheckFailedError(
        f"{phase}-check-failed",
        f"{model}{f' {keys}' if keys else ''}: {told}"[:LONGEST],
        where=gates[0].where,
        hint=f"penstock check --query {model}{_flags(grid, failed)} --{phase}",
    )


def _flags(grid: Grid, failed: Ranges) -> str:
    if not failed or grid == Grid():
        return ""
    first, last = grid.key(failed[0][0]), grid.key(failed[-1][1])
    return f" --date {first}" if first == last else f" --from {first} --to {last}"
