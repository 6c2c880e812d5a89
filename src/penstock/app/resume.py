"""The command that takes up a failed run where it stopped."""

from __future__ import annotations

import shlex

from penstock.app.reports import RunReport
from penstock.app.request import RunRequest

_NAMED = 20


def resume_command(report: RunReport, request: RunRequest) -> str:
    """Give the command that does only what is left, "" if nothing is.

    >>> words = ["penstock", "run", "--select", "a b"]
    >>> shlex.join(words)
    "penstock run --select 'a b'"
    """
    left = [name for name, result in report.items() if not result.ok]
    done = {result.name for result in report.results}
    left += [step.model for step in report.plan.steps if step.model not in done]
    if not left:
        return ""
    words = ["penstock", *report.command.split()]
    if len(left) <= _NAMED:
        words += ["--select", " ".join(left)]
    else:  # what is done is current, so the same selection does only what is left
        words += [word for each in request.select for word in ("--select", each)]
        words += [word for each in request.exclude for word in ("--exclude", each)]
    words += ["--full-refresh"] * request.full_refresh + ["--adopt"] * request.adopt
    if request.snapshot is not None:
        words += request.snapshot.words() + ["--yes"] * request.full_refresh
    if request.as_of is not None:
        words += ["--as-of", request.as_of.isoformat()]
    return shlex.join(words)
