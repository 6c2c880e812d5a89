"""`snapshot`: history tables, one line of counts for each, and their invariants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.events import silent
from penstock.app.flags import FlagSpec, Name, Yes
from penstock.app.read_requests import HistoryBackfillRequest
from penstock.app.reports import ModelResult
from penstock.app.request import CommandRequest, SnapshotRequest
from penstock.app.run_report import NO_CHANGE, WOULD_COMMIT
from penstock.core.errors import CheckFailedError
from penstock.ui.cli.options import ask, command, group, open_request
from penstock.ui.cli.output import CommandOutput, confirm
from penstock.ui.render.check import by_check, failures, step_lines
from penstock.ui.render.run import error_lines, note_lines
from penstock.ui.render.tables import aligned, first_of, one_line
from penstock.ui.render.values import LISTED, count

if TYPE_CHECKING:
    from penstock.app.commands.migrate import MigrateReport
    from penstock.app.commands.verify import VerifyReport
    from penstock.app.run_report import RunReport

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
    """Return the table of counts, errors, and the command that resumes."""
    if not report.results and not report.interrupted:
        return "no snapshot models in this project"
    head = f"run {report.run_id[:8]}".rstrip()  # a dry run has no id
    lines = [f"{head}  {report.run_timestamp:%Y-%m-%d %H:%M:%S} UTC"]
    lines += ["dry run: nothing is written"] * report.dry_run
    checked = [
        "\n".join([result.name, *under])
        for result in report.results
        if (under := step_lines(result.invariant_report))
    ]
    lines += [_counts_table(report.results), *first_of(checked, LISTED, "checked model")]
    found = Counter(result.status for result in report.results)
    parts = [f"{found[status]} {words}" for status, words in _WORDS.items() if found[status]]
    total = f"{count(len(report.results), 'snapshot')}: {', '.join(parts) or 'none ended'}"
    lines += [*error_lines(report), *note_lines(report), total]
    if any(map(by_check, report.results)):
        lines += failures(report.results)
    lines += [f"Resume: {report.resume}"] * bool(report.resume)
    return "\n".join(lines)


def _counts_table(results: Sequence[ModelResult]) -> str:
    """Return a row of counts for each table; rare counts have a column only if one is not 0."""
    columns = _ALWAYS | {
        name: key
        for name, key in _SOMETIMES.items()
        if any(result.metrics.get(key) for result in results)
    }
    rows = [["model", *columns, "result"]]
    for result in results:
        counts = [result.metrics.get(key, 0) for key in columns.values()]
        numbers = [str(number) if result.metrics else "-" for number in counts]
        rows.append([result.name, *numbers, _outcome(result)])
    order = (0, len(columns) + 1, *range(1, len(columns) + 1))  # the name, then the result
    return aligned(rows, [False, *[True] * len(columns), False], order)


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


def verify_text(reports: Sequence[VerifyReport]) -> str:
    """Return a line of counts for each table, and a line for every broken invariant."""
    lines = []
    for report in reports:
        head = f"{report.model}  Delta version {report.version}"
        if report.versions is not None:
            counts = f"{count(report.versions, 'version')}, {count(report.keys or 0, 'key')}"
            gaps = count(report.gaps or 0, "gap")
            head += f"  {counts}, {report.current or 0:,} current, {gaps}"
        lines.append(head)
        for each in report.violations:
            law = f"{each.law} {each.title}: {count(each.count, each.of)}   "
            for number, sample in enumerate(each.samples):
                lines.append(f"{law if number == 0 else ' ' * len(law)}{one_line(sample)}")
        laws = len(report.violations)
        lines.append(f"{count(laws, 'law')} broken" if laws else "all laws hold")
    return "\n".join(lines)


def migrate_text(report: MigrateReport) -> str:
    """Return what differed, what the next run does, and what was written."""
    if not report.differs:
        return f"{report.model}: the table agrees with the model; nothing to migrate"
    lines = ["dry run: nothing is written"] * report.dry_run
    if report.adopted:
        lines.append(f"{report.model}: a table that penstock did not make keeps all laws")
    lines += [f"{report.model}: {one_line(change)}" for change in report.changes]
    if report.rehashed:
        would = "would be" if report.dry_run else "were"
        lines.append(f"the row hashes of current versions {would} rebuilt")
    opens = count(report.opens, "version")
    runs = f"the next run opens {opens} and closes {report.closes:,}"
    uncounted = f"what the next run does could not be counted: {report.uncounted}"
    lines.append(uncounted if report.uncounted else runs)
    if not report.dry_run:
        done = "adopted" if report.adopted else "migrated"
        lines.append(f"{done}  version {report.version}")
    return "\n".join(lines)


def verify_document(reports: Sequence[VerifyReport]) -> Json:
    """Return the broken invariants of each table, with samples."""
    laws = "violations[law title count of samples]"
    models = [
        document_of(report, f"model ok version versions keys current gaps {laws}")
        for report in reports
    ]
    return {"ok": all(report.ok for report in reports), "models": models}


migrate_document = partial(
    document_of,
    names="model version dry_run adopted rehashed changes opens closes uncounted metrics",
)
_RESTARTS = "This replaces every selected history table by a first run; its versions are gone."
Models = Annotated[Sequence[str], FlagSpec(names=("MODEL...",))]
Adopt = Annotated[bool, FlagSpec("Take over a table that penstock did not make.")]
Trial = Annotated[bool, FlagSpec("Check and count only; write nothing.", ("--dry-run",))]
snapshot_command = group(
    "penstock snapshot run --prune",
    """Update and verify history tables.

    A history table keeps every version of every row and the interval in which it was valid.
    """,
)


@command(
    "penstock snapshot run --select tag:daily\n"
    "penstock snapshot run --prune --keep-last 3 --dry-run",
    of=snapshot_command,
)
def snapshot_run(output: CommandOutput, request: SnapshotRequest, *, yes: Yes = False) -> int:
    """Bring history tables up to date.

    New and changed rows open versions; changed rows close their old one. Each table gets one
    commit, or none if nothing changed. Retention removes old versions.
    """
    from penstock.app.commands.plan import rehearse
    from penstock.app.commands.run import run

    if request.dry_run:
        return output.finish(request, ask(request, rehearse, request), snapshots_text)
    if request.full_refresh and not confirm(_RESTARTS, yes=yes):
        return 1
    with open_request(request) as services:
        # the table at the end says it all; lines above it only on request or on a terminal
        shows = output.verbose or output.json_log or output.is_live
        with output.progress(services) if shows else nullcontext(silent) as listener:
            report = run(services, request, listener)
        return output.finish(request, report, snapshots_text)


@command(
    "penstock snapshot backfill users_history --from 2024-01-01\n"
    "penstock snapshot backfill users_history --every day",
    of=snapshot_command,
)
def snapshot_backfill(output: CommandOutput, request: HistoryBackfillRequest) -> int:
    """Make a history out of the versions that its sources still have.

    Reads the versions of Delta sources one after the other, each as of the time of its commit.
    A history that has read some of them goes on after the last one.
    """
    from penstock.app.commands.snapshot_backfill import snapshot_backfill as backfill

    with open_request(request) as services:
        shows = output.verbose or output.json_log or output.is_live
        with output.progress(services) if shows else nullcontext(silent) as listener:
            report = backfill(services, request, listener)
        return output.finish(request, report, snapshots_text)


@command("penstock snapshot verify users_history", of=snapshot_command)
def snapshot_verify(output: CommandOutput, request: CommandRequest, models: Models) -> int:
    """Check the laws of history tables.

    Reads one version of each table once and writes nothing. Exits 3 if a law is broken.
    """
    from penstock.app.commands.verify import verify

    reports = ask(request, verify, models)
    is_ok = all(report.ok for report in reports)
    output.print(reports, verify_text, verify_document, unless_quiet=is_ok)
    return 0 if is_ok else CheckFailedError.exit_code


@command(
    "penstock snapshot migrate users_history --dry-run\n"
    "penstock snapshot migrate users_history --adopt",
    of=snapshot_command,
)
def snapshot_migrate(
    output: CommandOutput,
    request: CommandRequest,
    model: Name,
    *,
    adopt: Adopt = False,
    dry_run: Trial = False,
) -> None:
    """Apply a model's new settings to its history table.

    Checks the laws under the new settings, counts what the next run would open and close, then
    records the settings in the table's properties. Existing versions do not change.
    """
    from penstock.app.commands.migrate import migrate

    report = ask(request, migrate, model, adopt=adopt, dry_run=dry_run)
    output.print(report, migrate_text, migrate_document, unless_quiet=not dry_run)
