"""What `snapshot verify` and `snapshot migrate` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.commands.migrate import MigrateReport
from penstock.app.commands.verify import VerifyReport, Violation
from penstock.ui.text_table import count, one_line


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
