"""What a pass leaves in the manifest, model by model: never backwards, and no window for ever."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.core.errors import UnknownModelError
from penstock.core.sessions.manifest import ManifestRow, PlannedPass, RunState, greatest
from penstock.core.sessions.package import SessionOptions

_ADVANCING = (RunState.NEW_MODEL, RunState.OUT_OF_SYNC)


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """What is known when a tracked model succeeds.

    `events` is the greatest `ts` of the events of this run, None without any. `later_events` is
    whether some event waits behind the window. `now` is the run timestamp, `at` the time of
    writing.
    """

    planned: PlannedPass
    now: dt.datetime
    events: dt.datetime | None
    later_events: bool = False
    fingerprint: str = ""
    run: str = ""
    at: dt.datetime | None = None


def row_after(
    model: str, row: ManifestRow | None, end: ModelEnd, options: SessionOptions
) -> ManifestRow | None:
    """Return the row of a model that succeeded; the step promises it before its commit.

    With `strict_seed_limits` a window without an event leaves everything as it was, and no row
    where there is none.
    """
    strict, limits = options.strict_seed_limits, end.planned.limits
    if strict and end.events is None:
        return row
    was = row or ManifestRow(model)
    old, upper = was.position(strict=strict), limits.upper_limit
    new = replace(
        was,
        last_success=greatest(was.last_success, end.events),
        covered_to=greatest(was.covered_to, upper),
        fingerprint=end.fingerprint,
        run=end.run,
        updated_at=end.at,
    )
    if not strict:
        is_stuck = new.position() == old and (old is None or upper > old)
        if is_stuck and upper < end.now and (limits.state in _ADVANCING or end.later_events):
            new = replace(new, advanced_to=upper)
        if limits.state in _ADVANCING and new.position() == end.planned.status.max_position:
            new = replace(new, covered_to=greatest(new.covered_to, end.planned.max_covered))
    is_past = new.last_success and new.advanced_to and new.last_success >= new.advanced_to
    return replace(new, advanced_to=None) if is_past else new


def asks_for_later_events(
    planned: PlannedPass, now: dt.datetime, events: dt.datetime | None
) -> bool:
    """Whether it matters if events wait behind the window: nothing in it moves any model on.

    Where some do, the same window would come again and again with `strict_seed_limits`.
    """
    if planned.limits.upper_limit >= now:
        return False
    if events is None:
        return True
    least = planned.status.min_position
    return planned.status.all_matched and least is not None and events <= least


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The rows to be taken out of the manifest, and names that have none."""

    models: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def forget(
    rows: Iterable[ManifestRow], package: str, models: Sequence[str], *, every: bool = False
) -> Forgotten:
    """Choose what to forget; `UnknownModelError` `unknown-model` where no name has a row."""
    known = {each.model for each in rows}
    if every:
        return Forgotten(tuple(sorted(known)))
    chosen = tuple(dict.fromkeys(each for each in models if each in known))
    unknown = tuple(dict.fromkeys(each for each in models if each not in known))
    if not chosen:
        named = ", ".join(repr(each) for each in unknown)
        sentence = f"the manifest of {package!r} has no row of {named}"
        hint = f"penstock sessions manifest {package}"
        raise UnknownModelError("unknown-model", sentence, hint=hint)
    return Forgotten(chosen, unknown)
