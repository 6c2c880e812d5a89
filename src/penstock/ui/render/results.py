"""How results of checks read: a line each, and what the last line of a run says of them."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.reports import ModelResult
from penstock.core.check_results import (
    WHOLE_GROUP,
    CheckResult,
    CheckStatus,
    InvariantReport,
    Sample,
)
from penstock.core.errors import CheckFailedError
from penstock.core.findings import some
from penstock.core.masking import mask
from penstock.ui.render.values import LISTED, WHOLE, count, one_line, ranges_text

INDENT = "      "
PASSED_SHOWN = 10
_NAMED = 3
_ROWS = 3
_WIDTH = 7  # of the words failed, skipped, warning


def step_lines(report: InvariantReport | None, *, failures: bool = False) -> list[str]:
    """Give the lines under a step's line; with `failures` only checks that failed."""
    return result_lines(report.all if report is not None else (), INDENT, failures=failures)


def result_lines(
    results: Sequence[CheckResult],
    indent: str,
    *,
    phases: bool = True,
    failures: bool = False,
    passed: int | None = PASSED_SHOWN,
) -> list[str]:
    """Give a line for each result: what failed or was skipped, and so many that passed.

    Many that were skipped for one reason are one line. `phases` begins each line with its phase.
    """
    if failures:
        return _lines([result for result in results if result.failed], indent, phases=phases)
    why = {result.message for result in results if result.status is CheckStatus.SKIPPED}
    if len(results) > 1 and len(why) == 1 and all(map(_is_skipped, results)):
        return [f"{indent}{count(len(results), 'check')} skipped: {mask(why.pop())}"]
    shown, rest = _bounded(results, passed)
    return [*_lines(shown, indent, phases=phases), *[f"{indent}and {rest} passed"] * bool(rest)]


def _bounded(results: Sequence[CheckResult], limit: int | None) -> tuple[list[CheckResult], int]:
    """Leave out what passed beyond the limit; say how many that are."""
    passed = [result for result in results if result.status is CheckStatus.PASSED]
    left = set(map(id, passed if limit is None else passed[:limit]))
    shown = [r for r in results if r.status is not CheckStatus.PASSED or id(r) in left]
    return shown, len(results) - len(shown)


def _lines(results: Sequence[CheckResult], indent: str, *, phases: bool) -> list[str]:
    names = max((len(one_line(result.name)) for result in results), default=0)
    severe = any(result.failed for result in results)
    found = []
    for result in results:
        cells = [f"{result.phase:<6}"] * phases
        cells += [f"{one_line(result.name):<{names}}", f"{result.status:<{_WIDTH}}"]
        cells += [f"{str(result.severity) if result.failed else '':<{_WIDTH}}"] * severe
        cells += [one_line(mask(_said(result)))]
        found.append(f"{indent}{'  '.join(cells)}".rstrip())
    shown, rest = found[:LISTED], len(found[LISTED:])
    return [*shown, *[f"{indent}and {count(rest, 'more check')}"] * bool(rest)]


def _is_skipped(result: CheckResult) -> bool:
    return result.status is CheckStatus.SKIPPED


def _said(result: CheckResult) -> str:
    if result.type == "sql" and result.status is CheckStatus.PASSED:
        return ""  # that its query gave no row is what passing means
    said = f"{result.message} [{result.details}]" if result.details else result.message
    if result.failed and result.type == "sql" and result.sample is not None:
        return f"{said}: {_rows(result.sample)}"
    return said


def _rows(sample: Sample) -> str:
    """Give the first rows of a sample in one line."""
    rows = [
        ", ".join(
            f"{name}={'NULL' if cell is None else cell}"
            for name, cell in zip(sample.columns, row, strict=True)
        )
        for row in sample.rows[:_ROWS]
    ]
    return "; ".join([*rows, *["…"] * (len(sample.rows) > _ROWS)])


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
