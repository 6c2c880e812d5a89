"""The counts of an entity's step, and the identities that they must satisfy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.entities.entity import LastSeen, ProcessType
from penstock.strategies.entities.events import LABELS, LATE, TOMBSTONES
from penstock.strategies.entities.merging import INFERRED
from penstock.strategies.entities.records import BAD_RECORDS, RESCUED
from penstock.strategies.entities.target import EntityStep

RECORDS = "recordsInSlice"
FLAGGED = "arrived_deleted"
NAMES = (RECORDS, "inserted", "updated", "deleted", "unchanged", "touched", INFERRED)
"""The counts of a summary; `touched` is always 0, for readers of the original format."""
MORE = (*LABELS, LATE, BAD_RECORDS, RESCUED)
"""The counts of a summary that only some entities have."""


def counts_before(step: EntityStep) -> dict[str, int]:
    """Return the counts that are known before the commit, which carries them in its token."""
    lost = step.counts.tombstones if step.keeps_tombstones else 0
    return {
        RECORDS: step.counts.rows,
        FLAGGED: step.counts.flagged,
        **({TOMBSTONES: lost} if lost else {}),
        **step.counts.events,
        **step.counts.records,
    }


def step_metrics(process: ProcessType, metrics: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of a step from its token and from Delta's metrics.

    A shortened token has no counts: then the result is empty. Without a step all are 0.

    >>> step_metrics(ProcessType.FULL, {"recordsInSlice": 3})["inserted"]
    3
    """
    if metrics and RECORDS not in metrics:
        return {}
    rows, flagged = metrics.get(RECORDS, 0), metrics.get(FLAGGED, 0)
    lost, more = metrics.get(TOMBSTONES, 0), {n: metrics[n] for n in MORE if n in metrics}
    match process:
        case ProcessType.FULL:
            counts = (rows, 0, 0, 0, 0, 0)
        case ProcessType.MERGE if "numTargetRowsInserted" in metrics:
            new = metrics["numTargetRowsInserted"] - lost
            gone = metrics.get(INFERRED, max(0, metrics.get("numSourceRows", rows) - rows))
            counts = (new, rows - flagged - new, flagged, 0, 0, gone)
        case ProcessType.MERGE:
            new = rows - flagged if metrics.get("numOutputRows") else 0
            counts = (new, rows - flagged - new, flagged, 0, 0, 0)
        case ProcessType.HISTORIC if "source_rows" in metrics:
            given = ("opened_new", "opened_changed", "deleted", "unchanged")
            new, changed, closed, same = (metrics.get(name, 0) for name in given)
            late, back, old = (metrics.get(n, 0) for n in ("opened_late", "reopened", "skipped"))
            new, changed, same = new + back, changed + late, same + old
            more |= {LATE: late} if late else {}
            counts = (new, changed, closed, same, 0, closed)
        case ProcessType.HISTORIC:
            counts = (metrics.get("numOutputRows", 0), 0, 0, 0, 0, 0)
    return dict(zip(NAMES, (rows, *counts), strict=True)) | more


def mismatches(step: EntityStep, commit: Mapping[str, int]) -> Iterator[str]:
    """Return the counts of a merge that contradict Delta's: a bug; the commit stays."""
    if step.process is not ProcessType.MERGE or "numTargetRowsInserted" not in commit:
        return
    found = step_metrics(step.process, {**counts_before(step), **commit})
    source, inserted, matched = (
        commit.get(name, 0)
        for name in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsMatchedUpdated")
    )
    rows, deleted, gone = found[RECORDS], found["deleted"], found[INFERRED]
    lost = counts_before(step).get(TOMBSTONES, 0)
    if found["updated"] < 0:
        yield f"{inserted} rows were inserted and {deleted} arrived deleted, of {rows}"
    changes_alone = step.entity.settings.last_seen is LastSeen.ON_CHANGE
    alone = changes_alone or deleted == rows  # only rows that change anything were fed
    if source > rows + gone or (not alone and source != rows + gone):
        yield f"{source} rows were read, {rows} are in the slice and {gone} gone"
    least = 0 if alone else rows - inserted + lost - deleted
    if not least <= matched - gone <= rows - inserted:
        yield f"{matched} rows were updated, of {rows} with {inserted} inserted and {gone} gone"
