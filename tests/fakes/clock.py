"""A clock that stands still until a test moves it."""

import datetime as dt
from uuid import UUID

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


class FixedClock:
    """Gives one time until `advance`; ids are UUIDv7s counted from 1, the same in every run.

    >>> clock = FixedClock()
    >>> clock.new_id()
    '018df9e2-b200-7000-8000-000000000001'
    >>> clock.advance(seconds=90)
    >>> str(clock.now())
    '2024-03-01 12:01:30+00:00'
    """

    def __init__(self, start: dt.datetime = NOON) -> None:
        self._now = start
        self._ids = 0

    def now(self) -> dt.datetime:
        return self._now

    def new_id(self) -> str:
        self._ids += 1
        millis = int(self._now.timestamp() * 1000)
        return str(UUID(int=millis << 80 | 0x7 << 76 | 0x2 << 62 | self._ids))

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        self._now += dt.timedelta(days=days, hours=hours, seconds=seconds)
