"""Begin, commit, finish: the phases of a step that keep data and records in agreement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.app.preparing.outcomes import (
    base_of,
    can_be_tried_again,
    features_left,
    foreign_between,
    outcome_of,
    own_commit,
    way_back,
)
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import DecidedStatement, enter_catalog, run_stages
from penstock.app.services.services import Services
from penstock.app.services.workers import fence, may_write, waiting
from penstock.core.check_results import Checked
from penstock.core.checks.check import OnFailure
from penstock.core.errors import (
    ConcurrentWriterError,
    DataError,
    LeaseHeldError,
    LeaseLostError,
    PenstockError,
    SparkDiedError,
    StateError,
    TableError,
)
from penstock.core.facts import LogCommit
from penstock.core.findings import Location
from penstock.core.masking import mask
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.core.statement import ROW_CHANGE, Commit, Work
from penstock.core.steps.step import LONGEST, Intent, Outcome, StepFailure, StepKind
from penstock.strategies.history.commit import IdentityError
from penstock.strategies.reshape import restore

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished step. If another one undid it, `undone` is its outcome, `restored` the version."""

    intent: Intent
    outcome: Outcome
    schema_changes: tuple[str, ...] = ()
    checked: Checked | None = None
    undone: Outcome | None = None
    restored: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_held_back(self) -> bool:
        """Whether a gate held back all of it: records did not change."""
        checked = self.checked
        if checked is None or checked.failure is None or checked.mode is not OnFailure.BLOCK:
            return False
        return self.outcome.version is None


def refresh_record(services: Services, records: dict[str, ModelRecord], name: str) -> None:
    """Update a model's record from the store, once a step of it has ended."""
    records.update(services.reading.records.models(name))


class Committer:
    """The commit protocol for one step: begin, one Delta commit, finish.

    `session` is the session of its statements; it is opened once pins are taken.
    """

    session: StepSession

    def __init__(
        self, services: Services, context: Context, where: Location | None, planned_on: int | None
    ) -> None:
        """Store what steps of a run share; `planned_on` is the target's last step when planned."""
        self.where = where
        self.texts: Mapping[str, str] = {}  # stored beside those of its model
        self._services = services
        self._context = context
        self._planned_on = planned_on
        self._started = time.monotonic()
        self._holder = context.holder
        self._store = services.writing
        self._journal = self._store.journal

    def fault(self, point: str) -> None:
        """Report a point of the protocol, where a test may end the process."""
        if self._services.fault is not None:
            self._services.fault(point)

    @contextmanager
    def rejecting(self, intent: Intent) -> Iterator[None]:
        """Record a step that fails before it begins as FAILED, without a lease."""
        try:
            yield
        except PenstockError as error:
            self._journal.reject(intent, StepFailure.of(error), self._holder)
            raise

    def alter(self, intent: Intent, statement: Commit, kind: StepKind = StepKind.ALTER) -> Ended:
        """Commit a change that must precede the build as a separate step.

        A gate may place it between the beginning of the build and its commit: with its own lane,
        its number does not outdate that of the build.
        """
        own = replace(
            intent,
            step=self._services.clock.new_id(),
            run=self._holder.run,
            kind=kind,
            lane=str(kind),
            watermarks=(),
            windows=(),
            lowers_watermarks=False,
            slice=None,  # its rows are not in the table yet, or no longer
            session=None,
        )
        begun = self.begin(own)
        self.fault(f"begun-{kind}")
        known, commit = self._owned_table_id(begun), self._commit(begun, statement)
        return self.finish(begun, outcome_of(self._services, begun, commit, known))

    def undo(self, ended: Ended) -> Ended:
        """Undo a step whose failed checks require it, with a separate step.

        If it can never be undone, it is flagged. If it cannot be undone now, that is reported, and
        the next command tries again. No other writer may come between: its rows would be undone
        too.
        """
        checked, version, intent = ended.checked, ended.outcome.version, ended.intent
        if checked is None or checked.failure is None or version is None:
            return ended
        if intent.on_failure != OnFailure.ROLLBACK:
            return ended
        services, mode = self._services, checked.mode
        try:
            found = way_back(services, intent, version)
            if isinstance(found, str):
                if mode is not OnFailure.FLAG:
                    checked = replace(checked, mode=OnFailure.FLAG)
                    services.writing.journal.settle_checks(intent.step, checked)
                return replace(ended, checked=checked, notes=(*ended.notes, found))
            if mode is not OnFailure.ROLLBACK:
                return ended
            undoing, before = found
            statement = restore(services.project.sql_of(intent.table), before)
            statement = replace(statement, exclusive=True)
            undone = self.alter(undoing, statement, StepKind.ROLLBACK).outcome
        except PenstockError as error:
            if not can_be_tried_again(error):
                raise
            note = f"not rolled back yet: {error.sentence}"
            return replace(ended, notes=(*ended.notes, note))
        left = features_left(services, intent, before)
        notes = (*ended.notes, left) if left else ended.notes
        return replace(ended, undone=undone, restored=before, notes=notes)

    def apply(self, begun: Intent, decided: DecidedStatement) -> Outcome:
        """Commit the decided statement, and return what the commit did."""
        work, statement, known = decided.work, decided.statement, self._owned_table_id(begun)
        if statement is not None and work.last_look is not None:
            with self.failing(begun):
                work.last_look()
        commit = self._commit(begun, statement, work.again) if statement is not None else None
        outcome = outcome_of(self._services, begun, commit, known)
        outcome = replace(outcome, metrics={**outcome.metrics, **work.counts(decided.row)})
        if statement is not None and commit is not None:
            self._require_promises(begun, statement, commit)
        return outcome

    def record(self, intent: Intent, checked: Checked) -> None:
        """Record the check results."""
        self._journal.record_checks(intent.step, checked)

    def begin(self, intent: Intent) -> Intent:
        """Record the step and take the target's lease; return the step with its number."""
        contents = {**_stored_texts(self._context.project, intent), **self.texts}
        record = self._context.records.get(intent.model)
        adopts = self._context.options.adopt  # whoever takes a table takes the rows that are there
        if record is not None and record.foreign and intent.kind is StepKind.BUILD and not adopts:
            intent = replace(intent, foreign=record.foreign)

        def begin() -> Intent:
            # The number of the last step that Delta knows of the target: a copy of the store that
            # was put back would give out numbers that Delta has seen, and skip their statements.
            above = 0
            if intent.uri:
                application = replace(intent, epoch=self._store.archive.epoch()).transaction
                above = self._services.log.transaction(intent.uri, application)
            begun = self._journal.begin(intent, contents, self._holder, self._planned_on, above)
            return replace(intent, step_seq=begun.step_seq, epoch=begun.epoch)

        return self._wait_for_lease(begin)

    def await_target(self, intent: Intent) -> None:
        """Raise `lease-held` before Spark starts if another run holds the target."""

        def check_lease() -> None:
            for lease in self._store.leases.taken():
                others = lease.target == str(intent.table) and lease.run != intent.run
                if others and may_write(self._services, lease):
                    hint = f"wait with --wait SECONDS, or penstock unlock {intent.table}"
                    raise LeaseHeldError(lease, hint=hint)

        self._wait_for_lease(check_lease)

    def _wait_for_lease(self, act: Callable[[], Given]) -> Given:
        """Call a function that needs a lease, once another run has released it."""
        try:
            return act()
        except LeaseHeldError:
            return waiting(self._services, act, self._context.wait_seconds)

    def _commit(
        self, intent: Intent, statement: Commit, again: Work | None = None
    ) -> LogCommit | None:
        """Commit, and return what the log shows; an error after the commit is not a failure.

        If the log cannot be read, the step stays RUNNING for `recover`. `again` returns details
        about refused rows. A statement that Delta skipped silently is an error too.
        """
        with self.failing(intent):
            if self._context.project.target.catalog:
                made = bool(intent.uri) and intent.base_version is not None
                enter_catalog(self._context.project, self.session, intent, is_new=made)
            self.fault("before-commit")
            # as late as can be: what another run writes from here on, Delta itself refuses
            self._require_lease(intent)
            if statement.exclusive and intent.uri:
                self._require_version(intent)
            self.fault("at-statement")
        try:
            self.session.commit(statement, intent)
        except Exception as error:
            if isinstance(error, SparkDiedError):  # nobody said how the statement ended
                fence(self._services, intent)
            if own_commit(self._services, intent) is None:
                with self.failing(intent):
                    # whoever took the lease has fenced the step; its end is theirs to write
                    self._require_lease(intent)
                    if again is not None and isinstance(error, DataError):
                        run_stages(self.session, again, self.where)
                    raise
        self.fault("after-commit")
        commit = own_commit(self._services, intent)
        if statement.once and intent.uri and commit is None:
            with self.failing(intent):
                self._require_lease(intent)
                raise TableError(
                    "commit-skipped",
                    f"Delta skipped the statement of step {intent.step} of {intent.model} as one "
                    f"that it had seen; nothing was written to {intent.table}",
                    hint="run again; if it stays so: penstock state rebuild",
                )
        return commit

    def _require_lease(self, intent: Intent) -> None:
        """Raise `lease-lost` if another run took the target and gave up this step."""
        if not self._store.leases.holds(intent.step):
            raise LeaseLostError(
                "lease-lost",
                f"{intent.table} was taken over by another run while this one was silent",
                hint="nothing of this step was committed; run again",
            )

    def prepare(
        self, intent: Intent, statement: Commit, prepare: Callable[[], int | None]
    ) -> Intent:
        """Make the commits that must directly precede the rows, without other writers between."""
        with self.failing(intent):
            if statement.exclusive:
                self._require_version(intent)
            ready = replace(intent, base_version=prepare())
            if statement.exclusive:
                self._require_version(intent, own=base_of(ready))
        return ready

    def _require_version(self, intent: Intent, own: int = -1) -> None:
        """Raise if others wrote since the step read the target; `own` is its last version."""
        base, head = base_of(intent), self._services.log.head(intent.uri)
        others = foreign_between(self._services, intent.uri, base, own)
        if others or (head.version if head else -1) != max(base, own):
            raise ConcurrentWriterError(
                "concurrent-writer",
                f"another writer committed to {intent.table} after the step had read it",
                where=self.where,
                hint="run again; nothing of this step was written",
            )

    def _require_promises(self, intent: Intent, statement: Commit, commit: LogCommit) -> None:
        """Compare Delta's metrics with the staged rows; a difference is a bug."""
        # a statement that joined its rows twice, or lost some, is seen by no check of the rows
        metrics, asks = dict(commit.metrics), statement.breaches and statement.feed
        rows = metrics.get("numSourceRows", 0)
        if asks and asks.counts and (seen := self.session.observed(rows)):
            metrics |= {name: int(value or 0) for name, value in seen.items()}
        for breach in statement.breaches(metrics) if statement.breaches else ():
            with self.failing(intent):
                sentence = f"metrics-mismatch: version {commit.version} of {intent.table}: {breach}"
                raise IdentityError(f"{sentence}; the rows stay, this is a bug of penstock")
        for name, (identity, wanted) in statement.expected.items():
            found = commit.row_change if name == ROW_CHANGE else commit.metrics.get(name, 0)
            if found is not None and found != wanted:
                with self.failing(intent):
                    raise IdentityError(
                        f"metrics-mismatch: {identity}: {name} of version {commit.version} is "
                        f"{found}, staged were {wanted}; penstock snapshot verify {intent.model}"
                    )

    @contextmanager
    def failing(self, intent: Intent) -> Iterator[None]:
        """Record the failure of a step that began but did not commit."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit, LeaseLostError):
            raise  # its statement may still run: it stays RUNNING until somebody has looked
        except BaseException as error:
            # a bug too is on record before it is raised, or the next run would ask the log in vain
            if isinstance(error, PenstockError):
                failure = StepFailure.of(self._services.cause_of(error))
            elif isinstance(error, IdentityError):
                failure = StepFailure("metrics-mismatch", str(error))
            else:
                message = mask(f"{type(error).__name__}: {error}")[:LONGEST]
                failure = StepFailure("internal-error", message)
            self._journal.fail(intent.step, failure)
            raise

    def empty_outcome(self, intent: Intent) -> Outcome:
        """Return the outcome of a step without a commit."""
        return outcome_of(self._services, intent, None, self._owned_table_id(intent))

    def _owned_table_id(self, intent: Intent) -> str:
        record = self._context.records.get(intent.model)
        return record.table_id if record else ""

    def finish(self, intent: Intent, outcome: Outcome, checked: Checked | None = None) -> Ended:
        """Record what the step did; raise `commit-not-recorded` if the store is unavailable."""
        took = int((time.monotonic() - self._started) * 1000)
        outcome = replace(outcome, duration_ms=took)
        if self._context.options.adopt:
            late = (each for each in outcome.foreign if each.version > base_of(intent))
            outcome = replace(outcome, foreign=tuple(late))
        try:
            self._journal.finish(intent.step, outcome)
        except StateError as error:
            if error.code != "state-unreachable":
                raise
            version = outcome.version
            where = "without a commit" if version is None else f"as version {version}"
            raise StateError(
                "commit-not-recorded",
                f"step {intent.step} of {intent.model} is in the table {where}, but the state "
                "store cannot be reached to record it",
                hint="the data is safe; penstock recover records it once the store is back",
            ) from error
        self.fault("after-finish")
        return Ended(intent, outcome, checked=checked)


def alter_each(
    committer: Committer, intent: Intent, statements: Iterable[str]
) -> tuple[Intent, Ended | None]:
    """Make several changes, one step each; return the intent after them, and the last one."""
    ended = None
    for sql in statements:
        ended = committer.alter(intent, Commit(sql, once=False))
        intent = replace(intent, base_version=ended.outcome.settled_version)
    return intent, ended


def _stored_texts(project: Project, intent: Intent) -> Mapping[str, str]:
    """Return the texts that a step stores, by checksum: SQL, canonical SQL, declared schema."""
    model, made = project.models.get(intent.model), intent.fingerprint
    if model is None:
        return {}
    kept = {model.fingerprint.settings: model.outside} if model.outside else {}
    for version in model.versions:
        for body in version.bodies:
            if body.fingerprint == made:
                kept |= {made.schema: version.schema_text} if made.schema else {}
                return kept | {made.sql: body.text, made.canonical: body.query.canonical}
    if made.sql != model.fingerprint.sql:
        return {}
    return {made.sql: project.shown_sql(model), made.canonical: model.query.canonical} | kept
