"""What `check` prints, and how results of checks read wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.app.checking.placing import NO_TABLE
from penstock.app.checking.reports import AcceptReport, CheckReport, ModelChecked, SourceChecked
from penstock.app.reports import ModelResult
from penstock.app.request import BOTH, CheckRequest
from penstock.core.check_results import (
    WHOLE_GROUP,
    CheckResult,
    CheckStatus,
    InvariantReport,
    Sample,
)
from penstock.core.errors import CheckFailedError, PenstockError
from penstock.core.findings import some
from penstock.core.masking import mask
from penstock.ui.render.errors import error_document
from penstock.ui.render.values import (
    LISTED,
    WHOLE,
    Json,
    count,
    day,
    instant,
    one_line,
    ranges_text,
)

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


_UNBUILT = "never built"


def nothing_checked(request: CheckRequest, report: CheckReport) -> PenstockError | None:
    """Give the error `nothing-checked`, None where anything was evaluated."""
    if not report.evaluated_nothing:
        return None
    number = len(report.results)
    what = f"{count(number, 'check')} skipped" if number else "no check was selected"
    hint = _after_skips(report) if number else _after_none(request)
    return PenstockError("nothing-checked", f"{what}, none evaluated", hint=hint)


def _after_skips(report: CheckReport) -> str:
    messages = {result.message for result in report.results}
    if any(message == NO_TABLE or message.endswith(_UNBUILT) for message in messages):
        return "penstock run builds what is not there yet"
    return ""


def _after_none(request: CheckRequest) -> str:
    if request.sources:
        return "give a source freshness, with warn_after or error_after"
    if request.checks:
        return "checks of that name stand in the other phase, or in other versions or partitions"
    if request.phases != BOTH:
        (phase,) = request.phases
        return f"leave --{phase} out: no selected model has checks of that phase"
    if request.everything:
        return "no model with checks has been built: penstock run"
    return "select models that have checks, or all of them with --all"


def checks_document(report: CheckReport, error: PenstockError | None = None) -> Json:
    """Give every result; `error` is there where nothing was evaluated."""
    return {**report.document(), "error": error_document(error) if error else None}


def accept_document(report: AcceptReport) -> Json:
    """Give the flags that were closed and the quarantines that were dropped."""
    return {
        "command": "check",
        "accepted": [
            {
                "step": flag.step,
                "model": flag.model,
                "partition": flag.partition,
                "checks": flag.checks,
                "opened": instant(flag.opened),
                "version": flag.version,
            }
            for flag in report.flags
        ],
        "dropped": [
            {
                "step": each.step,
                "model": each.model,
                "table": each.table,
                "rows": each.rows,
                "expires": instant(each.expires),
            }
            for each in report.quarantines
        ],
    }
