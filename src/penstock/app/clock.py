"""The system's clock, and ids that sort by time."""

from __future__ import annotations

import datetime as dt
import secrets
import threading
import uuid


class SystemClock:
    """Time of this machine, UTC; ids are UUIDv7 (RFC 9562), rising within one process."""

    def __init__(self) -> None:
        """Start with no id given."""
        self._lock = threading.Lock()
        self._last = 0

    def now(self) -> dt.datetime:
        """See `Clock.now`."""
        return dt.datetime.now(dt.UTC)

    def new_id(self) -> str:
        """See `Clock.new_id`; two ids of one millisecond still sort in the order they were made."""
        with self._lock:
            stamp = max(int(self.now().timestamp() * 1000) << 12, self._last + 1)
            self._last = stamp
        millis, counter = stamp >> 12, stamp & 0xFFF
        value = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(uuid.UUID(int=value))
