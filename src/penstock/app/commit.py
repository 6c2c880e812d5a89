"""Begin, commit, finish: the part of a step in which data and records must come to agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.core.errors import (
    ConcurrentWriterError,
    DataError,
    LeaseHeldError,
    LeaseLostError,
    PenstockError,
    StateError,
)
from penstock.core.facts import Commit as LogCommit
from penstock.core.findings import Location
from penstock.core.ports import StepSession
from penstock.core.statement import ROW_CHANGE, Commit, Row, Scalar, Stage, Work
from penstock.core.step import Intent, Outcome, RowCounts, StepFailure, StepKind
from penstock.core.token import read_metrics
from penstock.strategies.history.counts import IdentityError, first_metrics

if TYPE_CHECKING:
    from penstock.app.run_context import Context
    from penstock.app.shop import Shop

_FINISH_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Ended:
    """A step that is done: what it intended and what came of it."""

    intent: Intent
    outcome: Outcome
    schema_changes: tuple[str, ...] = ()


class Committer:
    """The commit protocol for one step: begin, one Delta commit, finish."""

    def __init__(
        self, shop: Shop, context: Context, where: Location | None, planned_on: int | None
    ) -> None:
        """Take what the steps of a run share; `planned_on` is the step that was planned on.

        Steps of the same run that came after it do not count.
        """
        self._shop = shop
        self._where = where
        self._context = context
        self._planned_on = planned_on
        self._started = time.monotonic()
        self._holder = shop.holder(context.run)

    @contextmanager
    def rejecting(self, intent: Intent) -> Iterator[None]:
        """Record a step that fails before it begins as FAILED, without a lease."""
        try:
            yield
        except PenstockError as error:
            self._shop.writing.journal.reject(intent, StepFailure.of(error), self._holder)
            raise

    def nothing(self, intent: Intent, late: int | None) -> Ended:
        """Record a step whose windows are empty: no statement, no commit, new pins."""
        begun = self._begin(intent)
        return self._finish(begun, self._unchanged(begun, late))

    def alter(
        self,
        session: StepSession,
        build: Intent,
        statement: Commit,
        kind: StepKind = StepKind.ALTER,
    ) -> Ended:
        """Make a change that must come before the build as a step of its own."""
        intent = replace(
            build,
            step=self._shop.clock.new_id(),
            kind=kind,
            watermarks=(),
            windows=(),
            lowers_watermarks=False,
        )
        begun = self._begin(intent)
        self._shop.fault(f"begun-{kind}")
        self._commit(session, begun, statement)
        return self._finish(begun, self._outcome(begun, None))

    def build(self, session: StepSession, intent: Intent, work: Work, late: int | None) -> Ended:
        """Run the stages, then the one commit; then write down what that commit did."""
        begun = self._begin(intent)
        self._shop.fault("after-begin")
        with self._failing(begun):
            seen = staged(session, work, self._where)
            statement = work.decide(seen)
        if statement is not None:
            self._commit(session, begun, statement, work.again)
        outcome = self._outcome(begun, late)
        outcome = replace(outcome, metrics={**outcome.metrics, **work.told(seen)})
        if statement is not None:
            self._hold_promises(begun, statement)
        return self._finish(begun, outcome)

    def _begin(self, intent: Intent) -> Intent:
        contents = self._context.contents(intent)
        journal = self._shop.writing.journal

        def begin() -> Intent:
            begun = journal.begin(intent, contents, self._holder, self._planned_on)
            return replace(intent, step_seq=begun.step_seq)

        return waiting(begin, self._context.wait_seconds)

    def _commit(
        self,
        session: StepSession,
        intent: Intent,
        statement: Commit,
        again: Work | None = None,
    ) -> None:
        """Commit; an error that came after the commit was in the log is no failure.

        A step whose log cannot be read then stays RUNNING, and `recover` finds out. `again` tells
        more about rows for which the statement was refused.
        """
        with self._failing(intent):
            self._shop.fault("before-commit")
            if not self._shop.writing.journal.holds(intent.step):
                raise lease_lost(intent)
            if statement.exclusive:
                self._hold_version(intent)
        try:
            session.commit(statement, intent)
        except BaseException as error:
            if self._commit_of(intent) is None:
                with self._failing(intent):
                    if again is not None and isinstance(error, DataError):
                        staged(session, again, self._where)
                    raise
        self._shop.fault("after-commit")

    def _hold_version(self, intent: Intent) -> None:
        """Refuse to write where somebody has written since the step looked."""
        head = self._shop.log.head(intent.uri)
        if (head.version if head else None) != intent.base_version:
            raise ConcurrentWriterError(
                "concurrent-writer",
                f"another writer committed to {intent.table} after the step had read it",
                where=self._where,
                hint="run again; nothing of this step was written",
            )

    def _hold_promises(self, intent: Intent, statement: Commit) -> None:
        """Compare what Delta says it did with what was staged; a difference is a bug."""
        commit = self._commit_of(intent)
        if commit is None:
            return
        for name, (identity, wanted) in statement.expected.items():
            found = commit.row_change if name == ROW_CHANGE else commit.metrics.get(name, 0)
            if found is not None and found != wanted:
                with self._failing(intent):
                    raise IdentityError(
                        f"metrics-mismatch: {identity}: {name} of version {commit.version} is "
                        f"{found}, staged were {wanted}; penstock snapshot verify {intent.model}"
                    )

    @contextmanager
    def _failing(self, intent: Intent) -> Iterator[None]:
        """Record a begun step that fails before its commit."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, LeaseLostError):
                raise
            if isinstance(error, IdentityError):
                failure = StepFailure("metrics-mismatch", str(error))
            elif not isinstance(error, PenstockError):
                failure = StepFailure("internal-error", f"{type(error).__name__}: {error}"[:4000])
            else:
                failure = StepFailure.of(error)
            self._shop.writing.journal.fail(intent.step, failure)
            raise

    def _outcome(self, intent: Intent, late: int | None) -> Outcome:
        if not intent.uri:
            return Outcome(None)
        commit = self._commit_of(intent)
        if commit is None:
            return self._unchanged(intent, late)
        outcome = outcome_of(commit, self._table_id(intent, commit), intent, late)
        return with_partitions(self._shop, intent, outcome)

    def _commit_of(self, intent: Intent) -> LogCommit | None:
        if not intent.uri:
            return None
        after = -1 if intent.base_version is None else intent.base_version
        commits = self._shop.log.commits(intent.uri, after)
        return next((commit for commit in commits if commit.step == intent.step), None)

    def _unchanged(self, intent: Intent, late: int | None) -> Outcome:
        record = self._context.records.get(intent.model)
        table_id = record.table_id if record else ""
        rows = RowCounts(late=late)
        return Outcome(None, table_id, intent.base_version, rows)

    def _table_id(self, intent: Intent, commit: LogCommit) -> str:
        if commit.table_id:
            return commit.table_id
        record = self._context.records.get(intent.model)
        if record is not None and record.table_id:
            return record.table_id
        facts = self._shop.log.facts(intent.uri)
        return facts.table_id if facts else ""

    def _finish(self, intent: Intent, outcome: Outcome) -> Ended:
        journal = self._shop.writing.journal
        took = int((time.monotonic() - self._started) * 1000)
        outcome = replace(outcome, duration_ms=took)
        for pause in (*_FINISH_PAUSES, None):
            try:
                journal.finish(intent.step, outcome)
                break
            except StateError as error:
                if error.code != "state-unreachable":
                    raise
                if pause is None:
                    raise not_recorded(intent, outcome) from error
                time.sleep(pause)
        self._shop.fault("after-finish")
        return Ended(intent, outcome)


def staged(session: StepSession, work: Work, where: Location | None) -> Row:
    """Run the stages of a step and hold their rules; give their looks as one row."""
    seen: dict[str, Scalar] = {}
    for stage in work.stages:
        if stage.when and not seen.get(stage.when):
            continue
        look = session.stage(stage)
        hold(session, stage, look, where)
        seen |= look
    return seen


def hold(session: StepSession, stage: Stage, look: Row, where: Location | None) -> None:
    """Hold a stage's rules against its look; every broken one is in the error, with samples."""
    broken = []
    for rule in stage.rules:
        count = int(look.get(rule.count) or 0)
        if count:
            samples = ", ".join(session.sample(rule.samples)) if rule.samples else ""
            count = int(session.look(rule.tally)["n"] or 0) if rule.tally else count
            broken.append((rule, rule.sentence.format(count=count, samples=samples)))
    if broken:
        first, sentence = broken[0]
        others = [f"{rule.code}: {text} ({rule.hint})" for rule, text in broken[1:]]
        raise DataError(first.code, "; ".join([sentence, *others]), where=where, hint=first.hint)


def outcome_of(
    commit: LogCommit, table_id: str, intent: Intent, late: int | None = None
) -> Outcome:
    """Read what a commit did from its operation metrics (docs/ARCHITECTURE.md, step 3).

    Counts that Delta does not make stand in its token.
    """
    told = {**commit.metrics, **read_metrics(commit.token)}
    if intent.strategy == "snapshot" and "source_rows" not in told:
        told |= first_metrics(commit.metrics.get("numOutputRows", 0))
    if commit.operation == "MERGE":
        rows = RowCounts(
            told.get("numTargetRowsInserted", 0),
            told.get("numTargetRowsUpdated", 0),
            told.get("numTargetRowsDeleted", 0),
            late,
        )
    elif commit.operation == "UPDATE":
        rows = RowCounts(0, told.get("numUpdatedRows", 0), 0, late)
    else:
        written = told.get("numOutputRows", 0) - told.get("numCopiedRows", 0)
        deleted = told.get("numDeletedRows")
        if deleted is None:  # Delta leaves it out where a range was only emptied
            gone = intent.strategy == "partition" and commit.row_change is not None
            deleted = written - (commit.row_change or 0) if gone else 0
        rows = RowCounts(written, 0, deleted, late)
    size = told.get("numOutputBytes", told.get("numTargetBytesAdded", 0))
    return Outcome(commit.version, table_id, commit.version, rows, size, told)


def with_partitions(shop: Shop, intent: Intent, outcome: Outcome) -> Outcome:
    """Add what a commit wrote to each partition, where its files tell."""
    model = shop.project.models.get(intent.model)
    settings = model.partition if model else None
    if settings is None or outcome.version is None or intent.kind is not StepKind.BUILD:
        return outcome
    found = shop.places.written(intent.uri, outcome.version, settings.field, settings.type)
    if found is None:
        return outcome
    rows = tuple(replace(each, ord=intent.grid.at(place)) for place, each in found.items())
    return replace(outcome, partitions=tuple(sorted(rows, key=lambda each: each.ord)))


def waiting(begin: Callable[[], Intent], seconds: float) -> Intent:
    """Try to begin until the lease is free or the time is over."""
    until = time.monotonic() + seconds
    while True:
        try:
            return begin()
        except LeaseHeldError:
            if time.monotonic() >= until:
                raise
            time.sleep(min(0.5, max(0.0, until - time.monotonic())))


def lease_lost(intent: Intent) -> LeaseLostError:
    """Give the error of a step that another run has taken the target from."""
    return LeaseLostError(
        "lease-lost",
        f"{intent.table} was taken over by another run while this one was silent",
        hint="nothing of this step was committed; run again",
    )


def not_recorded(intent: Intent, outcome: Outcome) -> StateError:
    """Give the error of a step that is in the table and not yet in the records."""
    version = "without a commit" if outcome.version is None else f"as version {outcome.version}"
    return StateError(
        "commit-not-recorded",
        f"step {intent.step} of {intent.model} is in the table {version}, but the state store "
        "cannot be reached to record it",
        hint="the data is safe; penstock recover records it once the store is back",
    )
