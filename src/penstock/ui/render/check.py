"""What `check` and `test` print, and how results of checks read wherever they stand."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from penstock.app.checking.results import AcceptReport, CheckReport, ModelChecked
from penstock.app.documents import Json, document_of, error_document
from penstock.app.reports import ModelResult
from penstock.app.request import BOTH, CheckRequest
from penstock.core.check_results import WHOLE_GROUP, CheckResult, InvariantReport
from penstock.core.checks.check import CheckScope
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import CheckFailedError, PenstockError
from penstock.core.findings import some
from penstock.core.masking import mask
from penstock.ui.render.tables import one_line
from penstock.ui.render.values import LISTED, WHOLE, count, day, ranges_text, seconds

if TYPE_CHECKING:
    from penstock.app.commands.check import SuggestReport
    from penstock.app.unit_testing.differences import (
        Difference,
        RowsDiffer,
        UnitResult,
        UnitTestReport,
    )

_UNDER_STEP = "      "
_PASSED_SHOWN = 10
_NAMED = 3
_ROWS = 3
_WIDTH = 7  # of the words failed, skipped, warning
_INDENT = "  "
_T = TypeVar("_T")


def step_lines(
    report: InvariantReport | None, *, failures: bool = False, verbose: bool = False
) -> list[str]:
    """Return the lines under a step's line; with `failures` only checks that failed.

    Several that passed are one line, unless `verbose`.
    """
    results = report.all if report is not None else ()
    passed = sum(result.status is CheckStatus.PASSED for result in results)
    limit = None if verbose or passed == 1 else 0
    return _result_lines(results, _UNDER_STEP, failures=failures, passed=limit)


def _result_lines(
    results: Sequence[CheckResult],
    indent: str,
    *,
    phases: bool = True,
    failures: bool = False,
    passed: int | None = _PASSED_SHOWN,
) -> list[str]:
    """Return a line for each result that failed or was skipped, and for `passed` that passed.

    Many that were skipped for one reason are one line. `phases` begins each line with its phase.
    """
    if failures:
        return _lines([result for result in results if result.failed], indent, phases=phases)
    why = {result.message for result in results if result.status is CheckStatus.SKIPPED}
    others = any(result.status is not CheckStatus.SKIPPED for result in results)
    if len(results) > 1 and len(why) == 1 and not others:
        return [f"{indent}{count(len(results), 'check')} skipped: {mask(why.pop())}"]
    shown = _bounded(results, lambda result: result.status is CheckStatus.PASSED, passed)
    rest = len(results) - len(shown)
    more = f"and {rest}" if passed else count(rest, "check")
    return [*_lines(shown, indent, phases=phases), *[f"{indent}{more} passed"] * bool(rest)]


def _bounded(items: Sequence[_T], passed: Callable[[_T], bool], limit: int | None) -> list[_T]:
    """Return the items without those that passed beyond the limit; None has no limit."""
    left = set(map(id, [item for item in items if passed(item)][:limit]))
    return [item for item in items if id(item) in left or not passed(item)]


def _lines(results: Sequence[CheckResult], indent: str, *, phases: bool) -> list[str]:
    names = max((len(one_line(result.name)) for result in results), default=0)
    severe = any(result.failed for result in results)
    found = []
    for result in results:
        cells = [f"{result.phase:<6}"] * phases
        cells += [f"{one_line(result.name):<{names}}", f"{result.status:<{_WIDTH}}"]
        cells += [f"{str(result.severity) if result.failed else '':<{_WIDTH}}"] * severe
        cells += [one_line(mask(_message_of(result)))]
        found.append(f"{indent}{'  '.join(cells)}".rstrip())
    shown, rest = found[:LISTED], len(found[LISTED:])
    return [*shown, *[f"{indent}and {count(rest, 'more check')}"] * bool(rest)]


def scope_text(result: CheckResult) -> str:
    """Return ` (whole table)` for a check that read more than the rows of its step."""
    evaluated = result.status is not CheckStatus.SKIPPED
    return " (whole table)" if evaluated and result.scope is CheckScope.TABLE else ""


def _message_of(result: CheckResult) -> str:
    """Return the message of a result, with the first rows of its sample if it is a failed query."""
    if result.type == "sql" and result.status is CheckStatus.PASSED:
        return ""  # that its query gave no row is what passing means
    said = f"{result.message} [{result.details}]" if result.details else result.message
    said += scope_text(result)
    if not result.failed or result.type != "sql" or result.sample is None:
        return said
    rows = []
    for row in result.sample.rows[:_ROWS]:
        cells = zip(result.sample.columns, row, strict=True)
        rows.append(", ".join(f"{name}={'NULL' if v is None else v}" for name, v in cells))
    rows += ["…"] * (len(result.sample.rows) > _ROWS)
    return f"{said}: {'; '.join(rows)}"


def by_check(result: ModelResult) -> bool:
    """Return whether a gate failed, and not the step itself."""
    return isinstance(result.error, CheckFailedError)


def failures(results: Sequence[ModelResult]) -> list[str]:
    """Return the number of failures; for gates also names, reasons and consequences."""
    failed = [result for result in results if result.status == "failed" or by_check(result)]
    why = f": {some(list(map(_failure_of, failed)), _NAMED)}" if any(map(by_check, failed)) else ""
    return [f"{len(failed)} failed{why}"] * bool(failed)


def _failure_of(result: ModelResult) -> str:
    code = result.error.code if result.error is not None else result.status
    if not by_check(result):
        return f"{result.name} ({code})"
    report = result.invariant_report
    gates = [each for each in report.all if each.failed_gate] if report is not None else []
    names = ", ".join(dict.fromkeys(gate.name for gate in gates))
    why = f"{code}: {names}" if names else code
    what = f"{why}; {mask(result.consequence)}" if result.consequence else why
    keys = dict.fromkeys(key for gate in gates for key in gate.partitions)
    groups = tuple((key, key) for key in keys)
    if not keys or WHOLE_GROUP in keys or len(keys) == result.count:
        groups = result.partitions  # a check is about all of them
    name = result.name if result.partitions == WHOLE else f"{result.name} {ranges_text(groups)}"
    return f"{name} ({what})"


def check_text(report: CheckReport, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return the results of every model and source; at most 50 without a failure, unless `verbose`.

    With `quiet` only what failed.
    """
    passed = None if verbose else _PASSED_SHOWN
    limit = None if verbose else LISTED
    shown = _bounded(report.models, lambda each: each.report.all_passed(), limit)
    blocks = [_model(each, passed, quiet=quiet) for each in shown]
    sources = [replace(each.result, name=each.source) for each in report.sources]
    found = _result_lines(sources, _INDENT, phases=False, failures=quiet, passed=passed)
    blocks += ["\n".join(["sources", *found])] * bool(found)
    rest = len(report.models) - len(shown)
    blocks += [f"and {count(rest, 'more model')}"] * bool(rest and not quiet)
    notes = [] if quiet else [mask(note) for note in report.notes]
    ended = Counter(result.status for result in report.results)
    errors = count(sum(result.failed_gate for result in report.results), "error")
    failed = f"{ended[CheckStatus.FAILED]} failed"
    parts = [f"{ended[CheckStatus.PASSED]} passed"]
    parts += [f"{failed} ({errors})" if ended[CheckStatus.FAILED] else failed]
    parts += [f"{ended[CheckStatus.SKIPPED]} skipped"] * bool(ended[CheckStatus.SKIPPED])
    total = f"{count(len(report.results), 'check')}: {', '.join(parts)}."
    return "\n".join([*notes, *filter(None, blocks), total])


def _model(checked: ModelChecked, passed: int | None, *, quiet: bool) -> str:
    report = checked.report
    phases = bool(report.before and report.after)
    found = _result_lines(report.all, _INDENT, phases=phases, failures=quiet, passed=passed)
    if quiet and not found:
        return ""
    head = [checked.model]
    head += [] if checked.partitions == WHOLE else [ranges_text(checked.partitions)]
    head += [] if checked.version is None else [f"version {checked.version}"]
    notes = [f"{_INDENT}{mask(line)}" for line in checked.lines]
    return "\n".join([_INDENT.join(head), *found, *notes])


def accept_text(report: AcceptReport) -> str:
    """Return the flags that were closed and the quarantined rows that were dropped."""
    lines = []
    for flag in report.flags:
        name = flag.model if flag.partition == "*" else f"{flag.model} {flag.partition}"
        lines.append(f"accepted: {name} (step {flag.step}): {', '.join(flag.checks)}")
    for each in report.quarantines:
        kept = f"{count(each.rows, 'row')}, kept until {day(each.expires)}"
        lines.append(f"dropped: {each.table} of {each.model} ({kept})")
    return "\n".join(lines) or "nothing to do"


def nothing_checked(request: CheckRequest, report: CheckReport) -> PenstockError | None:
    """Return the error `nothing-checked`, or None if any check was evaluated."""
    if not report.evaluated_nothing:
        return None
    from penstock.app.checking.placing import NO_TABLE

    messages = [result.message for result in report.results]
    if messages:
        what = f"{count(len(messages), 'check')} skipped"
        unbuilt = any(text == NO_TABLE or text.endswith("never built") for text in messages)
        hint = "penstock run builds what is not there yet" if unbuilt else ""
    else:
        what, hint = "no check was selected", _after_none(request)
    return PenstockError("nothing-checked", f"{what}, none evaluated", hint=hint)


def _after_none(request: CheckRequest) -> str:
    if request.sources:
        return "give a source freshness, with warn_after or error_after"
    if request.checks:
        return "checks of that name are in the other phase, or in other versions or partitions"
    if request.phases != BOTH:
        (phase,) = request.phases
        return f"leave --{phase} out: no selected model has checks of that phase"
    if request.everything:
        return "no model with checks has been built: penstock run"
    return "select models that have checks, or all of them with --all"


def checks_document(report: CheckReport, error: PenstockError | None = None) -> Json:
    """Return every result; `error` is set if no check was evaluated."""
    return {**report.document(), "error": error_document(error)}


def accept_document(report: AcceptReport) -> Json:
    """Return the flags that were closed and the quarantines that were dropped."""
    flags = "accepted=flags[step model partition checks opened version]"
    kept = "dropped=quarantines[step model table rows expires]"
    return {"command": "check", **document_of(report, f"{flags} {kept}")}


def suggest_text(report: SuggestReport) -> str:
    """Return proposed checks in the form of the model's file, each with what it is based on.

    Models of SQL and Python have their checks in YAML, under `models:`.
    """
    rows = f"{count(report.rows, 'row')} of {report.table}"
    head = [f"# {count(len(report.checks), 'check')} proposed from {rows}."]
    head += [f"# {one_line(mask(note))}" for note in report.notes]
    if not report.checks:
        return "\n".join(head)
    head.append("# Keep those that must hold for every row to come; nothing was written.")
    is_json = report.path.endswith(".json")
    if is_json or report.path.endswith((".yml", ".yaml")):
        head.append(f"# They belong beside the other keys of {report.model} in {report.path}.")
    else:
        head += ["models:", f"  - name: {report.model}"]
    return "\n".join([*head, *(_json_lines(report) if is_json else _yaml_lines(report, head[-1]))])


def _yaml_lines(report: SuggestReport, above: str) -> Iterator[str]:
    indent = "" if above.startswith("#") else "    "
    yield f"{indent}checks:"
    yield f"{indent}  after:"
    for each in report.checks:
        keys = ", ".join(f"{key}: {_flow(value)}" for key, value in each.keys.items())
        yield f"{indent}    - {{{mask(keys)}}}  # {one_line(mask(each.why))}"


def _json_lines(report: SuggestReport) -> Iterator[str]:
    yield '"checks": {"after": ['
    for number, each in enumerate(report.checks, 1):
        yield f"  {mask(_json(each.keys))}{',' * (number < len(report.checks))}"
    yield "]},"


_OTHER_WORD = "null|true|false|yes|no|on|off|y|n"
_WORD = re.compile(rf"(?!(?:{_OTHER_WORD})$)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
_UNPRINTED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff]")


def _flow(value: object) -> str:
    """Return a value in YAML's flow style; texts that YAML could read otherwise are quoted."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str):
        if _WORD.fullmatch(value):
            return value
        return _json(value)
    return str(value)


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def suggest_document(report: SuggestReport) -> Json:
    """Return proposed checks, their keys as in a file."""
    checks: list[Json] = [{"check": {**each.keys}, "why": each.why} for each in report.checks]
    return {"command": "check", **document_of(report, "model table rows notes"), "checks": checks}


_MOST = 20
_NOTES = {"-": "expected, not found", "+": "found, not expected"}


def unit_tests_text(report: UnitTestReport) -> str:
    """Return the differences of every failed test, then a line with the counts."""
    if not report.results:
        return "no unit tests"
    failed = [result_text(result) for result in report.results if result.status == "failed"]
    counts = [f"{report.count(word)} {word}" for word in ("passed", "failed")]
    counts += [f"{report.count('skipped')} skipped"] * bool(report.count("skipped"))
    return "\n".join([*failed, f"{count(len(report.results), 'test')}: {', '.join(counts)}."])


def result_text(result: UnitResult) -> str:
    """Return one test: a line with its name, then its differences, at most 20 rows each."""
    from penstock.app.unit_testing.differences import RowsDiffer  # only `penstock test` pays

    test = result.test
    word = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}[result.status]
    head = f"{word}  {test.written}  {test.name}   {test.where.path}:{test.where.line}   "
    lines = [head + seconds(result.seconds)]
    lines += [f"  run {result.run} of {len(test.runs)}"] * bool(result.run)
    for each in result.differences:
        lines += _rows(each) if isinstance(each, RowsDiffer) else [f"  {one_line(mask(each))}"]
    return "\n".join(lines)


def _rows(rows: RowsDiffer) -> Iterator[str]:
    """Yield the rows under their columns; a column is as wide as its widest cell."""
    from penstock.app.unit_testing.differences import summary

    yield f"  {summary(rows)}"
    lines = rows.lines[:_MOST]
    texts = [[one_line(mask(cell)) for cell in line.cells] for line in lines]
    widths = [max(map(len, column)) for column in zip(rows.columns, *texts, strict=True)]
    yield f"      {_line(rows.columns, widths, rows)}"
    for line, shown in zip(lines, texts, strict=True):
        notes = [_NOTES[line.sign]] if line.sign in _NOTES else []
        notes += [f"x {line.times}"] * (line.times > 1)
        cells = "    ".join([_line(shown, widths, rows), *notes])
        yield f"    {line.sign} {cells}".rstrip()
    rest = len(rows.lines) - _MOST
    if rest > 0:
        yield f"      and {rest:,} more"


def _line(cells: Sequence[str], widths: Sequence[int], rows: RowsDiffer) -> str:
    """Return the cells as one line: two blanks after a key, three after any other."""
    keys = {name.lower() for name in rows.key}
    parts = [
        cell.ljust(width) + (" " * (2 if name.lower() in keys else 3))
        for cell, width, name in zip(cells, widths, rows.columns, strict=True)
    ]
    return "".join(parts).rstrip()


def unit_tests_document(report: UnitTestReport) -> Json:
    """Return every test with all its differences."""
    place = "model=test.model name=test.name file=test.where.path line=test.where.line"
    tests = [
        {
            **document_of(result, f"{place} tags=test.tags status seconds run?"),
            "differences": [_difference(each) for each in result.differences],
        }
        for result in report.results
    ]
    counts = {status: report.count(status) for status in ("passed", "failed", "skipped")}
    return {"ok": report.ok, **counts, "tests": tests}


def _difference(each: Difference) -> Json:
    from penstock.app.unit_testing.differences import RowsDiffer, summary

    if not isinstance(each, RowsDiffer):
        return {"message": each}
    names = "what expected found key columns rows=lines[mark=sign cells times]"
    return {"message": summary(each), **document_of(each, names)}
