"""The four run states and the limits of a pass, out of the manifest and the clock (seed 001).

All arithmetic is on instants: a day has 24 hours, and no boundary of a day is looked for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable

from penstock.core.sessions.manifest import Limits, ManifestRow, ManifestStatus, RunState
from penstock.core.sessions.package import SessionOptions


def manifest_status(
    rows: Iterable[ManifestRow], tracked: Collection[str], *, strict: bool = False
) -> ManifestStatus:
    """Look at the rows of tracked models; with `strict` a position is the last success alone."""
    known = {each.model: each for each in rows if each.model in tracked}
    placed = [
        (position, each.model)
        for each in known.values()
        if (position := each.position(strict=strict)) is not None
    ]
    low, high = min(placed, default=None), max(placed, default=None)
    return ManifestStatus(
        min_position=low[0] if low else None,
        max_position=high[0] if high else None,
        matched=len(placed),
        all_matched=len(placed) == len({*tracked}),
        seen=any(each.last_success is not None for each in known.values()),
        least=low[1] if low else "",
    )


def run_limits(status: ManifestStatus, options: SessionOptions, now: dt.datetime) -> Limits:
    """Return the state of a run and the events that it may read; nothing is read for it.

    Whether the start lies too late for them is `late_start`'s to say.

    >>> now = dt.datetime(2021, 1, 1, 6, tzinfo=dt.UTC)
    >>> options = SessionOptions(start_date=dt.datetime(2021, 1, 1, tzinfo=dt.UTC))
    >>> run_limits(ManifestStatus(), options, now).upper_limit == now
    True
    """
    state, lower, upper = _window(status, options, now)
    if not options.strict_seed_limits:
        # An event just before the start would be counted by some cuttings into runs alone.
        lower = max(lower, options.start_date)
    return Limits(state, lower, upper)


def _window(
    status: ManifestStatus, options: SessionOptions, now: dt.datetime
) -> tuple[RunState, dt.datetime, dt.datetime]:
    low, high = status.min_position, status.max_position
    start, reach, lookback = options.start_date, options.backfill_limit, options.lookback
    if not status.seen or low is None or high is None:
        if low is not None and status.all_matched:
            return RunState.FIRST_RUN, low - lookback, min(now, low + reach)
        return RunState.FIRST_RUN, start, min(now, start + reach)
    if not status.all_matched:
        return RunState.NEW_MODEL, start, min(high, start + reach)
    if low < high:
        return RunState.OUT_OF_SYNC, low - lookback, min(high, low + reach)
    return RunState.STANDARD, high - lookback, min(now, high + reach)


def late_start(status: ManifestStatus, options: SessionOptions) -> str:
    """Say that the start lies after what was processed, "" where it does not."""
    low = status.min_position
    if not status.seen or low is None or options.start_date <= low:
        return ""
    start = shown_time(options.start_date)
    return f"start_date {start} is after what {status.least} has processed, {shown_time(low)}"


def shown_time(at: dt.datetime) -> str:
    """Write a time as people do: no fraction that is zero, and of a midnight the date alone.

    >>> (
    ...     shown_time(dt.datetime(2021, 1, 5, 17, 59, 32, 500_000)),
    ...     shown_time(dt.datetime(2021, 1, 5)),
    ... )
    ('2021-01-05 17:59:32.5', '2021-01-05')
    """
    text = f"{at:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
    return text.removesuffix(" 00:00:00") or text
