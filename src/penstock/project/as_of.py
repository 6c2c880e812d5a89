"""What `as_of(ref('x'), time)` renders to: the versions of a history table that held at a time.

The system columns of x are not known yet; they become marks that `mentions.py` turns into holes.
"""

from __future__ import annotations

import datetime as dt
import re

from penstock.core.query import RUN_TIMESTAMP

_TABLE = re.compile(r"`penstock:(\d+)`")
_PLACEHOLDER = re.compile(r"@[A-Za-z_][A-Za-z0-9_]*")


class BadMomentError(Exception):
    """The second argument says no point in time."""


def table_mark(text: str) -> int | None:
    """Give the number of the call that rendered to a mark, None for any other text."""
    found = _TABLE.fullmatch(text)
    return int(found[1]) if found else None


def moment_sql(moment: object) -> str:
    """Write a point in time as SQL; a date is midnight UTC, no offset means UTC.

    Raises `BadMomentError` for anything but ISO-8601, `run_timestamp` and a placeholder.

    >>> moment_sql("2024-03-01"), moment_sql("@partition_date")
    ("TIMESTAMP '2024-03-01T00:00:00.000000Z'", 'CAST(@partition_date AS TIMESTAMP)')
    """
    if moment == RUN_TIMESTAMP:
        return RUN_TIMESTAMP
    if moment is None:
        raise BadMomentError("as_of needs a point in time as its second argument")
    if not isinstance(moment, str):
        raise BadMomentError(f"as_of: {str(moment)[:80]} is no point in time")
    if _PLACEHOLDER.fullmatch(moment):
        return f"CAST({moment} AS TIMESTAMP)"
    try:
        given = dt.datetime.fromisoformat(moment)
        utc = given.replace(tzinfo=dt.UTC) if given.tzinfo is None else given.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise BadMomentError(f"as_of: {moment[:80]!r} is no point in time") from error
    stamp = utc.replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"TIMESTAMP '{stamp}Z'"


def point_in_time(mark: int, moment: str, *, deleted: bool) -> str:
    """Write the subquery over the history table of a mark; `deleted` leaves tombstones in."""
    start, end, live = (f"`penstock:{mark}:{w}`" for w in ("valid_from", "valid_to", "present"))
    held = f"{start} <= {moment} and ({end} is null or {end} > {moment})"
    rest = "" if deleted else f" and {live}"
    return f"(select * from `penstock:{mark}` where {held}{rest})"
