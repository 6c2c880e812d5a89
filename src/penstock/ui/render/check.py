"""What `check` prints: a block per model, a line that counts, and a way out of silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.app.checking.placing import NO_TABLE
from penstock.app.checking.results import AcceptReport, CheckReport, ModelChecked, SourceChecked
from penstock.app.request import BOTH, CheckRequest
from penstock.core.check_results import CheckResult, CheckStatus
from penstock.core.errors import PenstockError
from penstock.core.masking import mask
from penstock.ui.render.document import Json, instant
from penstock.ui.render.errors import error_document
from penstock.ui.render.results import PASSED_SHOWN, result_lines
from penstock.ui.render.values import LISTED, WHOLE, count, day, ranges_text

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
