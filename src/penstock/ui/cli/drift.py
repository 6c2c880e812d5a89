"""What changed since tables were built: `status`, `diff`, `history`, `audit`."""

from __future__ import annotations

import functools
from typing import Annotated

from penstock.app.flags import FlagSpec, given
from penstock.app.request import AuditRequest, DiffRequest, HistoryRequest, StatusRequest
from penstock.core.errors import UsageError
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput

FailOnDrift = Annotated[bool, FlagSpec("Exit 1 if a partition drifted.")]
Context = Annotated[
    int | None, FlagSpec("Unchanged lines to show around each change.", metavar="N", least=0)
]
ItsChecks = Annotated[bool, FlagSpec("Show results of its checks instead.", ("--checks",))]
Called = Annotated[
    str | None, FlagSpec("With --checks: only the check with this name.", ("--check",), "NAME")
]


@command("penstock status --days 30\npenstock status --state sql_changed,tampered --fail-on-drift")
def status_command(
    output: CommandOutput, request: StatusRequest, *, fail_on_drift: FailOnDrift = False
) -> int:
    """Show which partitions are no longer current.

    Compares records, code, inputs and tables; starts no Spark and writes nothing. A table without
    partitions counts as one.
    """
    from penstock.app.commands.status import status
    from penstock.ui.render.status import status_document, status_text

    report = ask(request, status, request)
    text = functools.partial(status_text, verbose=output.verbose, request=request)
    output.print(report, text, status_document, colours=True)
    return 1 if fail_on_drift and report.drifted else 0


@command("penstock diff daily_user_stats --context 3")
def diff_command(output: CommandOutput, request: DiffRequest, context: Context = None) -> None:
    """Show what changed since the partitions were built.

    One diff per pair of SQL texts: the recorded one and the one in the files.
    """
    from penstock.app.commands.diff import diff
    from penstock.ui.render.status import differences_document, differences_text

    text = functools.partial(differences_text, context=context or 0, verbose=output.verbose)
    document = functools.partial(differences_document, context=context or 0)
    output.print(ask(request, diff, request), text, document)


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
    from penstock.ui.render.history import history_document, history_text

    text = functools.partial(history_text, verbose=output.verbose)
    output.print(ask(request, history, request), text, history_document)


def _show_checks(output: CommandOutput, request: HistoryRequest, name: str | None) -> None:
    if others := given(request, ("partition", "show_sql")):
        sentence = f"--checks and {', '.join(others)} exclude each other"
        raise UsageError("option-conflict", sentence, hint="leave --checks out")
    from penstock.app.commands.history import check_history
    from penstock.ui.render.history import check_history_document, check_history_text

    found = ask(request, check_history, request, name)
    text = functools.partial(check_history_text, verbose=output.verbose)
    output.print(found, text, functools.partial(check_history_document, request.model))


@command("penstock audit --modified-only --diff")
def audit_command(output: CommandOutput, request: AuditRequest) -> int:
    """Compare every version's SQL with what was run.

    One row per version and revision, in the files or on record.
    """
    from penstock.app.commands.audit import audit
    from penstock.ui.render.history import audit_document, audit_text

    found = ask(request, audit, request)
    text = functools.partial(audit_text, modified_only=request.modified_only)
    output.print(found, text, audit_document)
    return 1 if request.modified_only and found.rows else 0
