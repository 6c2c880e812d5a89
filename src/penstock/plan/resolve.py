"""Which SQL applies to which partition: the one place that chooses a version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from penstock.core.model import Body, Model, Version
from penstock.core.partitions.partition import Grain, Grid, position
from penstock.core.partitions.ranges import WHOLE, Range, Ranges, intersection, merged

_DAY_ONE = dt.date.min


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring partitions of one version, revision, SQL and schema."""

    low: int
    high: int
    version: Version
    body: Body

    @property
    def range(self) -> Range:
        """The partitions, both ends inclusive."""
        return self.low, self.high


def resolve(model: Model, run_date: dt.date, partitions: Ranges) -> tuple[Segment, ...]:
    """Return the SQL of the partitions `within`; those before any version or `start` have none.

    A version is chosen by the date of the partition's lower bound, a revision by the run date and
    its `backfill_since`. For RANGE and `*` the run date also chooses the version.
    """
    if not partitions:
        return ()
    found: list[Segment] = []
    for low, high, version in _generations(model, run_date, partitions[-1][1]):
        for piece in intersection(((low, high),), partitions):
            found.extend(_pieces(model.grid, version, piece, run_date))
    return tuple(found)


def due_partitions(model: Model, run_timestamp: dt.datetime) -> Ranges:
    """Return the partitions that should exist at a time, including those before any version.

    They begin with `start`, or the first version, and end with the current one, or with
    `ready_after` the last one that ended that long ago.
    """
    settings, grid = model.partition, model.grid
    if settings is None or grid.is_whole:
        return ((0, 0),)
    if grid.grain is Grain.RANGE:
        return ((0, grid.last_number),)
    dates = [version.effective_from for version in model.versions]
    first = settings.start or min((each for each in dates if each), default=None)
    if first is None:
        return ()
    now = position_of(run_timestamp)
    if settings.ready_after is None:
        last = grid.at(now)
    else:
        last = grid.at(now - settings.ready_after // dt.timedelta(microseconds=1)) - 1
    return merged([(first_from(grid, first), last)])


def first_from(grid: Grid, day: dt.date) -> int:
    """Return the first partition whose lower bound is not before a day."""
    place = position(day.isoformat(), "date") or 0
    number = grid.at(place)
    return number if grid.lower(number) >= place else number + 1


def position_of(run_timestamp: dt.datetime) -> int:
    """Return a time as a position.

    >>> position_of(dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC))
    1000000
    """
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (run_timestamp - epoch) // dt.timedelta(microseconds=1)


def dated_models(models: Mapping[str, Model], run_date: dt.date) -> dict[str, Model]:
    """Choose the SQL for a day in unpartitioned models; other models stay unchanged.

    A model whose first version is in the future keeps its newest one, so that its date is known.
    """
    found = dict(models)
    for name, model in models.items():
        if model.partition is None and (segments := resolve(model, run_date, WHOLE)):
            body = segments[0].body
            found[name] = replace(model, query=body.query, fingerprint=body.fingerprint)
    return found


def body_of(model: Model, version: int, revision: int) -> tuple[Version, Body]:
    """Return a version's or a revision's SQL; raise `KeyError` if it is no longer in the files."""
    for each in model.versions:
        for body in each.bodies:
            if (each.number, body.fingerprint.revision) == (version, revision):
                return each, body
    raise KeyError(f"{model.name} v{version}.r{revision}")


def _generations(model: Model, run_date: dt.date, last: int) -> Iterator[tuple[int, int, Version]]:
    """Return each version with its partitions, in order."""
    grid = model.grid
    versions = sorted(model.versions, key=lambda each: each.effective_from or _DAY_ONE)
    if grid.grain in (Grain.RANGE, Grain.WHOLE):
        fit = [v for v in versions if (v.effective_from or _DAY_ONE) <= run_date]
        if fit:
            yield 0, last, fit[-1]
        return
    start = model.partition.start if model.partition else None
    starts = [max(v.effective_from or _DAY_ONE, start or _DAY_ONE) for v in versions]
    numbers = [first_from(grid, day) for day in starts] + [last + 1]
    for (low, after), version in zip(pairwise(numbers), versions, strict=True):
        if low < after:
            yield low, after - 1, version


def _pieces(grid: Grid, version: Version, piece: Range, run_date: dt.date) -> Iterator[Segment]:
    low, high = piece
    known = [r for r in version.revisions if (r.effective_from or _DAY_ONE) <= run_date]
    timed = grid.grain not in (Grain.RANGE, Grain.WHOLE)
    cuts = {first_from(grid, r.backfill_since) for r in known if r.backfill_since and timed}
    bounds = [low, *sorted(cut for cut in cuts if low < cut <= high), high + 1]
    bodies = [_shared_body(grid, version, known, first) for first in bounds[:-1]]
    starts = [at for at, body in enumerate(bodies) if not at or body is not bodies[at - 1]]
    for at, end in pairwise([*starts, len(bodies)]):
        yield Segment(bounds[at], bounds[end] - 1, version, bodies[at])


def _shared_body(grid: Grid, version: Version, bodies: list[Body], number: int) -> Body:
    fit = [
        body
        for body in bodies
        if body.backfill_since is None or grid.date(number) >= body.backfill_since
    ]
    order = [(b.effective_from or _DAY_ONE, b.fingerprint.revision) for b in fit]
    return fit[order.index(max(order))] if fit else version.body
