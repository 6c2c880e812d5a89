"""The command that takes up a failed run where it stopped."""

from __future__ import annotations

import shlex

from penstock.app.reports import RunReport
from penstock.app.request import RunRequest


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
    words = ["penstock", report.command, "--select", " ".join(left)]
    words += ["--full-refresh"] * request.full_refresh + ["--adopt"] * request.adopt
    if request.as_of is not None:
        words += ["--as-of", request.as_of.isoformat()]
    return shlex.join(words)
