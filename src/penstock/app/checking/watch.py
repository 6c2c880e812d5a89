"""Watching one step: what its checks say of its rows, before they are published or after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, all_skipped
from penstock.app.checking.observing import Observation, observation
from penstock.app.checking.output import Output, StagedOutput, whole
from penstock.app.checking.staging import drop_staged, keeps_rows, quarantine_of, staging_folder
from penstock.app.checking.subject import Subject
from penstock.app.checking.undo import flag_if_overwritten
from penstock.app.checking.verdicts import decided
from penstock.app.stages import Decided
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import OnFailure
from penstock.core.ranges import difference
from penstock.core.statement import Commit, Row
from penstock.core.step import Intent, Outcome


@dataclass(frozen=True, slots=True)
class Held:
    """What may be published, None for nothing, and what the checks said."""

    statement: Commit | None
    checked: Checked


@dataclass(frozen=True, slots=True)
class Watch:
    """The checks of one step that is being done; `before` is what was said ahead of it.

    `prepare` makes what must come before rows that were held back, and gives the version after.
    """

    subject: Subject
    output: Output
    mode: OnFailure
    before: tuple[CheckResult, ...] = ()
    prepare: Callable[[], int | None] | None = None

    @property
    def blocks(self) -> bool:
        """Whether rows are looked at before they are published."""
        return self.mode is OnFailure.BLOCK and self.subject.checks.looks_after

    def promised(self, intent: Intent) -> Intent:
        """Write into the intent that its rows will be checked."""
        looks = self.subject.checks.looks_after
        return replace(intent, on_failure=str(self.mode) if looks else "")

    def folder(self, intent: Intent) -> str:
        """Give the folder in which rows of the step may be staged."""
        return staging_folder(self.subject.shop, intent.table, intent.step)

    def hold(self, intent: Intent, decided: Decided) -> Held:
        """Look at the rows before anybody else can; give what may be published.

        Raises what keeps the checks from being evaluated; nothing was published then.
        """
        subject = self.subject
        if decided.statement is None and not subject.model.is_view:
            return Held(None, self._checked(intent, self._unchanged(intent), None))
        folder = self.folder(intent)
        observed = observation(subject, self.output)
        kept = self.output.keep(folder, observed.counts)
        staged = self.output.staged(folder, decided)
        step = staged.rows()
        table = staged.would_be() if subject.checks.needs_table else None
        answers = observed.answers(subject.session, kept.counts if kept else None)
        results = subject.look_after(step, table, answers, intent.step_seq)
        checked = self._checked(intent, results, None)
        passed = difference(subject.partitions, checked.failed)
        if checked.failed and keeps_rows(subject.shop, subject.model):
            checked = self._quarantined(intent, checked, staged)
        return Held(staged.commit(passed) if passed else None, checked)

    def passing(self, decided: Decided) -> tuple[Decided, Observation]:
        """Give the statement with its rows observed where that is possible, and what is."""
        if decided.statement is None or not self.subject.checks.looks_after:
            return decided, Observation()
        observed = observation(self.subject, self.output)
        statement = self.output.passing(decided.statement, observed.counts)
        return replace(decided, statement=statement), observed

    def look(
        self, intent: Intent, outcome: Outcome, decided: Decided, observed: Observation
    ) -> Checked:
        """Look at what the commit wrote, and at the table as of that commit."""
        subject = self.subject
        if not subject.checks.looks_after:
            return self.unlooked()
        answers = self._answers(outcome, observed)
        step = self.output.staged(self.folder(intent), decided).written(outcome)
        table = whole(subject, outcome) if subject.checks.needs_table else None
        results = subject.look_after(step, table, answers, intent.step_seq)
        subject.shop.fault("after-evaluating")
        checked = self._checked(intent, results, outcome.stands_at)
        return flag_if_overwritten(subject.shop, intent, checked)

    def unchanged(self, intent: Intent) -> Checked:
        """Look at the table of a step whose windows are empty."""
        if not self.subject.checks.looks_after:
            return self.unlooked()
        return self._checked(intent, self._unchanged(intent), intent.base_version)

    def unlooked(self) -> Checked:
        """Give the checks of a step of which none is looked at afterwards."""
        checks = self.subject.checks
        skipped = all_skipped(checks, SKIPPED).after if checks.skips else ()
        return Checked(self.mode, InvariantReport(self.before, skipped))

    def clean(self, intent: Intent) -> None:
        """Remove what was staged."""
        drop_staged(self.subject.shop, intent.table, intent.step)

    def _unchanged(self, intent: Intent) -> tuple[CheckResult, ...]:
        """Look at the table of a step that has nothing to write."""
        subject = self.subject
        table = subject.at_version(intent.base_version) if subject.checks.needs_table else None
        return subject.look_after(None, table, None, intent.step_seq)

    def _answers(self, outcome: Outcome, observed: Observation) -> Row | None:
        """Give what was seen while the commit wrote its rows."""
        if outcome.version is None or not observed.counts:
            return None
        told, session = outcome.metrics, self.subject.session
        rows = told.get("numOutputRows", 0) - told.get("numCopiedRows", 0)
        return observed.answers(session, session.observed(rows))

    def _checked(
        self, intent: Intent, results: tuple[CheckResult, ...], version: int | None
    ) -> Checked:
        report = InvariantReport(self.before, results)
        return decided(intent, self.mode, report, version)

    def _quarantined(self, intent: Intent, checked: Checked, staged: StagedOutput) -> Checked:
        """Keep the rows of the groups that failed in a table of their own."""
        session, shop = self.subject.session, self.subject.shop
        kept = quarantine_of(shop, intent, checked.failed)
        rows = session.write_table(staged.failing(checked.failed), kept.uri)
        if not rows:
            shop.folders.drop(kept.uri)
            return checked
        return replace(checked, quarantine=replace(kept, rows=rows))
