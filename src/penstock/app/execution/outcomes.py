"""What a commit did, read from its operation metrics and its token."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.services.services import Services
from penstock.core.facts import LogCommit
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepKind
from penstock.core.steps.token import read_metrics
from penstock.core.strategy import Writing, strategy_named


def outcome_of(
    commit: LogCommit, table_id: str, intent: Intent, late: int | None = None
) -> Outcome:
    """Read what a commit did from its operation metrics (docs/ARCHITECTURE.md, step 3).

    Counts that Delta does not make stand in its token.
    """
    messages = {**commit.metrics, **read_metrics(commit.token)}
    messages |= strategy_named(intent.strategy).counts(messages)
    if commit.operation == "MERGE":
        rows = RowCounts(
            messages.get("numTargetRowsInserted", 0),
            messages.get("numTargetRowsUpdated", 0),
            messages.get("numTargetRowsDeleted", 0),
            late,
        )
    elif commit.operation == "UPDATE":
        rows = RowCounts(0, messages.get("numUpdatedRows", 0), 0, late)
    else:
        written = messages.get("numOutputRows", 0) - messages.get("numCopiedRows", 0)
        deleted = messages.get("numDeletedRows")
        if deleted is None:  # Delta leaves it out where a range was only emptied
            gone = intent.writing is Writing.RANGES and commit.row_change is not None
            deleted = written - (commit.row_change or 0) if gone else 0
        rows = RowCounts(written, 0, deleted, late)
    size = messages.get("numOutputBytes", messages.get("numTargetBytesAdded", 0))
    # An empty commit only carries the step's transaction: readers of the table need not look again.
    is_empty = intent.kind is StepKind.BUILD and not (commit.changes_data or commit.table_id)
    version = None if is_empty else commit.version
    return Outcome(version, table_id, commit.version, rows, size, messages)


def with_partitions(services: Services, intent: Intent, outcome: Outcome) -> Outcome:
    """Add what a commit wrote to each partition, where its files tell."""
    model = services.project.models.get(intent.model)
    settings = model.partition if model else None
    if settings is None or outcome.version is None or intent.kind is not StepKind.BUILD:
        return outcome
    found = services.places.written(intent.uri, outcome.version, settings.field, settings.type)
    if found is None:
        return outcome
    rows = tuple(replace(each, ord=intent.grid.at(place)) for place, each in found.items())
    return replace(outcome, partitions=tuple(sorted(rows, key=lambda each: each.ord)))
