"""The use case `history`: every execution of a model's partitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from penstock.app.checking.chosen import SKIPPED
from penstock.app.drift_reports import HistoryReport, HistoryRow
from penstock.app.named import named_model
from penstock.app.one_state import in_one_state
from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.records import Execution, Status


@in_one_state
def history(
    shop: Shop, model: str, partition: str | None = None, limit: int = 20, *, show_sql: bool = False
) -> HistoryReport:
    """Give a model's executions, newest first, at most `limit`; start no JVM.

    Raises `unknown-model`, `invalid-partition`, and `bad-value` for a limit below 1.
    """
    if limit < 1:
        raise UsageError("bad-value", f"--limit {limit} shows nothing", hint="--limit 20")
    found = named_model(shop, model)
    key = found.grid.key(found.grid.parse(partition)) if partition is not None else None
    records = shop.reading.records
    everything = records.history(found.name, None, key) if key else None
    executions = everything if everything is not None else records.history(found.name, limit)
    taken_back = _reverted(everything or executions)
    unchecked = shop.reading.checks.steps_that_skipped(found.name, SKIPPED)
    rows = []
    for one in executions[:limit]:
        sql = (records.text(one.fingerprint.sql) or "") if show_sql else ""
        reverted = one.step in taken_back.get(one.partition, ())
        rows.append(HistoryRow(one, reverted, sql, one.step in unchecked))
    return HistoryReport(found.name, key or "", tuple(rows))


def _reverted(executions: Sequence[Execution]) -> dict[str, set[str]]:
    """Give the steps whose next success went back to SQL of an earlier one, by partition."""
    found: dict[str, set[str]] = {}
    by_partition: dict[str, list[Execution]] = {}
    for one in reversed(executions):
        if one.status is Status.SUCCESS:
            by_partition.setdefault(one.partition, []).append(one)
    for partition, rows in by_partition.items():
        earlier: set[str] = set()
        for one, after in pairwise(rows):
            again = after.fingerprint.sql
            if again in earlier and again != one.fingerprint.sql:
                found.setdefault(partition, set()).add(one.step)
            earlier.add(one.fingerprint.sql)
    return found
