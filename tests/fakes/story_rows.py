"""What the models of a story must hold, in plain Python: an oracle that knows no penstock.

Every answer is worked out of the rows that a model's inputs hold, never of what was recorded.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence

Row = Mapping[str, object]
FIRST = dt.date(2024, 3, 1)
READS = {
    "log": "events",
    "again": "log",
    "through": "log",
    "last": "events",
    "final": "log",
    "sums": "again",
    "daily": "events",
    "three": "daily",
}
APPENDS, MERGES = ("log", "again", "through"), ("last", "final")
OF_SOURCE = ("log", "last")
"""Windows over the source: late rows are told and not taken, so the count of those is allowed."""


def wanted(
    model: str, rows: Sequence[Row], today: dt.date, plus: int = 0
) -> Counter[tuple[object, ...]]:
    """Give the rows that a model makes of all rows of its input.

    `plus` is what the SQL of the daily sums adds to every value.
    """
    if model in APPENDS:
        return counted(rows)
    if model in MERGES:
        return counted(list(newest(rows).values()))
    if model == "sums":
        return Counter(_sums(rows))
    days = [FIRST + dt.timedelta(n) for n in range((today - FIRST).days + 1)]
    if model == "daily":
        return Counter(found for day in days for found in _daily(rows, day, plus))
    return Counter(found for day in days for found in _three(rows, day))


def counted(rows: Sequence[Row]) -> Counter[tuple[object, ...]]:
    """Count rows as they are."""
    return Counter(tuple(row.values()) for row in rows)


def newest(rows: Sequence[Row]) -> dict[object, Row]:
    """Give the newest row of every id; of several at one time that with the greatest value."""
    found: dict[object, Row] = {}
    for row in sorted(rows, key=lambda row: (str(row["at"]), int(str(row["v"])))):
        found[row["id"]] = row
    return found


def _sums(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    by_id: dict[object, list[int]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(int(str(row["v"])))
    return [(key, len(values), sum(values)) for key, values in by_id.items()]


def _daily(rows: Sequence[Row], day: dt.date, plus: int) -> list[tuple[object, ...]]:
    values = [int(str(row["v"])) + plus for row in rows if str(row["day"]) == day.isoformat()]
    return [(day.isoformat(), len(values), sum(values))] if values else []


def _three(rows: Sequence[Row], day: dt.date) -> list[tuple[object, ...]]:
    days = {(day - dt.timedelta(n)).isoformat() for n in range(3)}
    values = [int(str(row["total"])) for row in rows if str(row["day"]) in days]
    return [(day.isoformat(), sum(values))] if values else []


def complaint(
    model: str, held: Sequence[Row], given: Sequence[Row], today: dt.date, late: int, plus: int
) -> str:
    """Say what is wrong with the rows of a model that is called current, "" if nothing is.

    `late` is how many rows its runs told of that no window takes.
    """
    right, found = wanted(model, given, today, plus), counted(held)
    if found == right:
        return ""
    if model == "log" and not found - right and (right - found).total() == late:
        return ""
    if model == "last" and late and len(_keys(found) ^ _keys(right)) <= late:
        delivered = counted(given)
        if not found - delivered:
            return ""
    return f"{model}: missing {dict(right - found)}, too many {dict(found - right)}, late {late}"


def _keys(rows: Counter[tuple[object, ...]]) -> set[object]:
    return {row[0] for row in rows}
