"""What follows from the results of checks: which partitions failed, and how that is said."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.partition import Grid, shown_ranges
from penstock.core.ranges import Ranges, merged
from penstock.core.step import LONGEST, Intent, StepFailure
from penstock.core.words import some

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
