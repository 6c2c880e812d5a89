"""The oracle's event-time mode, line by line the pseudo code of section 3.4."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from fakes.oracle_types import Fault, OracleError, Version, instant


def arrive(
    stored: Sequence[Version], rows: Sequence[Version], at: dt.datetime
) -> tuple[list[Version], list[tuple[str, Version]]]:
    """Place the rows of one key; give its versions, and each row's class and new version.

    Rows come as versions that have no place yet. A row that opens nothing keeps no version.
    """
    versions = list(stored)
    arrived = sorted(rows, key=lambda row: instant(row.u))
    known = {instant(v.u) for v in stored if not v.is_deleted}
    latest = max((v.valid_from for v in stored), default=None)
    last = arrived[-1]
    back = is_back(stored, last)
    classes = []
    for r in arrived:
        if back and r is last:
            place(versions, r, at)
            classes.append(("reopened", replace(r, valid_from=at)))
        elif instant(r.u) in known:
            classes.append(("unchanged", r))
        else:
            u = instant(r.u)
            place(versions, r, u)
            if latest is None and not classes:
                classes.append(("opened_new", replace(r, valid_from=u)))
            elif latest is not None and u < latest:
                classes.append(("opened_late", replace(r, valid_from=u)))
            else:
                classes.append(("opened_changed", replace(r, valid_from=u)))
    return [replace(v, is_current=v.valid_to is None) for v in versions], classes


def is_back(stored: Sequence[Version], last: Version) -> bool:
    """Whether the key was gone and returned with a `u` from before it went."""
    live = any(v.is_live for v in stored)
    if live or not stored:
        return False
    tombstones = [v.valid_from for v in stored if v.is_current and v.is_deleted]
    ends = [v.valid_to for v in stored if v.valid_to is not None]
    end = tombstones[0] if tombstones else max(ends)
    return instant(last.u) <= end


def place(versions: list[Version], r: Version, f: dt.datetime) -> None:
    """Put r where f falls, in the list itself."""
    before = [v for v in versions if v.valid_from <= f]
    after = [v for v in versions if v.valid_from > f]
    p = max(before, key=lambda v: v.valid_from) if before else None
    n = min(after, key=lambda v: v.valid_from) if after else None
    if p is not None and p.valid_from == f:
        raise OracleError(Fault("tied-versions", 1, (r.key,)))
    if p is not None and (p.valid_to is None or p.valid_to > f):
        versions.append(replace(r, valid_from=f, valid_to=p.valid_to))
        versions[versions.index(p)] = replace(p, valid_to=f)
    else:
        versions.append(replace(r, valid_from=f, valid_to=n.valid_from if n else None))
