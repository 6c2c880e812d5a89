"""Looking ahead of a step: what a failed gate takes out of it (spec/checks.md §5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, skipped
from penstock.app.checking.subject import Subject
from penstock.app.checking.telling import told_within
from penstock.app.checking.verdicts import failed_of, refusal
from penstock.app.inputs import Inputs
from penstock.app.shop import Shop
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import CheckFailedError
from penstock.core.partition import Grid, write_ranges
from penstock.core.ranges import Ranges, difference, numbers
from penstock.core.step import Intent, StepFailure

NOT_RUN = "step did not run"


@dataclass(frozen=True, slots=True)
class Ahead:
    """What checks said ahead of a step, and the inputs, pinned, of which they said it."""

    inputs: Inputs
    results: tuple[CheckResult, ...]

    def of(self, grid: Grid, partitions: Ranges) -> Ahead:
        """Give what they said of some partitions of the step."""
        return replace(self, results=of_partitions(self.results, grid, partitions))


class TakenOut(Exception):  # noqa: N818  no failure of the step: some of it may still run
    """Partitions that a gate ahead of a step took out of it; `left` may still be made.

    `report` is what the checks said of those that failed, `held` what they said of those left,
    which are made from the same inputs.
    """

    def __init__(  # two sides of a step
        self,
        error: CheckFailedError,
        failed: Ranges,
        left: Ranges,
        report: InvariantReport,
        held: Ahead,
    ) -> None:
        """Keep what failed and what the checks said."""
        super().__init__(error.sentence)
        self.error = error
        self.failed = failed
        self.left = left
        self.report = report
        self.held = held


def look_ahead(subject: Subject, intent: Intent) -> tuple[CheckResult, ...]:
    """Evaluate the checks ahead of a step; raise `TakenOut` where a gate failed.

    What is taken out is written as a step of its own, SKIPPED, in one transaction.
    """
    if subject.checks.skips:
        return skipped(subject.checks.before, SKIPPED)
    results = subject.look_before()
    failed = failed_of(results, intent.grid, subject.partitions)
    here = of_partitions(results, intent.grid, failed)
    error = refusal(intent.model, Phase.BEFORE, here, intent.grid, failed)
    if error is None:
        return results
    report = InvariantReport(here, skipped(subject.checks.after, NOT_RUN))
    take_out(subject.shop, subject.context.run, intent, failed, report, error)
    left = difference(subject.partitions, failed)
    held = Ahead(subject.inputs, results).of(intent.grid, left)
    raise TakenOut(error, failed, left, report, held)


def take_out(  # the sides of one step
    shop: Shop,
    run: str,
    intent: Intent,
    failed: Ranges,
    report: InvariantReport,
    error: CheckFailedError,
) -> None:
    """Write partitions that a gate took out of a step as a step of their own, SKIPPED."""
    keys = write_ranges(intent.grid, failed)
    out = replace(intent, step=shop.clock.new_id(), partitions=keys)
    failure = StepFailure.of(error)
    checked = Checked(OnFailure.FLAG, report, failure=failure, failed=failed)
    shop.writing.journal.reject(out, failure, shop.holder(run), checked)


def of_partitions(
    results: Sequence[CheckResult], grid: Grid, partitions: Ranges
) -> tuple[CheckResult, ...]:
    """Give what checks said of some partitions of a step."""
    keys = {grid.key(number) for number in numbers(partitions)}
    return tuple(told_within(result, keys) for result in results)
