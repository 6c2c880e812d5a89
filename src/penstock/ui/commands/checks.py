"""`penstock check` and `penstock test`."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from penstock.app.flags import FlagSpec
from penstock.app.request import CheckRequest, UnitTestRequest
from penstock.core.errors import CheckFailedError, UsageError
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput, say

if TYPE_CHECKING:
    from penstock.app.unit_testing.differences import UnitResult

Accept = Annotated[
    str | None, FlagSpec("Close the open flags of a step; needs --reason.", metavar="STEP")
]
Reason = Annotated[str | None, FlagSpec("Why the flagged rows are right.", metavar="TEXT")]
Drop = Annotated[
    str | None, FlagSpec("Drop quarantined rows of a step now.", ("--drop-quarantine",), "STEP|all")
]
Suggest = Annotated[
    str | None,
    FlagSpec("Propose checks of a model from its rows, as YAML; runs none.", metavar="MODEL"),
]


@command(
    "penstock check --query daily_user_stats --date 2024-12-01\n"
    "penstock check --all --strict\n"
    "penstock check --accept 0192a3c4 --reason 'a holiday'\n"
    "penstock check --suggest daily_user_stats"
)
def check_command(
    output: CommandOutput,
    request: CheckRequest,
    accept: Accept = None,
    reason: Reason = None,
    drop: Drop = None,
    suggest: Suggest = None,
) -> int:
    """Run checks against the current tables.

    Writes no data and takes no lease; results are recorded. Exits 3 if a check of severity error
    failed, 1 if no check ran at all. Without a range it checks the newest partition that is due.
    """
    if suggest is not None:
        return _suggest(output, request, suggest, (accept, reason, drop))
    if accept is None and drop is None and reason is None:
        return _evaluate(output, request)
    _refuse_beside(request, accept, reason, drop)
    from penstock.app.checking.flags import accept as close
    from penstock.app.checking.flags import drop_quarantine
    from penstock.ui.render.check import accept_document, accept_text

    if accept is not None:
        report = ask(request, close, accept, (reason or "").strip())
    else:
        report = ask(request, drop_quarantine, drop or "")
    output.print(report, accept_text, accept_document, unless_quiet=True)
    return 0


def _evaluate(output: CommandOutput, request: CheckRequest) -> int:
    from penstock.app.commands.check import check
    from penstock.ui.render.check import check_text, checks_document, nothing_checked
    from penstock.ui.render.values import error_text

    report = ask(request, check, request)
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
        say(error_text(nothing), err=True)
        return nothing.exit_code
    return 0 if report.ok else CheckFailedError.exit_code


def _refuse_beside(
    request: CheckRequest, accept: str | None, reason: str | None, drop: str | None
) -> None:
    """Raise for flags about what to evaluate beside flags that evaluate nothing."""
    conflict = functools.partial(UsageError, "option-conflict")
    if reason is not None and accept is None:
        raise conflict("--reason belongs to --accept", hint="--accept STEP")
    if accept is not None and drop is not None:
        raise conflict("--accept and --drop-quarantine exclude each other")
    if accept is not None and not (reason or "").strip():
        raise conflict("--accept needs --reason", hint="--reason 'why the rows are right'")
    flag = "--accept" if accept is not None else "--drop-quarantine"
    _refuse_choices(request, flag, accept or drop or "", sample=True)


def _refuse_choices(request: CheckRequest, flag: str, value: str, *, sample: bool) -> None:
    """Raise for flags that choose what to evaluate."""
    project, target, variables = request.project, request.target, request.variables
    of_place = CheckRequest(project, target=target, variables=variables, sample=sample)
    if replace(request, arguments="") != of_place:
        raise UsageError(
            "option-conflict",
            f"{flag} evaluates nothing and goes with no flag that says what to evaluate",
            hint=f"penstock check {flag} {value}",
        )


def _suggest(
    output: CommandOutput, request: CheckRequest, name: str, others: tuple[str | None, ...]
) -> int:
    from penstock.app.commands.check import suggest
    from penstock.ui.render.check import suggest_document, suggest_text

    if any(each is not None for each in others):
        sentence = "--suggest goes with none of --accept, --reason and --drop-quarantine"
        raise UsageError("option-conflict", sentence, hint=f"penstock check --suggest {name}")
    _refuse_choices(request, "--suggest", name, sample=request.sample)
    report = ask(request, functools.partial(suggest, sample=request.sample), name)
    output.print(report, suggest_text, suggest_document, is_code=True)
    return 0


@command("penstock test --select staging.users\npenstock test --fail-fast")
def test_command(output: CommandOutput, request: UnitTestRequest) -> int:
    """Run unit tests of models.

    Each test under tests/ runs its model's whole step on the rows it gives, in a temporary
    warehouse. The project's own tables and state are not touched.
    """
    from penstock.app.commands.test import run_tests
    from penstock.ui.render.check import result_text, unit_tests_document, unit_tests_text

    def show(result: UnitResult) -> None:
        if output.verbose and result.passed and not output.as_json:
            say(result_text(result))

    report = ask(request, run_tests, request, show)
    output.print(report, unit_tests_text, unit_tests_document, unless_quiet=report.ok)
    return 0 if report.ok else 1
