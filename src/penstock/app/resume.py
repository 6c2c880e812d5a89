"""The command that takes up a failed run where it stopped."""

from __future__ import annotations

import shlex

from penstock.app.reports import RunReport
from penstock.app.request import AnyRun, AnySync, SnapshotRequest
from penstock.app.request.flags import command_words
from penstock.core.errors import CheckFailedError

_NAMED = 20
_MODELS = ("select", "exclude")
_CHECKS = ("skip_checks", "on_failure")
# What decides which rows are made; how fast, and how many at a time, is asked for anew.
_ROWS = (
    *("states", "date", "from_", "to", "days", "everything", "cascade"),
    *("full_refresh", "adopt", "allow_breaking", "allow_source_mutation"),
    *("prune", "keep_last", "no_prune", "allow_empty"),
    *("as_of", *_CHECKS),
)


def resume_sync(report: RunReport, request: AnySync) -> str:
    """Give the command that does what is left of a sync or backfill, "" if nothing is.

    What is done is current, so the same sync does only the rest; a backfill does all again.
    """
    done = {(result.name, result.partitions) for result in report.results if result.ok}
    left = any((step.model, step.keys) not in done for step in report.plan.steps)
    if not left and not report.plan.blocked:
        return ""
    words = ["penstock", request.command, *[request.model] * bool(request.model)]
    return shlex.join([*words, *command_words(request, (*_MODELS, *_ROWS)), "--yes"])


def resume_command(report: RunReport, request: AnyRun) -> str:
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
        return shlex.join(["penstock", "sync", *flagged, *command_words(request, _CHECKS)])
    words = ["penstock", *report.command.split()]
    if len(left) <= _NAMED:
        words += ["--select", " ".join(left)]
    else:  # what is done is current, so the same selection does only what is left
        words += command_words(request, _MODELS)
    words += command_words(request, _ROWS)
    # only `snapshot run` asks before it builds anew
    words += ["--yes"] * (request.full_refresh and isinstance(request, SnapshotRequest))
    return shlex.join(words)


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
