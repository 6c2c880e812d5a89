"""The oracle's retention, section 3.7 of the specification."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from itertools import groupby

from fakes.oracle_types import Version, in_order
from penstock.core.history import Retention


def ordered(versions: Iterable[Version]) -> list[Version]:
    """Sort by key, then by `valid_from`."""
    return sorted(versions, key=lambda v: (in_order(v.key), v.valid_from))


def by_key(versions: Iterable[Version]) -> list[list[Version]]:
    """Give the versions of each key, oldest first."""
    return [list(each) for _, each in groupby(ordered(versions), lambda v: in_order(v.key))]


def retain(
    versions: Sequence[Version], retention: Retention | None, at: dt.datetime
) -> list[Version]:
    """Leave out what retention removes at T; rank 1 of a key always stays."""
    if retention is None:
        return ordered(versions)
    kept = []
    for of_key in by_key(versions):
        for rank, version in enumerate(reversed(of_key), start=1):
            if rank == 1 or not is_marked(version, rank, retention, at):
                kept.append(version)
    return ordered(kept)


def is_marked(version: Version, rank: int, retention: Retention, at: dt.datetime) -> bool:
    """Whether every setting that is given wants it gone."""
    marks = []
    if retention.keep_last is not None:
        marks.append(rank > retention.keep_last)
    if retention.keep_days is not None:
        limit = at - dt.timedelta(hours=24 * retention.keep_days)
        marks.append(version.valid_to is not None and version.valid_to <= limit)
    return all(marks)
