"""Closing flags by hand and dropping quarantines; no JVM starts (spec/checks.md §5.6)."""

from __future__ import annotations

from penstock.app.checking.reports import AcceptReport
from penstock.app.checking.staging import drop_quarantine as drop
from penstock.app.services.services import Services, user_name
from penstock.core.check_results import CheckStatus, Flag, InvariantReport
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges, holds


def accept(services: Services, step: str, reason: str) -> AcceptReport:
    """Close the open flags of a step, named by any unique beginning of its id.

    Raises `unknown-step`; a reason is asked for because the history keeps it.
    """
    if not reason.strip():
        raise UsageError("missing-key", "--accept needs --reason", hint="--reason 'why it is good'")
    flags = services.reading.checks.flags()
    known = sorted({flag.step for flag in flags if flag.step.startswith(step)}) if step else []
    if len(known) != 1:
        why = f"{len(known)} steps begin so" if known else "no step with an open flag begins so"
        raise UsageError("unknown-step", f"{step!r}: {why}", hint="penstock status shows the flags")
    chosen = tuple(flag for flag in flags if flag.step == known[0])
    services.writing.journal.close_flags(chosen, reason, user_name())
    return AcceptReport(flags=chosen)


def drop_quarantine(services: Services, step: str) -> AcceptReport:
    """Remove the rows that one step had kept, or with `all` those of every step.

    Raises `unknown-step`.
    """
    kept = services.reading.checks.quarantines()
    chosen = kept if step == "all" else tuple(q for q in kept if step and q.step.startswith(step))
    if step != "all" and len({each.step for each in chosen}) != 1:
        raise UsageError(
            "unknown-step",
            f"{step!r} names no quarantine",
            hint="penstock status lists them; --drop-quarantine all drops every one",
        )
    for each in chosen:
        drop(services, each)
    return AcceptReport(quarantines=chosen)


def close_passed(
    services: Services, model: Model, report: InvariantReport, partitions: Ranges
) -> None:
    """Close the flags of partitions that were looked at and pass every check that failed then."""
    flags = [
        flag
        for flag in services.writing.checks.flags()
        if flag.model == model.name
        and holds(partitions, flag.ord)
        and _passes(report, flag, model.grid)
    ]
    if flags:
        services.writing.journal.close_flags(flags, "penstock check", user_name())


def _passes(report: InvariantReport, flag: Flag, grid: Grid) -> bool:
    """Whether every check that a flag names was looked at and holds for its partition now."""
    by_name = {result.name: result for result in report.after}
    found = [by_name.get(name) for name in flag.checks]
    here = ((flag.ord, flag.ord),)
    return all(
        each is not None
        and each.status is not CheckStatus.SKIPPED
        and not each.failed_ords(grid, here)
        for each in found
    )
