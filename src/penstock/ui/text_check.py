"""What `check` prints: a block per model, and a line that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.app.checking.reports import AcceptReport, CheckReport, ModelChecked, SourceChecked
from penstock.core.check_results import CheckResult, CheckStatus
from penstock.core.masking import mask
from penstock.ui.text_invariants import PASSED_SHOWN, result_lines
from penstock.ui.text_partitions import WHOLE, ranges_text
from penstock.ui.text_table import LISTED, count
from penstock.ui.text_values import day

_INDENT = "  "


def check_text(report: CheckReport, *, verbose: bool = False, quiet: bool = False) -> str:
    """Give the results of every model and source; at most 50 without a failure, unless `verbose`.

    With `quiet` only what failed.
    """
    passed = None if verbose else PASSED_SHOWN
    blocks = [_model(each, passed, quiet=quiet) for each in _shown(report.models, verbose=verbose)]
    blocks += [_sources(report.sources, passed, quiet=quiet)]
    lines = [block for block in blocks if block]
    rest = len(report.models) - len(_shown(report.models, verbose=verbose))
    lines += [f"and {count(rest, 'more model')}"] * bool(rest and not quiet)
    notes = [] if quiet else [mask(note) for note in report.notes]
    return "\n".join([*notes, *lines, _total(report.results)])


def _shown(models: Sequence[ModelChecked], *, verbose: bool) -> list[ModelChecked]:
    """Leave models without a failure out beyond the limit."""
    well = [each for each in models if each.report.all_passed()]
    left = set(map(id, well if verbose else well[:LISTED]))
    return [each for each in models if id(each) in left or not each.report.all_passed()]


def _model(checked: ModelChecked, passed: int | None, *, quiet: bool) -> str:
    report = checked.report
    phases = bool(report.before and report.after)
    found = result_lines(report.all, _INDENT, phases=phases, failures=quiet, passed=passed)
    if quiet and not found:
        return ""
    head = [checked.model]
    head += [] if checked.partitions == WHOLE else [ranges_text(checked.partitions)]
    head += [] if checked.version is None else [f"version {checked.version}"]
    return "\n".join([_INDENT.join(head), *found, *_notes(checked.lines)])


def _notes(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{_INDENT}{mask(line)}"


def _sources(sources: Sequence[SourceChecked], passed: int | None, *, quiet: bool) -> str:
    results = [replace(each.result, name=each.source) for each in sources]
    found = result_lines(results, _INDENT, phases=False, failures=quiet, passed=passed)
    return "\n".join(["sources", *found]) if found else ""


def _total(results: Sequence[CheckResult]) -> str:
    found = Counter(result.status for result in results)
    errors = sum(1 for result in results if result.failed_gate)
    parts = [f"{found[CheckStatus.PASSED]} passed", f"{found[CheckStatus.FAILED]} failed"]
    if found[CheckStatus.FAILED]:
        parts[-1] += f" ({count(errors, 'error')})"
    parts += [f"{found[CheckStatus.SKIPPED]} skipped"] * bool(found[CheckStatus.SKIPPED])
    return f"{count(len(results), 'check')}: {', '.join(parts)}."


def accept_text(report: AcceptReport) -> str:
    """Say which flags were closed and which rows that had been kept are gone."""
    lines = [
        f"accepted: {' '.join([flag.model, *_partition(flag.partition)])}"
        f" (step {flag.step}): {', '.join(flag.checks)}"
        for flag in report.flags
    ]
    lines += [
        f"dropped: {each.table} of {each.model} ({count(each.rows, 'row')}, kept until"
        f" {day(each.expires)})"
        for each in report.quarantines
    ]
    return "\n".join(lines) or "nothing to do"


def _partition(key: str) -> list[str]:
    return [] if key == "*" else [key]
