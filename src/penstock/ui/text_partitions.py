"""How partitions and the versions they are made by read."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.drift_reports import Keys, StateCount
from penstock.ui.text_table import count

RANGES = 5  # of one model, in one line
WHOLE: Keys = (("*", "*"),)


def ranges_text(keys: Keys, limit: int | None = RANGES) -> str:
    """Give ranges of partitions in one line; None has no limit.

    >>> ranges_text((("2024-12-02", "2024-12-16"), ("2024-12-20", "2024-12-20")))
    '2024-12-02 to 2024-12-16, 2024-12-20'
    >>> ranges_text(tuple((str(year), str(year)) for year in range(2001, 2009)))
    '2001, 2002, 2003, 2004, 2005 and 3 more ranges'
    """
    shown = keys if limit is None else keys[:limit]
    text = ", ".join(low if low == high else f"{low} to {high}" for low, high in shown)
    rest = len(keys) - len(shown)
    return f"{text} and {count(rest, 'more range')}" if rest else text


def partitions_text(number: int) -> str:
    """Give a number of partitions with its word.

    >>> partitions_text(1), partitions_text(1200)
    ('1 partition', '1,200 partitions')
    """
    return count(number, "partition")


def label(version: int, revision: int | None = None) -> str:
    """Give a version as people write it.

    >>> label(3), label(3, 1)
    ('v3', 'v3.r1')
    """
    return f"v{version}.r{revision}" if revision else f"v{version}"


def by_state(states: tuple[StateCount, ...]) -> Iterator[tuple[str, int, bool]]:
    """Count partitions by state: the state, how many, and whether they only wait."""
    found: dict[tuple[str, bool], int] = {}
    for each in states:
        key = (str(each.state), each.pending)
        found[key] = found.get(key, 0) + each.count
    for (state, pending), number in found.items():
        yield state, number, pending
