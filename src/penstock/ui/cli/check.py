"""`penstock check`."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Any

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.shared import AS_OF, FROM, TO, asked_range, run_timestamp_of

if TYPE_CHECKING:
    from penstock.app.checking.reports import CheckRequest
    from penstock.core.checks import Phase


@click.command(
    epilog=example(
        "penstock check --query daily_user_stats --date 2024-12-01",
        "penstock check --all --strict",
        "penstock check --accept 0192a3c4 --reason 'a holiday'",
    )
)
@click.option(
    "--all", "everything", is_flag=True, help="Every model with checks, every built partition."
)
@click.option("--date", metavar="D", help="The partitions that hold this date.")
@FROM
@TO
@click.option("--partition", metavar="P", default="", help="This partition.")
@click.option("--before", is_flag=True, help="The checks before the step.")
@click.option("--after", is_flag=True, help="The checks after the step; default: both.")
@click.option("--check", "names", metavar="NAME", multiple=True, help="Only checks of this name.")
@click.option("--sources", is_flag=True, help="How old sources are, instead of checks of models.")
@click.option("--strict", is_flag=True, help="Exit 1 for a failed warning, too.")
@click.option("--no-record", is_flag=True, help="Write nothing to the state.")
@click.option("--no-sample", is_flag=True, help="Read no rows that break a check.")
@click.option("--accept", metavar="STEP", help="Close the open flags of a step; with --reason.")
@click.option("--reason", metavar="TEXT", help="Why rows that failed are right.")
@click.option(
    "--drop-quarantine", "drop", metavar="STEP|all", help="Drop rows that a step kept, now."
)
@AS_OF
@selection_options
@project_options
def command(scope: Scope, selection: Selection, **asked: Any) -> int:  # noqa: ANN401  click gives them
    """Evaluate checks on the rows of today.

    Writes no data and takes no lease; results are recorded. Exits 1 if a check of severity error
    failed, or if no check was evaluated at all. Without a range: the newest partition that is due.
    """
    accept, reason, drop = (asked.pop(name) for name in ("accept", "reason", "drop"))
    request = _request(selection, asked)
    if accept is None and drop is None and reason is None:
        return _evaluate(scope, request)
    _refuse_beside(request, accept, reason, drop)
    return _settle(scope, accept, reason, drop)


def _request(selection: Selection, asked: dict[str, Any]) -> CheckRequest:
    from penstock.app.checking.flags import refuse_conflicts
    from penstock.app.checking.reports import CheckRequest
    from penstock.core.masking import mask

    words = click.get_current_context().obj or []
    request = CheckRequest(
        select=selection.select,
        exclude=selection.exclude,
        everything=asked["everything"],
        range=asked_range(asked["first"], asked["last"], date=asked["date"]),
        partition=asked["partition"],
        phases=_phases(before=asked["before"], after=asked["after"]),
        names=asked["names"],
        sources=asked["sources"],
        strict=asked["strict"],
        record=not asked["no_record"],
        sample=not asked["no_sample"],
        as_of=run_timestamp_of(asked["as_of"]),
        arguments=mask(shlex.join(words)),
    )
    refuse_conflicts(request, words)
    return request


def _phases(*, before: bool, after: bool) -> frozenset[Phase]:
    from penstock.app.checking.reports import BOTH
    from penstock.core.checks import Phase

    if before == after:
        return BOTH
    return frozenset({Phase.BEFORE if before else Phase.AFTER})


def _evaluate(scope: Scope, request: CheckRequest) -> int:
    from penstock.app.commands.check import check
    from penstock.ui.json_checks import checks_document
    from penstock.ui.text_check import check_text
    from penstock.ui.text_errors import error_text
    from penstock.ui.text_nothing_checked import nothing_checked

    output = scope.output
    with scope.opened() as services:
        report = check(services, request)
    for note in report.notes:
        output.warn(note)
    nothing = nothing_checked(request, report)
    text = functools.partial(check_text, verbose=output.verbose, quiet=output.quiet)
    answer = output.tell if not any(result.failed for result in report.results) else output.give
    answer(report, text, functools.partial(checks_document, error=nothing))
    if nothing is not None:
        click.echo(error_text(nothing), err=True)
    return 0 if report.ok else 1


def _refuse_beside(
    request: CheckRequest, accept: str | None, reason: str | None, drop: str | None
) -> None:
    """Refuse flags that say what to evaluate beside those that evaluate nothing."""
    from dataclasses import replace

    from penstock.app.checking.reports import CheckRequest
    from penstock.core.errors import UsageError

    if reason is not None and accept is None:
        raise UsageError("option-conflict", "--reason belongs to --accept", hint="--accept STEP")
    if accept is not None and drop is not None:
        raise UsageError("option-conflict", "--accept and --drop-quarantine exclude each other")
    if accept is not None and not (reason or "").strip():
        raise UsageError(
            "option-conflict", "--accept needs --reason", hint="--reason 'why the rows are right'"
        )
    flag = "--accept" if accept is not None else "--drop-quarantine"
    if replace(request, arguments="") != CheckRequest():
        raise UsageError(
            "option-conflict",
            f"{flag} evaluates nothing and goes with no flag that says what to evaluate",
            hint=f"penstock check {flag} {accept or drop}",
        )


def _settle(scope: Scope, accept: str | None, reason: str | None, drop: str | None) -> int:
    from penstock.app.checking.closing import accept as close
    from penstock.app.checking.closing import drop_quarantine
    from penstock.ui.json_checks import accept_document
    from penstock.ui.text_check import accept_text

    with scope.opened() as services:
        if accept is not None:
            report = close(services, accept, (reason or "").strip())
        else:
            report = drop_quarantine(services, drop or "")
    scope.output.tell(report, accept_text, accept_document)
    return 0
