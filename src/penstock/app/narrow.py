"""The partitions that --from, --to and --days name (spec/drift.md §2)."""

from __future__ import annotations

import datetime as dt

from penstock.app.request import Range
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.core.partition import Grain
from penstock.core.ranges import Range as Numbers
from penstock.core.ranges import Ranges, intersection, merged
from penstock.plan.judge import Verdict


def narrowed(model: Model, given: Range, moment: dt.datetime, known: Ranges) -> Ranges:
    """Give the known partitions of a model in the range; `*` is never narrowed.

    Raises `invalid-partition`, and `bad-value` where the range ends before it begins.
    """
    grid = model.grid
    if given.is_open or grid.grain is Grain.WHOLE or not known:
        return known
    if given.days is not None:
        if grid.grain is Grain.RANGE:
            return known
        today = moment.date()
        return intersection(known, (grid.holding(today - dt.timedelta(given.days - 1), today),))
    low = grid.bound(given.first, last=False) if given.first is not None else known[0][0]
    high = grid.bound(given.last, last=True) if given.last is not None else known[-1][1]
    if low > high and given.first is not None and given.last is not None:
        raise UsageError(
            "bad-value",
            f"--from {given.first} lies after --to {given.last}",
            hint="turn them round",
        )
    return intersection(known, merged([(low, high)]))


def check_named(model: Model, given: Range, verdict: Verdict, there: Ranges) -> None:
    """Refuse a range of which nothing can be run (exit 2): not due yet, or before any version.

    Inside a range such partitions are passed over.
    """
    asked = named_range(model, given)
    if asked is None:
        return
    low, high = asked
    grid = model.grid
    if there and low > there[-1][1]:
        raise UsageError(
            "partition-not-due",
            f"{model.name} {grid.key(low)} is not due; the newest due partition is "
            f"{grid.key(there[-1][1])}",
            hint="wait, or name an earlier one",
        )
    first = verdict.segments[0].low if verdict.segments else None
    if first is None or high < first:
        since = f"; the first one is {grid.key(first)}" if first is not None else ""
        raise UsageError(
            "no-version-for-partition",
            f"no version of {model.name} is for {grid.key(low)}{since}",
            hint="give a version an earlier effective_from",
        )


def named_range(model: Model, given: Range) -> Numbers | None:
    """Give the partitions that a range names; None where it names none."""
    grid = model.grid
    if grid.grain is Grain.WHOLE or (given.first is None and given.last is None):
        return None
    low = grid.bound(given.first or given.last or "", last=False)
    high = grid.bound(given.last or given.first or "", last=True)
    if low > high:
        raise UsageError(
            "bad-value",
            f"--from {given.first} lies after --to {given.last}",
            hint="turn them round",
        )
    return low, high
