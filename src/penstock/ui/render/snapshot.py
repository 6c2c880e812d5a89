"""What `snapshot` prints: a line per history table with its counts, and its laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from penstock.app.commands.migrate import MigrateReport
from penstock.app.commands.rehearse import NO_CHANGE, WOULD_COMMIT
from penstock.app.commands.verify import VerifyReport, Violation
from penstock.app.reports import ModelResult, RunReport
from penstock.ui.render.check import by_check, failures, step_lines
from penstock.ui.render.run import error_lines, note_lines
from penstock.ui.render.values import LISTED, Json, aligned, count, first_of, one_line

_ALWAYS = {
    "source": "source_rows",
    "new": "opened_new",
    "changed": "opened_changed",
    "closed": "closed",
    "unchanged": "unchanged",
    "deleted": "deleted",
    "pruned": "pruned",
}
_SOMETIMES = {
    "late": "opened_late",
    **{name: name for name in ("reopened", "shortened", "ignored", "skipped")},
}
_OPENING = ("opened_new", "opened_changed", "opened_late", "reopened", "deleted")
_WORDS = {
    "planned": "would be updated",
    "success": "updated",
    "unchanged": "without change",
    "failed": "failed",
    "skipped": "skipped",
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
        name: key
        for name, key in {**_ALWAYS, **_SOMETIMES}.items()
        if name in _ALWAYS or any(result.metrics.get(key) for result in report.results)
    }
    rows = [["model", *columns, "result"]]
    for result in report.results:
        counted = [result.metrics.get(key, 0) for key in columns.values()]
        numbers = [str(number) if result.metrics else "-" for number in counted]
        rows.append([result.name, *numbers, _outcome(result)])
    yield aligned(rows, [False, *[True] * len(columns), False])
    yield from first_of([*_checked(report.results)], LISTED, "checked model")
    yield from error_lines(report)
    yield from note_lines(report)
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


def _outcome(result: ModelResult) -> str:
    if result.status == "failed" and result.error is not None:
        return f"FAILED {result.error.code}"
    if result.status == "skipped":
        return f"skipped: {result.reason}"
    if result.status == "planned":
        prunes = result.metrics.get("pruned") and not any(map(result.metrics.get, _OPENING))
        return "would prune" if prunes else WOULD_COMMIT
    if result.status == "unchanged":
        return "up to date" if not result.metrics else NO_CHANGE
    return f"version {result.version}"


def _total(report: RunReport) -> str:
    found = Counter(result.status for result in report.results)
    parts = [f"{found[status]} {words}" for status, words in _WORDS.items() if found[status]]
    return f"{count(len(report.results), 'snapshot')}: {', '.join(parts) or 'none ended'}"


def verify_text(reports: Sequence[VerifyReport]) -> str:
    """Give a line of counts for each table, and a line for every law that it breaks."""
    return "\n".join(line for report in reports for line in _verified(report))


def _verified(report: VerifyReport) -> Iterator[str]:
    head = f"{report.model}  Delta version {report.version}"
    if report.versions is not None:
        counts = f"{count(report.versions, 'version')}, {count(report.keys or 0, 'key')}"
        gaps = count(report.gaps or 0, "gap")
        head += f"  {counts}, {report.current or 0:,} current, {gaps}"
    yield head
    for violation in report.violations:
        yield from _violation(violation)
    laws = len(report.violations)
    yield f"{count(laws, 'law')} broken" if laws else "all laws hold"


def _violation(violation: Violation) -> Iterator[str]:
    head = f"{violation.law} {violation.title}: {count(violation.count, violation.of)}   "
    for number, sample in enumerate(violation.samples):
        yield f"{head if number == 0 else ' ' * len(head)}{one_line(sample)}"


def migrate_text(report: MigrateReport) -> str:
    """Say what differed, what the next run does, and what was written."""
    return "\n".join(_migrated(report))


def _migrated(report: MigrateReport) -> Iterator[str]:
    if not report.differs:
        yield f"{report.model}: the table agrees with the model; nothing to migrate"
        return
    if report.dry_run:
        yield "dry run: nothing is written"
    if report.adopted:
        yield f"{report.model}: a table that penstock did not make keeps all laws"
    for change in report.changes:
        yield f"{report.model}: {one_line(change)}"
    if report.rehashed:
        would = "would be" if report.dry_run else "were"
        yield f"the row hashes of current versions {would} made anew"
    opens = count(report.opens, "version")
    yield f"the next run opens {opens} and closes {report.closes:,}"
    if not report.dry_run:
        yield f"{'adopted' if report.adopted else 'migrated'}  version {report.version}"


def verify_document(reports: Sequence[VerifyReport]) -> Json:
    """Give the laws that each table breaks, with samples."""
    return {"ok": all(report.ok for report in reports), "models": [*map(_verify_document, reports)]}


def _verify_document(report: VerifyReport) -> Json:
    return {
        "model": report.model,
        "ok": report.ok,
        "version": report.version,
        "versions": report.versions,
        "keys": report.keys,
        "current": report.current,
        "gaps": report.gaps,
        "violations": [
            {
                "law": each.law,
                "title": each.title,
                "count": each.count,
                "of": each.of,
                "samples": each.samples,
            }
            for each in report.violations
        ],
    }


def migrate_document(report: MigrateReport) -> Json:
    """Give what differed, and what the next run will count."""
    return {
        "model": report.model,
        "version": report.version,
        "dry_run": report.dry_run,
        "adopted": report.adopted,
        "rehashed": report.rehashed,
        "changes": report.changes,
        "opens": report.opens,
        "closes": report.closes,
        "metrics": dict(report.metrics),
    }
