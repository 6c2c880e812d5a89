"""`penstock check`."""

from __future__ import annotations

import functools
from dataclasses import replace

import click

from penstock.app.request import CheckRequest
from penstock.core.errors import UsageError
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_ACCEPT = click.option(
    "--accept", metavar="STEP", help="Close the open flags of a step; with --reason."
)
_REASON = click.option("--reason", metavar="TEXT", help="Why rows that failed are right.")
_DROP = click.option(
    "--drop-quarantine", "drop", metavar="STEP|all", help="Drop rows that a step kept, now."
)


@click.command(
    epilog=example(
        "penstock check --query daily_user_stats --date 2024-12-01",
        "penstock check --all --strict",
        "penstock check --accept 0192a3c4 --reason 'a holiday'",
    )
)
@takes(CheckRequest, _ACCEPT, _REASON, _DROP)
def command(
    output: CommandOutput,
    request: CheckRequest,
    accept: str | None,
    reason: str | None,
    drop: str | None,
) -> int:
    """Evaluate checks on the rows of today.

    Writes no data and takes no lease; results are recorded. Exits 1 if a check of severity error
    failed, or if no check was evaluated at all. Without a range: the newest partition that is due.
    """
    if accept is None and drop is None and reason is None:
        return _evaluate(output, request)
    _refuse_beside(request, accept, reason, drop)
    from penstock.app.checking.flags import accept as close
    from penstock.app.checking.flags import drop_quarantine
    from penstock.ui.render.check import accept_document, accept_text

    with opened(request) as services:
        if accept is not None:
            report = close(services, accept, (reason or "").strip())
        else:
            report = drop_quarantine(services, drop or "")
    output.print(report, accept_text, accept_document, unless_quiet=True)
    return 0


def _evaluate(output: CommandOutput, request: CheckRequest) -> int:
    from penstock.app.commands.check import check
    from penstock.ui.render.check import check_text, checks_document, nothing_checked
    from penstock.ui.render.errors import error_text

    with opened(request) as services:
        report = check(services, request)
    for note in report.notes:
        output.warn(note)
    nothing = nothing_checked(request, report)
    output.print(
        report,
        functools.partial(check_text, verbose=output.verbose, quiet=output.quiet),
        functools.partial(checks_document, error=nothing),
        unless_quiet=not any(result.failed for result in report.results),
    )
    if nothing is not None:
        click.echo(error_text(nothing), err=True)
    return 0 if report.ok else 1


def _refuse_beside(
    request: CheckRequest, accept: str | None, reason: str | None, drop: str | None
) -> None:
    """Refuse flags that say what to evaluate beside those that evaluate nothing."""
    if reason is not None and accept is None:
        raise UsageError("option-conflict", "--reason belongs to --accept", hint="--accept STEP")
    if accept is not None and drop is not None:
        raise UsageError("option-conflict", "--accept and --drop-quarantine exclude each other")
    if accept is not None and not (reason or "").strip():
        raise UsageError(
            "option-conflict", "--accept needs --reason", hint="--reason 'why the rows are right'"
        )
    flag = "--accept" if accept is not None else "--drop-quarantine"
    of_place = CheckRequest(request.project, target=request.target, variables=request.variables)
    if replace(request, arguments="") != of_place:
        raise UsageError(
            "option-conflict",
            f"{flag} evaluates nothing and goes with no flag that says what to evaluate",
            hint=f"penstock check {flag} {accept or drop}",
        )
