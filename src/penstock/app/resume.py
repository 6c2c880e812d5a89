"""The command that takes up a failed run where it stopped."""

from __future__ import annotations

import shlex

from penstock.app.reports import RunReport
from penstock.app.request import RunRequest, SyncRequest
from penstock.core.errors import CheckFailedError

_NAMED = 20


def resume_sync(report: RunReport, request: SyncRequest) -> str:
    """Give the command that does what is left of a sync or backfill, "" if nothing is.

    What is done is current, so the same sync does only the rest; a backfill does all again.
    """
    done = {(result.name, result.partitions) for result in report.results if result.ok}
    left = any((step.model, step.keys) not in done for step in report.plan.steps)
    if not left and not report.plan.blocked:
        return ""
    words = ["penstock", *request.command.split()]
    words += [request.backfill] if request.backfill else []
    words += [word for each in request.select for word in ("--select", each)]
    words += [word for each in request.exclude for word in ("--exclude", each)]
    words += [word for each in request.states for word in ("--state", each)]
    asked = request.range
    for flag, value in (("--from", asked.first), ("--to", asked.last), ("--days", asked.days)):
        words += [flag, str(value)] if value is not None else []
    words += ["--all"] * request.everything + ["--cascade"] * request.cascade
    words += ["--full-refresh"] * request.full_refresh
    words += ["--allow-breaking"] * request.allow_breaking
    words += ["--allow-source-mutation"] * request.allow_source_mutation
    words += ["--as-of", request.as_of.isoformat()] if request.as_of is not None else []
    return shlex.join([*words, *_of_checks(request), "--yes"])


def resume_command(report: RunReport, request: RunRequest) -> str:
    """Give the command that does only what is left, "" if nothing is.

    >>> words = ["penstock", "run", "--select", "a b"]
    >>> shlex.join(words)
    "penstock run --select 'a b'"
    """
    left = list(dict.fromkeys(r.name for r in report.results if not r.ok))
    done = {result.name for result in report.results}
    left += [step.model for step in report.plan.steps if step.model not in done]
    left = list(dict.fromkeys(left))
    if not left:
        return ""
    flagged = _flagged(report)
    if flagged is not None:
        return shlex.join(["penstock", "sync", *flagged, *_of_checks(request)])
    words = ["penstock", *report.command.split()]
    if len(left) <= _NAMED:
        words += ["--select", " ".join(left)]
    else:  # what is done is current, so the same selection does only what is left
        words += [word for each in request.select for word in ("--select", each)]
        words += [word for each in request.exclude for word in ("--exclude", each)]
    words += ["--full-refresh"] * request.full_refresh + ["--adopt"] * request.adopt
    asked = request.range
    for flag, value in (("--from", asked.first), ("--to", asked.last)):
        words += [flag, value] if value is not None else []
    if request.snapshot is not None:
        words += request.snapshot.words() + ["--yes"] * request.full_refresh
    if request.as_of is not None:
        words += ["--as-of", request.as_of.isoformat()]
    return shlex.join([*words, *_of_checks(request)])


def _flagged(report: RunReport) -> list[str] | None:
    """Give what of one model's partitions failed its checks, if nothing else is left."""
    left = [result for result in report.results if not result.ok]
    if not left or any(result.partitions == (("*", "*"),) for result in left):
        return None
    checked = all(isinstance(result.error, CheckFailedError) for result in left)
    if not checked or len({result.name for result in left}) > 1:
        return None
    first, last = left[0].partitions[0][0], left[-1].partitions[-1][1]
    return ["--query", left[0].name, "--from", first, "--to", last]


def _of_checks(request: RunRequest | SyncRequest) -> list[str]:
    mode = ["--on-failure", str(request.on_failure)] if request.on_failure else []
    return ["--skip-checks"] * request.skip_checks + mode
