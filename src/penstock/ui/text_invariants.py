"""How the results of checks read: one line each, under the step or model that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import CheckResult, CheckStatus, InvariantReport, Sample
from penstock.core.masking import mask
from penstock.ui.text_table import LISTED, count, one_line

INDENT = "      "
PASSED_SHOWN = 10

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
    told, rest = found[:LISTED], len(found[LISTED:])
    return [*told, *[f"{indent}and {count(rest, 'more check')}"] * bool(rest)]


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
