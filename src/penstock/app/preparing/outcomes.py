"""What a commit did, and taking back what failed a gate: one RESTORE as a step of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from penstock.app.services.services import Services
from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.errors import (
    InterruptedRunError,
    LeaseHeldError,
    PenstockError,
    StateError,
    TableError,
)
from penstock.core.facts import LogCommit, Touched
from penstock.core.records import StepRecord
from penstock.core.statement import Commit
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepKind
from penstock.core.steps.token import read_metrics
from penstock.core.strategy import Writing, strategy_named
from penstock.strategies.reshape import restore


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


_RESHAPES = (StepKind.ALTER, StepKind.REWRITE)


@dataclass(frozen=True, slots=True)
class Undoing:
    """The step that undoes another: what it intends, what it runs, which version comes back."""

    intent: Intent
    statement: Commit
    version: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a step that was to be taken back.

    `undone` is what came of the RESTORE, `version` the one that came back; both None without one.
    """

    checked: Checked
    undone: Outcome | None = None
    version: int | None = None
    note: str = ""


def taken_back(
    services: Services,
    intent: Intent,
    checked: Checked,
    version: int,
    commit: Callable[[Intent, Commit], Outcome],
) -> Taken:
    """Take back a step that failed after its commit; `commit` does the step that restores.

    One that cannot be undone is flagged. What keeps it from being undone now is told, and the next
    command tries again.
    """
    try:
        found = way_back(services, intent, version)
        if isinstance(found, str):
            return Taken(settle_as_flag(services, intent, checked), note=found)
        if checked.mode is not OnFailure.ROLLBACK:
            return Taken(checked)
        undone = commit(found.intent, found.statement)
    except PenstockError as error:
        if not can_be_tried_again(error):
            raise
        return Taken(checked, note=f"not rolled back yet: {error.sentence}")
    return Taken(checked, undone, found.version, features_left(services, intent, found.version))


def features_left(services: Services, intent: Intent, version: int) -> str:
    """Say which table features stay on after a RESTORE that a version did not have, "" if none.

    Delta takes back rows, schema and properties, never a feature.
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
    """Give a failure that must be undone as a flag where others have written since."""
    if checked.mode is not OnFailure.ROLLBACK or checked.failure is None or not intent.uri:
        return checked
    if checked.version is None or foreign_after(services, intent, checked.version) is None:
        return checked
    return replace(checked, mode=OnFailure.FLAG)


def settle_as_flag(services: Services, intent: Intent, checked: Checked) -> Checked:
    """Settle a failure that was to be undone as a flag; nothing is written where it is one."""
    if checked.mode is OnFailure.FLAG:
        return checked
    flagged = replace(checked, mode=OnFailure.FLAG)
    services.writing.journal.settle_checks(intent.step, flagged)
    return flagged


def foreign_after(services: Services, intent: Intent, version: int) -> Touched | None:
    """Give the first change of rows by anybody after a version of the target."""
    commits = services.places.touched(intent.uri, version, {}, partial=True)
    return next((each for each in commits if each.step != intent.step), None)


def way_back(services: Services, intent: Intent, version: int) -> Undoing | str:
    """Give the step that brings a target back to what it was before a step's commit.

    What made the table ready for the step goes too, unless others wrote between. Where there is no
    way back the words that say why: rows of others would be undone, or VACUUM took the old ones.
    """
    foreign = foreign_after(services, intent, version)
    if foreign is not None:
        messages = f"version {foreign.version} ({foreign.operation}, not ours)"
        return _refused(intent, f"{messages} lies after version {version}")
    first, before = _before(services, intent, version)
    missing = services.places.missing_files(intent.uri, before)
    if missing:
        return _refused(intent, f"{missing:,} files of version {before} are gone")
    return _undoing(services, intent, first, before)


def can_be_tried_again(error: PenstockError) -> bool:
    """Whether an error is of one step: the next command may do what this one could not."""
    if isinstance(error, LeaseHeldError):
        return True
    return not isinstance(error, StateError | InterruptedRunError)


def _undoing(services: Services, intent: Intent, first: int, version: int) -> Undoing:
    """Give the RESTORE. Nobody may write in between: their rows would be undone too."""
    head = services.log.head(intent.uri)
    made = replace(
        intent,
        step=services.clock.new_id(),
        kind=StepKind.ROLLBACK,
        reason=f"rollback: {intent.step} failed its checks",
        triggered_by="rollback",
        inputs=(),
        windows=(),
        watermarks=(),
        lowers_watermarks=False,
        base_version=head.version if head else None,
        restores=first,
        step_seq=0,
        on_failure=str(OnFailure.ROLLBACK),
    )
    statement = restore(services.project.sql_of(intent.table), version)
    return Undoing(made, replace(statement, exclusive=True), version)


def _before(services: Services, intent: Intent, version: int) -> tuple[int, int]:
    """Give the number of the first step that is undone, and the version before it."""
    ready = _made_ready(services.reading.records.steps_of(intent.model), intent)
    if not ready or ready[0].intent.base_version is None:
        return intent.step_seq, version - 1
    before, ours = ready[0].intent.base_version, {each.intent.step for each in ready}
    between = [c for c in services.log.commits(intent.uri, before) if c.version < version]
    if any(commit.step not in ours for commit in between):
        return intent.step_seq, version - 1
    return ready[0].intent.step_seq, before


def _made_ready(steps: Sequence[StepRecord], intent: Intent) -> list[StepRecord]:
    """Give the steps that came right before a build to make its table ready, oldest first."""
    older = [
        each
        for each in steps
        if each.intent.step_seq < intent.step_seq and each.outcome and each.outcome.version
    ]
    own = takewhile(
        lambda each: each.intent.kind in _RESHAPES and each.intent.run == intent.run,
        reversed(older),
    )
    return list(own)[::-1]


def _refused(intent: Intent, why: str) -> str:
    return f"rollback-refused: {intent.model}: {why}; rows stay and are flagged"
