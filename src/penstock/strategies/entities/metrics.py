"""The counts of an entity's step, and the identities that they must satisfy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from penstock.core.entity import LastSeen, ProcessType
from penstock.strategies.entities.target import EntityStep


@dataclass(frozen=True, slots=True)
class EntityMetrics:
    """What one step counts; `touched` is for the form that others read, and 0."""

    records: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    touched: int = 0
    inferred_deleted: int = 0

    @property
    def by_name(self) -> Mapping[str, int]:
        """The counts under the names of the summary.

        >>> list(EntityMetrics(3).by_name)[:2]
        ['recordsInSlice', 'inserted']
        """
        counts = asdict(self)
        return {"recordsInSlice": counts.pop("records"), **counts}


def metrics_of(step: EntityStep, commit: Mapping[str, int] | None, inferred: int) -> EntityMetrics:
    """Give the metrics of a step that wrote rows itself; `commit` are Delta's, None without one.

    `inferred` are the rows that travelled in the commit as found to be gone.
    """
    rows, flagged = step.counts.rows, step.counts.flagged
    if step.process is ProcessType.FULL:
        return EntityMetrics(rows, rows)
    if step.build.table is None:
        return EntityMetrics(rows, rows - flagged, 0, flagged)
    inserted = (commit or {}).get("numTargetRowsInserted", 0)
    updated = rows - flagged - inserted
    return EntityMetrics(rows, inserted, updated, flagged, inferred_deleted=inferred)


def metrics_of_history(counts: Mapping[str, int]) -> EntityMetrics:
    """Give the metrics of a history's step; `counts` are those of its engine."""
    given = ("source_rows", "opened_new", "opened_changed", "deleted", "unchanged")
    rows, new, changed, closed, same = (counts.get(name, 0) for name in given)
    return EntityMetrics(rows, new, changed, closed, same, inferred_deleted=closed)


def breaches(step: EntityStep, found: EntityMetrics, commit: Mapping[str, int]) -> Iterator[str]:
    """Say which counts of a merge do not agree with Delta's: a bug of ours, the commit stands."""
    if step.process is not ProcessType.MERGE or step.build.table is None:
        return
    source, inserted, matched = (
        commit.get(name, 0)
        for name in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsMatchedUpdated")
    )
    rows, deleted, gone = found.records, found.deleted, found.inferred_deleted
    if found.updated < 0:
        yield f"{inserted} rows were inserted and {deleted} arrived deleted, of {rows}"
    changes_alone = step.entity.settings.last_seen is LastSeen.ON_CHANGE
    alone = changes_alone or deleted == rows  # only rows that change anything were fed
    if source > rows + gone or (not alone and source != rows + gone):
        yield f"{source} rows were read, {rows} are in the slice and {gone} gone"
    least = 0 if alone else rows - inserted - deleted
    if not least <= matched - gone <= rows - inserted:
        yield f"{matched} rows were updated, of {rows} with {inserted} inserted and {gone} gone"
