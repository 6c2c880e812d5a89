"""How a finished step moves the high time of its table: the greatest run timestamp in it."""

from __future__ import annotations

import datetime as dt

from penstock.core.step import Intent, Outcome
from penstock.state.partition_rules import BUILDS


def high_time_after(
    intent: Intent, outcome: Outcome, before: dt.datetime | None, *, settles: bool = True
) -> dt.datetime | None:
    """Give the high time that a success leaves: only upwards, unless the table began anew.

    A step that committed nothing, or no rows of a run, leaves it. A first load or a full refresh
    (`lowers_watermarks`) sets it to its own run timestamp; one that does not settle, because the
    records are newer, only raises it.
    """
    if outcome.version is None or intent.kind not in BUILDS:
        return before
    if before is None or (settles and intent.lowers_watermarks):
        return intent.run_timestamp
    return max(before, intent.run_timestamp)
