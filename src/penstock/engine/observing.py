"""Aggregates that ride on a write, and asking for them without waiting for ever."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.core.statement import Row

_PATIENCE_SECONDS = 5.0
_LOOKS_EVERY_SECONDS = 0.005


class ObservedWrite:
    """Aggregates over the rows of one frame, computed as one write takes them."""

    def __init__(self, frame: DataFrame, counts: Mapping[str, str]) -> None:
        """Look at a frame; `frame` of it is the one to be written."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

        columns = [F.expr(sql).alias(name) for name, sql in counts.items()]
        self._observation = Observation(f"penstock-{uuid4()}")
        self.frame = frame.observe(self._observation, *columns)

    def seen(self) -> Row | None:
        """Give what was seen; None if it is not told in time, or was told to be nothing.

        Spark tells it shortly after the write, from another thread. Of a write that Delta skipped
        it tells nothing, of one that failed what was seen until then.
        """
        future = self._observation._jo.future()  # type: ignore[union-attr]  # noqa: SLF001  # `get` waits for ever
        until = time.monotonic() + _PATIENCE_SECONDS
        while not future.isCompleted():
            if time.monotonic() > until:
                return None
            time.sleep(_LOOKS_EVERY_SECONDS)
        told = future.value().get()
        is_seen = told.isSuccess() and told.get().length() > 0  # "nothing" is a row without columns
        return self._observation.get if is_seen else None
