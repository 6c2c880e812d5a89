"""What a commit did, and undoing what failed a gate: one RESTORE as a separate step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from penstock.app.services.services import Services
from penstock.core.check_results import Checked
from penstock.core.checks.check import OnFailure
from penstock.core.errors import (
    InterruptedRunError,
    LeaseHeldError,
    PenstockError,
    StateError,
    TableError,
)
from penstock.core.facts import LogCommit, Touched
from penstock.core.statement import REPLACED_ROWS
from penstock.core.steps.step import ForeignCommit, Intent, Outcome, RowCounts, StepKind
from penstock.core.strategy import Writing, strategy_named


def own_commit(services: Services, intent: Intent) -> LogCommit | None:
    """Return the commit of a step, None without one."""
    if not intent.uri:
        return None
    commits = services.log.commits(intent.uri, base_of(intent))
    return next((commit for commit in commits if commit.step == intent.step), None)


def base_of(intent: Intent) -> int:
    """Return the version before the commit of a step, -1 if there was no table."""
    return -1 if intent.base_version is None else intent.base_version


def outcome_of(
    services: Services,
    intent: Intent,
    commit: LogCommit | None,
    made_id: str = "",
    since: int | None = None,
) -> Outcome:
    """Return what a commit did, if there was one, from its metrics (docs/ARCHITECTURE.md, step 3).

    Its files show what it wrote to each partition. `known` is the id of the table, which only the
    commit that created it contains. Foreign commits count from the version `since`, by default from
    the last settled version. For a rollback all of them count.
    """
    if not intent.uri:
        return Outcome(None)
    found = _own_outcome(services, intent, commit, made_id)
    upto = base_of(intent) if commit is None else commit.version - 1
    if upto < 0:
        return found
    if commit is not None and (commit.overwrites or _replaces_ranges(intent)):
        # the statement has read every version but those that Delta let in meanwhile: appends
        since = upto if commit.read_version is None else commit.read_version
    elif intent.kind is StepKind.ROLLBACK:
        since = -1  # rows of any step before may come back, with what others changed of them
    elif since is None:
        since = settled_before(services, intent, found.table_id)
    if commit is not None and commit.restored is not None:  # what came after it is undone
        upto = commit.restored
    if upto <= since:
        return found
    return replace(found, foreign=foreign_between(services, intent.uri, since, upto))


def settled_before(services: Services, intent: Intent, table_id: str) -> int:
    """Return the version up to which the records know who changed the rows of a target.

    They know nothing about a table that replaced theirs: its first step read all of it.
    """
    records = services.reading.records
    record = records.models(intent.model).get(intent.model)
    if record is None or record.settled_version is None or record.table_id != table_id:
        return base_of(intent)
    if intent.grid.is_whole:
        return record.settled_version
    parts = records.partitions().get(intent.model)
    groups = parts.groups if parts else ()
    settled = (group.settled_low for group in groups if group.settled_low is not None)
    return min(settled, default=record.settled_version)


def foreign_between(
    services: Services, uri: str, after: int, upto: int
) -> tuple[ForeignCommit, ...]:
    """Return foreign commits that changed rows, above a version and up to another."""
    if upto <= after:
        return ()
    store = services.store_id
    return tuple(
        ForeignCommit(each.version, each.time, each.operation, each.user)
        for each in services.log.commits(uri, after, partial=True)
        if each.version <= upto and each.changes_data and each.store != store
    )


def _replaces_ranges(intent: Intent) -> bool:
    return intent.kind is StepKind.BUILD and intent.writing is Writing.RANGES


def _own_outcome(
    services: Services, intent: Intent, commit: LogCommit | None, made_id: str
) -> Outcome:
    if commit is None:
        return Outcome(None, made_id, intent.base_version)
    table_id = commit.table_id or made_id
    if not table_id and (facts := services.log.facts(intent.uri)) is not None:
        table_id = facts.table_id
    # An empty commit only carries the step's transaction: readers of the table need not look again.
    is_build = intent.kind is StepKind.BUILD
    is_empty = is_build and not (commit.changes_data or commit.table_id)
    version = None if is_empty else commit.version
    metrics = dict(commit.metrics)
    replaced = metrics.pop(REPLACED_ROWS, 0)
    rows = _rows_of(commit, intent, metrics)
    rows = replace(rows, deleted=rows.deleted or replaced)
    metrics |= strategy_named(intent.strategy).counts(metrics)
    size = metrics.get("numOutputBytes", metrics.get("numTargetBytesAdded", 0))
    outcome = Outcome(version, table_id, commit.version, rows, size, metrics)
    outcome = replace(outcome, replaced=commit.overwrites)
    model = services.project.models.get(intent.model)
    settings = model.partition if model else None
    if settings is None or version is None or not is_build:
        return outcome
    found = services.places.written(intent.uri, version, settings.field, settings.type)
    if found is None:
        return outcome
    parts = (replace(each, ord=intent.grid.at(place)) for place, each in found.items())
    return replace(outcome, partitions=tuple(sorted(parts, key=lambda each: each.ord)))


def _rows_of(commit: LogCommit, intent: Intent, metrics: Mapping[str, int]) -> RowCounts:
    if commit.operation == "MERGE":
        names = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
        inserted, updated, deleted = (metrics.get(name, 0) for name in names)
        return RowCounts(inserted, updated, deleted)
    if commit.operation == "UPDATE":
        return RowCounts(0, metrics.get("numUpdatedRows", 0), 0)
    written = metrics.get("numOutputRows", 0) - metrics.get("numCopiedRows", 0)
    gone = 0
    if intent.writing is Writing.RANGES and commit.row_change is not None:
        gone = written - commit.row_change  # Delta leaves it out where a range was only emptied
    return RowCounts(written, 0, metrics.get("numDeletedRows", gone))


_RESHAPES = (StepKind.ALTER, StepKind.REWRITE)


def features_left(services: Services, intent: Intent, version: int) -> str:
    """Return which table features stay after a RESTORE although the version lacked them, or "".

    Delta restores rows, schema and properties, but never features.
    """
    uri = intent.uri
    try:
        left = sorted(services.places.features(uri) - services.places.features(uri, version))
    except TableError:  # the rows are back; that nobody can tell more is no failure of that
        return ""
    if not left:
        return ""
    names = f"table feature{'s' if left[1:] else ''} {', '.join(left)}"
    return f"features-left: {intent.table} keeps the {names}, which version {version} did not have"


def flag_if_overwritten(services: Services, intent: Intent, checked: Checked) -> Checked:
    """Return a failure that must be undone as a flag if others have written since."""
    if checked.mode is not OnFailure.ROLLBACK or checked.failure is None or not intent.uri:
        return checked
    if checked.version is None or foreign_after(services, intent, checked.version) is None:
        return checked
    return replace(checked, mode=OnFailure.FLAG)


def foreign_after(services: Services, intent: Intent, version: int) -> Touched | None:
    """Return the first change of rows, by any writer, after a version of the target."""
    commits = services.places.touched(intent.uri, version, {}, partial=True)
    return next((each for each in commits if each.step != intent.step), None)


def way_back(services: Services, intent: Intent, version: int) -> tuple[Intent, int] | str:
    """Return the step that restores a target to the version before a step, and that version.

    The commits that prepared the table are undone too, unless others wrote in between. If there is
    no way back, returns the reason: foreign rows would be undone, or VACUUM removed the old ones.
    """
    foreign = foreign_after(services, intent, version)
    refused = f"rollback-refused: {intent.model}: {{}}; rows stay and are flagged"
    if foreign is not None:
        what = f"version {foreign.version} ({foreign.operation}, not ours)"
        return refused.format(f"{what} lies after version {version}")
    first, before = _step_before(services, intent, version)
    missing = services.places.missing_files(intent.uri, before)
    if missing:
        return refused.format(f"{missing:,} files of version {before} are gone")
    head = services.log.head(intent.uri)
    undoing = replace(
        intent,
        kind=StepKind.ROLLBACK,
        reason=f"rollback: {intent.step} failed its checks",
        triggered_by="rollback",
        inputs=(),
        base_version=head.version if head else None,
        restores=first,
        step_seq=0,
        on_failure=str(OnFailure.ROLLBACK),
    )
    return undoing, before


def can_be_tried_again(error: PenstockError) -> bool:
    """Return whether an error may disappear in the next command."""
    if isinstance(error, LeaseHeldError):
        return True
    return not isinstance(error, StateError | InterruptedRunError)


def _step_before(services: Services, intent: Intent, version: int) -> tuple[int, int]:
    """Return the number of the first undone step, and the version before it."""
    older = [
        each
        for each in services.reading.records.steps_of(intent.model)
        if each.intent.step_seq < intent.step_seq and each.outcome and each.outcome.version
    ]
    own = takewhile(
        lambda each: each.intent.kind in _RESHAPES and each.intent.run == intent.run,
        reversed(older),
    )
    ready = [*own][::-1]  # the steps right before the build that made its table ready
    if not ready or ready[0].intent.base_version is None:
        return intent.step_seq, version - 1
    before, ours = ready[0].intent.base_version, {each.intent.step for each in ready}
    between = [c for c in services.log.commits(intent.uri, before) if c.version < version]
    if any(commit.step not in ours for commit in between):
        return intent.step_seq, version - 1
    return ready[0].intent.step_seq, before
