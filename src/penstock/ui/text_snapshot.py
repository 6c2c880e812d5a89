"""What `snapshot run` prints: one line per history table with its counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.rehearse import NO_CHANGE, WOULD_COMMIT
from penstock.app.reports import ModelResult, RunReport
from penstock.core.masking import mask
from penstock.ui.text_errors import error_text
from penstock.ui.text_failures import by_check, failures
from penstock.ui.text_invariants import step_lines
from penstock.ui.text_table import LISTED, aligned, count, first_of

_ALWAYS = {
    "source": ("source_rows",),
    "new": ("opened_new",),
    "changed": ("opened_changed",),
    "closed": ("closed",),
    "unchanged": ("unchanged",),
    "deleted": ("deleted",),
    "pruned": ("pruned",),
}
_SOMETIMES = {
    "late": ("opened_late",),
    "reopened": ("reopened",),
    "shortened": ("shortened",),
    "ignored": ("ignored",),
    "skipped": ("skipped",),
}


def snapshots_text(report: RunReport) -> str:
    """Give the table of what was counted, errors, and the command that resumes."""
    return "\n".join(_lines(report))


def _lines(report: RunReport) -> Iterator[str]:
    if not report.results and not report.interrupted:
        yield "no snapshot models in this project"
        return
    head = f"run {report.run_id[:8]}".rstrip()  # a dry run has no id
    yield f"{head}  {report.run_timestamp:%Y-%m-%d %H:%M:%S} UTC"
    if report.dry_run:
        yield "dry run: nothing is written"
    columns = {
        name: keys
        for name, keys in {**_ALWAYS, **_SOMETIMES}.items()
        if name in _ALWAYS or any(_number(result, keys) for result in report.results)
    }
    rows = [["model", *columns, "result"]]
    for result in report.results:
        numbers = [
            str(_number(result, keys)) if result.metrics else "-" for keys in columns.values()
        ]
        rows.append([result.name, *numbers, _outcome(result)])
    yield aligned(rows, [False, *[True] * len(columns), False])
    yield from first_of([*_checked(report.results)], LISTED, "checked model")
    errors = [r.error for r in report.results if r.error is not None and not by_check(r)]
    yield from first_of([error_text(error) for error in errors], LISTED, "error")
    for result in report.results:
        for note in result.notes if result.ok or by_check(result) else ():
            yield f"{result.name}: {mask(note)}"
    if report.interrupted:
        yield "Interrupted."
    yield _total(report)
    if any(map(by_check, report.results)):
        yield from failures(report.results)
    if report.resume:
        yield f"Resume: {report.resume}"


def _checked(results: Sequence[ModelResult]) -> Iterator[str]:
    for result in results:
        lines = step_lines(result.invariant_report)
        if lines:
            yield "\n".join([result.name, *lines])


def _number(result: ModelResult, keys: tuple[str, ...]) -> int:
    return sum(result.metrics.get(key, 0) for key in keys)


def _outcome(result: ModelResult) -> str:
    if result.status == "failed" and result.error is not None:
        return f"FAILED {result.error.code}"
    if result.status == "skipped":
        return f"skipped: {result.reason}"
    if result.status == "planned":
        only = set(result.metrics) and not _number(
            result, ("opened_new", "opened_changed", "opened_late", "reopened", "deleted")
        )
        return "would prune" if only and result.metrics.get("pruned") else WOULD_COMMIT
    if result.status == "unchanged":
        return "up to date" if not result.metrics else NO_CHANGE
    return f"version {result.version}"


def _total(report: RunReport) -> str:
    found = [result.status for result in report.results]
    total = len(found)
    parts = []
    for words, statuses in (
        ("would be updated", ("planned",)),
        ("updated", ("success",)),
        ("without change", ("unchanged",)),
        ("failed", ("failed",)),
        ("skipped", ("skipped",)),
    ):
        number = sum(found.count(status) for status in statuses)
        parts += [f"{number} {words}"] * bool(number)
    return f"{count(total, 'snapshot')}: {', '.join(parts) or 'none ended'}"
