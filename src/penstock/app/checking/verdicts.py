"""What follows from the results of checks: which partitions failed, and how that is said."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import WHOLE_GROUP, Checked, CheckResult, InvariantReport
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.partition import Grid, write_ranges
from penstock.core.ranges import Ranges, merged
from penstock.core.step import Intent, StepFailure

_SHOWN = 5
LIMIT = 4000


def decided(
    intent: Intent, mode: OnFailure, report: InvariantReport, version: int | None
) -> Checked:
    """Give what the results after a step mean for it and its partitions."""
    failed = failed_of(report.after, intent.grid, intent.ords)
    error = refusal(intent.model, Phase.AFTER, report.after, intent.grid, failed)
    if error is None:
        return Checked(mode, report, version)
    return Checked(mode, report, version, failure_of(error), failed)


def failed_of(results: Sequence[CheckResult], grid: Grid, partitions: Ranges) -> Ranges:
    """Give the partitions that failed a gate; one that is of all of them fails all."""
    pieces: list[tuple[int, int]] = []
    for result in results:
        if not result.failed_gate:
            continue
        if WHOLE_GROUP in result.partitions or not result.partitions:
            return partitions
        numbers = [grid.parse(key) for key in result.partitions]
        pieces += [(number, number) for number in numbers]
    return merged(pieces)


def refusal(
    model: str, phase: Phase, results: Sequence[CheckResult], grid: Grid, failed: Ranges
) -> CheckFailedError | None:
    """Give the error of failed gates; every one of them is named."""
    gates = [result for result in results if result.failed_gate]
    if not gates:
        return None
    keys = shown(grid, failed)
    told = "; ".join(f"{gate.name}: {gate.message}" for gate in gates[:_SHOWN])
    more = f"; and {len(gates) - _SHOWN} more" if len(gates) > _SHOWN else ""
    return CheckFailedError(
        f"{phase}-check-failed",
        f"{model}{f' {keys}' if keys else ''}: {told}{more}"[:LIMIT],
        where=gates[0].where,
        hint=f"penstock check --query {model}{_flags(grid, failed)} --{phase}",
    )


def failure_of(error: CheckFailedError) -> StepFailure:
    """Give it as records keep it."""
    return StepFailure.of(error)


def shown(grid: Grid, ranges: Ranges) -> str:
    """Give partitions for people, "" for a whole table."""
    keys = [key.replace("..", " to ") for key in write_ranges(grid, ranges)]
    if keys == ["*"]:
        return ""
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(keys[:_SHOWN]) + more


def _flags(grid: Grid, failed: Ranges) -> str:
    if not failed or grid == Grid():
        return ""
    first, last = grid.key(failed[0][0]), grid.key(failed[-1][1])
    return f" --date {first}" if first == last else f" --from {first} --to {last}"
