"""What `penstock check` says where no check was evaluated, and the way out of it."""

from __future__ import annotations

from penstock.app.checking.placing import NO_TABLE
from penstock.app.checking.reports import BOTH, CheckReport, CheckRequest
from penstock.core.errors import PenstockError
from penstock.ui.text_table import count

_UNBUILT = "never built"


def nothing_checked(request: CheckRequest, report: CheckReport) -> PenstockError | None:
    """Give the error `nothing-checked`, None where anything was evaluated."""
    if not report.evaluated_nothing:
        return None
    number = len(report.results)
    what = f"{count(number, 'check')} skipped" if number else "no check was selected"
    hint = _after_skips(report) if number else _after_none(request)
    return PenstockError("nothing-checked", f"{what}, none evaluated", hint=hint)


def _after_skips(report: CheckReport) -> str:
    messages = {result.message for result in report.results}
    if any(message == NO_TABLE or message.endswith(_UNBUILT) for message in messages):
        return "penstock run builds what is not there yet"
    return ""


def _after_none(request: CheckRequest) -> str:
    if request.sources:
        return "give a source freshness, with warn_after or error_after"
    if request.names:
        return "checks of that name stand in the other phase, or in other versions or partitions"
    if request.phases != BOTH:
        (phase,) = request.phases
        return f"leave --{phase} out: no selected model has checks of that phase"
    if request.everything:
        return "no model with checks has been built: penstock run"
    return "select models that have checks, or all of them with --all"
