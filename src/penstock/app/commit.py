"""Begin, commit, finish: the part of a step in which data and records must come to agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.app.checking.undo import foreign_after, kept_by_others, refused_words, undoing
from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.stages import staged
from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.engine_ports import StepSession
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
from penstock.core.statement import ROW_CHANGE, Commit, Row, Work
from penstock.core.step import Intent, Outcome, RowCounts, StepFailure, StepKind
from penstock.strategies.history.counts import IdentityError

if TYPE_CHECKING:
    from penstock.app.checking.watch import Watch
    from penstock.app.run_context import Context
    from penstock.app.shop import Shop

_FINISH_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Ended:
    """A step that is done: what it intended, what came of it, what its checks said.

    `undone` is what came of the step that took it back.
    """

    intent: Intent
    outcome: Outcome
    schema_changes: tuple[str, ...] = ()
    checked: Checked | None = None
    undone: Outcome | None = None
    notes: tuple[str, ...] = ()

    @property
    def held_back(self) -> bool:
        """Whether a gate kept all of it from being published: records are as they were."""
        checked = self.checked
        if checked is None or checked.failure is None or checked.mode is not OnFailure.BLOCK:
            return False
        return self.outcome.version is None


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

    def nothing(self, intent: Intent, late: int | None, watch: Watch | None = None) -> Ended:
        """Record a step whose windows are empty: no statement, no commit, new pins."""
        begun = self._begin(watch.promised(intent) if watch else intent)
        checked = None
        if watch is not None:
            with self._failing(begun):
                checked = watch.unchanged(begun)
            self._record(begun, checked)
        return self._finish(begun, self._unchanged(begun, late), checked)

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

    def build(  # the sides of one step
        self,
        session: StepSession,
        intent: Intent,
        work: Work,
        late: int | None,
        watch: Watch | None = None,
    ) -> Ended:
        """Run the stages, then the one commit; then write down what that commit did.

        With a `watch` its rows are checked before the commit or after it. Rows that are held back
        make no commit, and an end that is told, not raised.
        """
        begun = self._begin(watch.promised(intent) if watch else intent)
        self._shop.fault("after-begin")
        if watch is None:
            return self._build(session, begun, work, late)
        try:
            build = self._build_held if watch.blocks else self._build_watched
            return build(session, begun, work, late, watch)
        finally:
            watch.clean(begun)

    def _build(self, session: StepSession, begun: Intent, work: Work, late: int | None) -> Ended:
        with self._failing(begun):
            seen = staged(session, work, self._where)
            statement = work.decide(seen)
        return self._finish(begun, self._made(session, begun, (work, statement, seen), late))

    def _build_held(
        self, session: StepSession, begun: Intent, work: Work, late: int | None, watch: Watch
    ) -> Ended:
        """Write, look, publish: nothing of a group that failed ever is in the table."""
        with self._failing(begun):
            seen = staged(session, work, self._where)
            held = watch.hold(begun, work.decide(seen), seen)
            self._shop.fault("after-evaluating")
        self._record(begun, held.checked)
        self._shop.fault("after-checks")
        if held.statement is None and held.checked.failure is not None:
            self._shop.writing.journal.fail(begun.step, held.checked.failure)
            return Ended(begun, self._unchanged(begun, late), checked=held.checked)
        if held.statement is not None and watch.prepare is not None:
            with self._failing(begun):
                begun = replace(begun, base_version=watch.prepare())
        outcome = self._made(session, begun, (work, held.statement, seen), late)
        return self._finish(begun, outcome, held.checked)

    def _build_watched(
        self, session: StepSession, begun: Intent, work: Work, late: int | None, watch: Watch
    ) -> Ended:
        """Commit, then look. A look that cannot end leaves the step for the next command."""
        with self._failing(begun):
            seen = staged(session, work, self._where)
            statement = work.decide(seen)
            if statement is not None:
                statement = watch.passing(statement)
        outcome = self._made(session, begun, (work, statement, seen), late)
        looks = watch.subject.checks.looks_after
        checked = watch.look(begun, outcome, seen) if looks else watch.unlooked()
        self._record(begun, checked)
        self._shop.fault("after-checks")
        ended = self._finish(begun, outcome, checked)
        return self.undo(session, ended)

    def undo(self, session: StepSession, ended: Ended) -> Ended:
        """Take back a step whose failure asks for it, as a step of its own.

        Rows that others wrote after it keep it from being undone: it is flagged then.
        """
        checked, version, intent = ended.checked, ended.outcome.version, ended.intent
        if checked is None or checked.failure is None or version is None:
            return ended
        if intent.on_failure != OnFailure.ROLLBACK:
            return ended
        own = replace(intent, run=self._context.run)
        found = undoing(self._shop, own, version, intent.step_seq)
        foreign = foreign_after(self._shop, intent, version)
        if foreign is not None:
            flagged = kept_by_others(self._shop, intent, checked)
            told = refused_words(intent.model, version, foreign)
            return replace(ended, checked=flagged, notes=(*ended.notes, told))
        try:
            undone = self.alter(session, found.intent, found.statement, StepKind.ROLLBACK)
        except ConcurrentWriterError as error:  # the next command decides
            return replace(ended, notes=(*ended.notes, f"not rolled back yet: {error.sentence}"))
        return replace(ended, undone=undone.outcome)

    def _made(
        self,
        session: StepSession,
        begun: Intent,
        what: tuple[Work, Commit | None, Row],
        late: int | None,
    ) -> Outcome:
        """Commit, and give what the commit did."""
        work, statement, seen = what
        if statement is not None:
            self._commit(session, begun, statement, work.again)
        outcome = self._outcome(begun, late)
        outcome = replace(outcome, metrics={**outcome.metrics, **work.told(seen)})
        if statement is not None:
            self._hold_promises(begun, statement)
        return outcome

    def _record(self, intent: Intent, checked: Checked) -> None:
        """Write what checks said; a store that cannot be reached is tried again for a while."""
        journal = self._shop.writing.journal
        patiently(lambda: journal.record_checks(intent.step, checked))

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

    def _finish(self, intent: Intent, outcome: Outcome, checked: Checked | None = None) -> Ended:
        journal = self._shop.writing.journal
        took = int((time.monotonic() - self._started) * 1000)
        outcome = replace(outcome, duration_ms=took)
        try:
            patiently(lambda: journal.finish(intent.step, outcome))
        except StateError as error:
            if error.code != "state-unreachable":
                raise
            raise not_recorded(intent, outcome) from error
        self._shop.fault("after-finish")
        return Ended(intent, outcome, checked=checked)


def patiently(write: Callable[[], None]) -> None:
    """Write to the store; one that cannot be reached is tried again for a while."""
    for pause in _FINISH_PAUSES:
        try:
            return write()
        except StateError as error:
            if error.code != "state-unreachable":
                raise
            time.sleep(pause)
    return write()


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
