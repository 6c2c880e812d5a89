"""How a finished step moves the high time of its table: the greatest run timestamp in it."""

from __future__ import annotations

import datetime as dt

from penstock.core.step import Intent, Outcome, StepKind


def high_time_after(
    intent: Intent, outcome: Outcome, before: dt.datetime | None, *, settles: bool = True
) -> dt.datetime | None:
    """Give the high time that a success leaves: only upwards, unless the table began anew.

    A step that committed nothing or only metadata leaves it. A first load or a full refresh
    (`lowers_watermarks`) sets it to its own run timestamp; one that does not settle, because the
    records are newer, only raises it.
    """
    if outcome.version is None or intent.kind is StepKind.ALTER:
        return before
    if before is None or (settles and intent.lowers_watermarks):
        return intent.run_timestamp
    return max(before, intent.run_timestamp)
