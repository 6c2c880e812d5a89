"""`history`, `audit` and `rollback`: past executions, their code, and restoring a version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

from penstock.app.checking.results import check_document
from penstock.app.documents import Json, diff_document, document_of
from penstock.app.flags import FlagSpec, Yes, given_flags
from penstock.app.read_requests import HistoryRequest
from penstock.app.reports import AuditReport, HistoryReport, HistoryRow
from penstock.app.request import AuditRequest, RollbackRequest
from penstock.core.check_results import CheckRecord
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.core.steps.step import StepKind
from penstock.ui.cli.options import ask, command, open_request
from penstock.ui.cli.output import CommandOutput, overwrite_asker
from penstock.ui.render.check import scope_text
from penstock.ui.render.diffs import diffs_text, once
from penstock.ui.render.run import ABORTED
from penstock.ui.render.tables import RULE, table
from penstock.ui.render.values import WHOLE, day, moment, partitions_text, ranges_text, reason_text

if TYPE_CHECKING:
    from penstock.app.commands.history import CheckHistory
    from penstock.app.commands.rollback import RollbackReport

_CHECKSUM = 6
_FIRST = ("executed_at", "step", "partition", "status", "reason", "rows", "version")
_STEP = (
    "run=step.intent.run inputs=step.intent.inputs[input version=pin] "
    "deferred=step.intent.deferred[input target uri] "
    "table_version=step.outcome.version rows=step.outcome.rows[inserted updated deleted late]"
)
_SOURCE = 30
_FIRST_OF_AUDIT = ("query", "version", "status", "partitions")
_CHECK_COLUMNS = ("started", "phase", "check", "status", "severity", "by", "message")
_SIGNS = {"current": "✓", "modified": "⚠", "cosmetic": "~", "never_executed": "○", "deleted": "✗"}


def history_text(report: HistoryReport, *, verbose: bool = False) -> str:
    """Return one row per execution, newest first; with `verbose` its step, for `rollback`.

    Full texts of SQL follow if requested.
    """
    if not report.rows:
        return f"no executions of {report.model} {report.partition}".rstrip()
    of_many = not report.partition and any(row.execution.partition != "*" for row in report.rows)
    columns = ["executed_at"]
    columns += ["partition"] * of_many
    columns += ["version", "sql_checksum", "status", "rows", "seconds", "reason", "triggered_by"]
    columns += ["step"] * verbose
    found = [_cells(row) for row in report.rows]
    rows = [[cells[column] for column in columns] for cells in found]
    shown = table(columns, rows, right=("rows", "seconds"), first=_FIRST)
    lines = [shown, *_older(len(rows), report.truncated)]
    for row, cells in zip(report.rows, found, strict=True):
        if row.sql:
            named = ("executed_at", "partition", "version", "sql_checksum")
            lines += ["", "  ".join(cells[name] for name in named), RULE, mask(row.sql), RULE]
    return "\n".join(lines)


def _older(count: int, truncated: bool) -> list[str]:  # noqa: FBT001  as the report has it
    """Return a note that a list is cut, and how to see more of it."""
    return [f"the newest {count:,}; there are older ones, see --limit"] * truncated


def _cells(row: HistoryRow) -> dict[str, str]:
    one = row.execution
    beside = ", ".join(["reverted"] * row.reverted + ["--skip-checks"] * row.skipped_checks)
    return {
        "executed_at": moment(one.executed_at),
        "partition": one.partition,
        "version": one.fingerprint.label.removeprefix("v"),
        "sql_checksum": one.fingerprint.sql[:_CHECKSUM],
        "status": str(one.status),
        "rows": "-" if one.rows_written is None else f"{one.rows_written:,}",
        "seconds": f"{one.duration_ms / 1000:.1f}",
        "reason": one.failure.code if one.failure else _reason(row),
        "triggered_by": f"{one.triggered_by} ({beside})" if beside else one.triggered_by,
        "step": one.step or "-",
    }


def _reason(row: HistoryRow) -> str:
    """Return why a step ran, or what it changed if it changed no rows."""
    if row.step is not None and row.step.intent.kind is StepKind.ALTER:
        return "columns, comments or properties of the table"
    return reason_text(row.execution.reason) or "-"


def check_history_text(report: CheckHistory, *, verbose: bool = False) -> str:
    """Return one row per result, newest first; with `verbose` its step, or its run without one."""
    if not report.records:
        return "no results of checks"
    found = [_check_cells(record) for record in report.records]
    columns = [name for name in _CHECK_COLUMNS if name != "by" or verbose]
    if any(cells["partitions"] for cells in found):
        columns.insert(1, "partitions")
    rows = [[cells[name] for name in columns] for cells in found]
    shown = table(columns, rows, first=("started", "check", "status", "message"))
    return "\n".join([shown, *_older(len(found), report.truncated)])


def _check_cells(record: CheckRecord) -> dict[str, str]:
    result = record.result
    ends = (text.partition("..") for text in record.partitions)  # of a range, or of one key
    keys = tuple((first, last or first) for first, _, last in ends)
    details = f" [{result.details}]" if result.details else ""
    return {
        "started": moment(record.started),
        "partitions": "" if keys == WHOLE else ranges_text(keys),
        "phase": str(result.phase),
        "check": result.name,
        "status": str(result.status),
        "severity": str(result.severity),
        "by": f"step {record.step}" if record.step else f"check {record.run}",
        "message": mask(f"{result.message}{details}{scope_text(result)}"),
    }


def audit_text(report: AuditReport, *, modified_only: bool = False) -> str:
    """Return one row per version and revision, then the requested changes of SQL."""
    if not report.rows:
        return "No version is modified." if modified_only else "no versions"
    header = ["query", "version", "source", "status", "partitions", "executed"]
    rows, blocks = [], []
    for row in report.rows:
        words = row.source.split()
        source = mask(" ".join(words))
        if len(words) > 1 and len(source) > _SOURCE:  # inline SQL, and no file
            source = f"{source[:_SOURCE]}…"
        status = f"{_SIGNS[row.status]} {row.status}"
        days = "-" if row.first is None else f"{day(row.first)} to {day(row.last or row.first)}"
        rows.append([row.model, row.label, source, status, f"{row.partitions:,}", days])
        if row.diffs:
            total = partitions_text(sum(diff.count for diff in row.diffs))
            head = f"{row.model} {row.label}: {total}"
            blocks.append((head, diffs_text(row.diffs, lambda diff: partitions_text(diff.count))))
    return "\n\n".join([table(header, rows, first=_FIRST_OF_AUDIT), *once(blocks)])


def rollback_text(report: RollbackReport) -> str:
    """Return which partitions returned to which version, and what drifts as a result."""
    if report.aborted:
        return ABORTED
    done = "would be restored" if report.dry_run else "restored"
    back = f"version {report.version}, before step {report.step}"
    lines = [f"{report.model}: {done} to {back} ({partitions_text(report.count)})"]
    lines.append(f"    {ranges_text(report.partitions)}")
    if report.deleted:
        gone = partitions_text(report.deleted)
        lines.append(f"    {gone} without an earlier success: records deleted")
    lines += map(mask, report.lines)
    lines.append("Nothing was done." if report.dry_run else "Next: penstock status")
    return "\n".join(lines)


def history_document(report: HistoryReport) -> Json:
    """Return every execution, newest first; `sql` is null unless requested."""
    code = "version=fingerprint.version revision=fingerprint.revision?"
    executions = [
        {
            **document_of(one, f"executed_at partition {code} sql_checksum=fingerprint.sql status"),
            **document_of(row, "reverted skipped_checks"),
            **document_of(one, "reason triggered_by executed_by step? rows_written bytes_written"),
            **document_of(row, _STEP),
            "duration": one.duration_ms / 1000,
            "error": document_of(one.failure, "code message") if one.failure else None,
            **document_of(row, "sql?"),
        }
        for row in report.rows
        for one in [row.execution]
    ]
    head = document_of(report, "model partition? truncated")
    return {"command": "history", **head, "executions": executions}


def audit_document(report: AuditReport) -> Json:
    """Return every version and revision in the files or on record."""
    names = "model version revision? source status partitions first last"
    versions = [
        {**document_of(row, names), "diffs": [diff_document(diff) for diff in row.diffs]}
        for row in report.rows
    ]
    return {"command": "audit", "versions": versions}


rollback_document = functools.partial(
    document_of,
    names="command='rollback' model step restored_to=version ranges=partitions count deleted "
    "committed dry_run aborted lines",
)


def check_history_document(model: str, report: CheckHistory) -> Json:
    """Return results of a model's checks, newest first; `step` is null for `penstock check`."""
    names = "started step? run groups=partitions version"
    checks = [
        {**document_of(each, names), **check_document(each.result)} for each in report.records
    ]
    return {
        "command": "history",
        "model": model,
        "checks": checks,
        "truncated": report.truncated,
    }


ItsChecks = Annotated[bool, FlagSpec("Show results of its checks instead.", ("--checks",))]
Called = Annotated[
    str | None, FlagSpec("With --checks: only the check with this name.", ("--check",), "NAME")
]


@command("penstock history daily_user_stats --partition 2024-12-01")
def history_command(
    output: CommandOutput,
    request: HistoryRequest,
    *,
    checks: ItsChecks = False,
    name: Called = None,
) -> None:
    """Show the executions of a model, newest first.

    --verbose adds the step ids that 'penstock rollback' takes.
    """
    if checks:
        _show_checks(output, request, name)
        return
    if name is not None:
        raise UsageError("option-conflict", "--check needs --checks", hint="add --checks")
    from penstock.app.commands.history import history

    text = functools.partial(history_text, verbose=output.verbose)
    output.print(ask(request, history, request), text, history_document)


def _show_checks(output: CommandOutput, request: HistoryRequest, name: str | None) -> None:
    if others := given_flags(request, ("partition", "show_sql")):
        sentence = f"--checks and {', '.join(others)} exclude each other"
        raise UsageError("option-conflict", sentence, hint="leave --checks out")
    from penstock.app.commands.history import check_history

    found = ask(request, check_history, request, name)
    text = functools.partial(check_history_text, verbose=output.verbose)
    output.print(found, text, functools.partial(check_history_document, request.model))


@command("penstock audit --modified-only --diff")
def audit_command(output: CommandOutput, request: AuditRequest) -> int:
    """Compare every version's SQL with what was run.

    One row per version and revision, in the files or on record.
    """
    from penstock.app.commands.audit import audit

    found = ask(request, audit, request)
    text = functools.partial(audit_text, modified_only=request.modified_only)
    output.print(found, text, audit_document)
    return 1 if request.modified_only and found.rows else 0


@command("penstock rollback daily_user_stats --to 0190a3c4 --dry-run")
def rollback_command(output: CommandOutput, request: RollbackRequest, *, yes: Yes = False) -> int:
    """Restore a table to the version before a step.

    'penstock history MODEL --verbose' lists the steps; a unique prefix is enough. The records of
    the partitions are restored as well.
    """
    from penstock.app.commands.rollback import rollback

    with open_request(request) as services:
        report = rollback(services, request, overwrite_asker(services.clock.now, yes=yes))
    is_done = not (request.dry_run or report.aborted)
    output.print(report, rollback_text, rollback_document, unless_quiet=is_done)
    return 1 if report.aborted else 0
