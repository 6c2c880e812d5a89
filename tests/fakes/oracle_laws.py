"""What holds of every history: the laws of `verify`, the identities of the metrics, `as_of`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from fakes.oracle_retention import by_key
from fakes.oracle_types import History, Metrics, Version, instant
from penstock.core.history import HardDeletes
from penstock.strategies.history.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Operations:
    """What the one commit of a run does to versions."""

    opens: int = 0
    closes: int = 0
    moves: int = 0
    deletes: int = 0


def operations(before: History | None, after: History) -> Operations:
    """Give the difference of two histories; a version has at most one operation."""
    then = {(v.key, v.valid_from): v.valid_to for v in before.versions} if before else {}
    now = {(v.key, v.valid_from): v.valid_to for v in after.versions}
    ended = [then[name] for name in then.keys() & now.keys() if then[name] != now[name]]
    return Operations(
        opens=len(now.keys() - then.keys()),
        closes=sum(end is None for end in ended),
        moves=sum(end is not None for end in ended),
        deletes=len(then.keys() - now.keys()),
    )


def identities(
    metrics: Metrics, settings: Snapshot, before: History | None, after: History
) -> list[str]:
    """Name the identities M1-M5 that the metrics of a run break."""
    m, did = metrics, operations(before, after)
    opened = m.opened_new + m.opened_changed + m.opened_late + m.reopened
    tombstones = m.deleted if settings.hard_deletes is HardDeletes.NEW_RECORD else 0
    rows_before = len(before.versions) if before else 0
    holds = {
        "M1": m.source_rows == opened + m.unchanged + m.ignored + m.skipped,
        "M2": settings.event_time or m.closed == m.opened_changed + m.deleted,
        "M3": did.opens == opened + tombstones,
        "M4": did.deletes == m.pruned and did.closes + did.moves <= m.closed + m.shortened,
        "M5": len(after.versions) == rows_before + did.opens - m.pruned,
    }
    return [identity for identity, is_true in holds.items() if not is_true]


def violations(
    history: History,
    settings: Snapshot,
    run_times: Collection[dt.datetime] = (),
    gaps: bool | None = None,
) -> list[str]:
    """Name each broken law with its key: V1-V6 and V8.

    `gaps` says whether deletes may have closed keys, if the settings do not say so. A version of
    event time may start at one of the `run_times` that is later than its `u`: it was reopened.
    """
    may_gap = settings.hard_deletes is HardDeletes.INVALIDATE if gaps is None else gaps
    broken = []
    for versions in by_key(history.versions):
        laws = [
            *(law for v in versions for law in of_version(v)),
            *of_key(versions, may_gap=may_gap),
            *(law for v in versions if settings.event_time for law in of_start(v, run_times)),
        ]
        broken.extend(f"{law} {versions[0].key}" for law in laws)
    return broken


def of_version(v: Version) -> list[str]:
    """V1-V3."""
    return [
        *(["V1"] if v.valid_from is None or v.is_current is None else []),
        *(["V2"] if v.valid_to is not None and v.valid_to <= v.valid_from else []),
        *(["V3"] if v.is_current != (v.valid_to is None) else []),
    ]


def of_key(versions: list[Version], *, may_gap: bool) -> list[str]:
    """V4-V6, of the versions of one key, oldest first."""
    currents = sum(v.is_current for v in versions)
    pairs = list(pairwise(versions))
    gaps = sum(a.valid_to is not None and a.valid_to < b.valid_from for a, b in pairs)
    return [
        *(["V4"] if currents > 1 or (currents == 0 and not may_gap) else []),
        *(["V5"] if any(a.valid_to is None or a.valid_to > b.valid_from for a, b in pairs) else []),
        *(["V6"] if gaps and not may_gap else []),
    ]


def count_gaps(history: History) -> int:
    """Count the versions that end before their successor starts."""
    pairs = [pair for versions in by_key(history.versions) for pair in pairwise(versions)]
    return sum(a.valid_to is not None and a.valid_to < b.valid_from for a, b in pairs)


def of_start(v: Version, run_times: Collection[dt.datetime]) -> list[str]:
    """V8."""
    is_own = v.valid_from == instant(v.u)
    is_reopened = v.valid_from in run_times and v.valid_from > instant(v.u)
    return [] if v.is_deleted or is_own or is_reopened else ["V8"]


def as_of(
    history: History, t: dt.datetime, *, include_deleted: bool = False
) -> tuple[Version, ...]:
    """Give the versions that are valid at t."""
    return tuple(
        v
        for v in history.versions
        if v.valid_from <= t
        and (v.valid_to is None or v.valid_to > t)
        and (include_deleted or not v.is_deleted)
    )
