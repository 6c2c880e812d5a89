"""How the last line of a run names what failed, and which gates did it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.reports import ModelResult
from penstock.core.check_results import WHOLE_GROUP, CheckResult
from penstock.core.errors import CheckFailedError
from penstock.core.findings import some
from penstock.core.masking import mask
from penstock.ui.text_partitions import WHOLE, ranges_text

_NAMED = 3


def by_check(result: ModelResult) -> bool:
    """Whether a gate failed, and not the step itself."""
    return isinstance(result.error, CheckFailedError)


def failures(results: Sequence[ModelResult]) -> list[str]:
    """Count what failed; where a gate did it also say what, why, and what became of the rows."""
    failed = [result for result in results if result.status == "failed" or by_check(result)]
    if not failed:
        return []
    head = f"{len(failed)} failed"
    if not any(map(by_check, failed)):
        return [head]
    return [f"{head}: {some([_named(result) for result in failed], _NAMED)}"]


def _named(result: ModelResult) -> str:
    code = result.error.code if result.error is not None else result.status
    report = result.invariant_report
    gates = [each for each in report.all if each.failed_gate] if report is not None else []
    if not by_check(result):
        return f"{result.name} ({code})"
    names = ", ".join(dict.fromkeys(gate.name for gate in gates))
    why = f"{code}: {names}" if names else code
    what = f"{why}; {mask(result.consequence)}" if result.consequence else why
    return f"{' '.join([result.name, *_groups(result, gates)])} ({what})"


def _groups(result: ModelResult, gates: Sequence[CheckResult]) -> list[str]:
    """Give the partitions that failed: those of the step where a check is about all of them."""
    if result.partitions == WHOLE:
        return []
    found = list(dict.fromkeys(key for gate in gates for key in gate.partitions))
    if not found or WHOLE_GROUP in found or len(found) == result.count:
        return [ranges_text(result.partitions)]
    return [ranges_text(tuple((key, key) for key in found))]
