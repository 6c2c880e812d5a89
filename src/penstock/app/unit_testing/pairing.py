"""The greatest number of pairs, where each row says with which others it may be one."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence


def pairing(near: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Give the row that each of the others belongs to; no other choice makes more pairs.

    >>> pairing([[0, 1], [0]])
    {0: 1, 1: 0}
    """
    partner: dict[int, int] = {}
    for row in range(len(near)):
        _place(row, near, partner)
    return dict(sorted(partner.items()))


def _place(row: int, near: Sequence[Sequence[int]], partner: dict[int, int]) -> None:
    """Find a partner for a row; rows that have one move to another where that makes room.

    The way to a free one may be as long as there are rows, so nothing calls itself here.
    """
    asked_by: dict[int, int] = {}
    waiting = deque([row])
    while waiting:
        asking = waiting.popleft()
        for at in near[asking]:
            if at in asked_by:
                continue
            asked_by[at] = asking
            if at not in partner:
                _shift(at, asked_by, partner)
                return
            waiting.append(partner[at])


def _shift(free: int, asked_by: Mapping[int, int], partner: dict[int, int]) -> None:
    """Give every row on the way back from a free partner the one that it asked."""
    held = {row: at for at, row in partner.items()}
    at: int | None = free
    while at is not None:
        row = asked_by[at]
        partner[at] = row
        at = held.get(row)
