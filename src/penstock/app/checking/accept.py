"""Closing flags by hand and dropping quarantines; no JVM starts (spec/checks.md §5.6)."""

from __future__ import annotations

from penstock.app.checking.reports import AcceptReport
from penstock.app.checking.staging import drop_quarantine as drop
from penstock.app.shop import Shop, user_name
from penstock.core.errors import UsageError


def accept(shop: Shop, step: str, reason: str) -> AcceptReport:
    """Close the open flags of a step, named by any unique beginning of its id.

    Raises `unknown-step`; a reason is asked for because the history keeps it.
    """
    if not reason.strip():
        raise UsageError("missing-key", "--accept needs --reason", hint="--reason 'why it is good'")
    flags = shop.reading.checks.flags()
    known = sorted({flag.step for flag in flags if flag.step.startswith(step)}) if step else []
    if len(known) != 1:
        why = f"{len(known)} steps begin so" if known else "no step with an open flag begins so"
        raise UsageError("unknown-step", f"{step!r}: {why}", hint="penstock status shows the flags")
    chosen = tuple(flag for flag in flags if flag.step == known[0])
    shop.writing.journal.close_flags(chosen, reason, user_name())
    return AcceptReport(flags=chosen)


def drop_quarantine(shop: Shop, step: str) -> AcceptReport:
    """Remove the rows that one step had kept, or with `all` those of every step.

    Raises `unknown-step`.
    """
    kept = shop.reading.checks.quarantines()
    chosen = kept if step == "all" else tuple(q for q in kept if step and q.step.startswith(step))
    if step != "all" and len({each.step for each in chosen}) != 1:
        raise UsageError(
            "unknown-step",
            f"{step!r} names no quarantine",
            hint="penstock status lists them; --drop-quarantine all drops every one",
        )
    for each in chosen:
        drop(shop, each)
    return AcceptReport(quarantines=chosen)
