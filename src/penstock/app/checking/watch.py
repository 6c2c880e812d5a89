"""Watching one step: what its checks say of its rows, before they are published or after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, all_skipped
from penstock.app.checking.output import Output, whole
from penstock.app.checking.staging import drop_staged, keeps_rows, quarantine_of, staging_folder
from penstock.app.checking.subject import Subject
from penstock.app.checking.undo import refused_by_others
from penstock.app.checking.verdicts import decided
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import CheckScope, OnFailure
from penstock.core.ranges import difference
from penstock.core.schema import Schema
from penstock.core.statement import OBSERVED_ROWS, Commit, Row
from penstock.core.step import Intent, Outcome
from penstock.strategies.checks.observe import observables
from penstock.strategies.checks.shared import Shared, shared


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

    def hold(self, intent: Intent, statement: Commit | None, seen: Row) -> Held:
        """Look at the rows before anybody else can; give what may be published.

        Raises what keeps the checks from being evaluated; nothing was published then.
        """
        if statement is None:
            return Held(None, self._checked(intent, self._unchanged(intent), None))
        folder, output = self.folder(intent), self.output
        kept = output.keep(folder, self._counts())
        step = output.held(seen)
        table = output.would_be(folder, seen) if self.subject.checks.needs_table else None
        observed = self._seen(kept.counts) if kept else None
        results = self.subject.look_after(step, table, observed, intent.step_seq)
        checked = self._checked(intent, results, None)
        passed = difference(self.subject.partitions, checked.failed)
        if checked.failed and keeps_rows(self.subject.shop, self.subject.model):
            checked = self._quarantined(intent, checked, seen)
        return Held(output.published(statement, passed) if passed else None, checked)

    def passing(self, statement: Commit) -> Commit:
        """Give the statement with its rows observed where that is possible."""
        return self.output.passing(statement, self._counts())

    def look(self, intent: Intent, outcome: Outcome, seen: Row) -> Checked:
        """Look at what the commit wrote, and at the table as of that commit."""
        told = outcome.metrics
        rows = told.get("numOutputRows", 0) - told.get("numCopiedRows", 0)
        session = self.subject.session
        observed = self._seen(session.observed(rows)) if outcome.version is not None else None
        step = self.output.written(intent, outcome, self.folder(intent), seen)
        table = whole(self.subject, intent, outcome) if self.subject.checks.needs_table else None
        results = self.subject.look_after(step, table, observed, intent.step_seq)
        version = outcome.stands_at
        self.subject.shop.fault("after-evaluating")
        return refused_by_others(self.subject.shop, intent, self._checked(intent, results, version))

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

    def _counts(self) -> Mapping[str, str]:
        """Give the aggregates that can be seen while the rows are written."""
        wanted = self._wanted()
        found = self._shared(wanted)
        return found[0].counts if found else wanted

    def _seen(self, observed: Row | None) -> Row | None:
        """Give what was seen by the names of the aggregates that are wanted."""
        found = self._shared(self._wanted()) if observed is not None else None
        if observed is None or found is None:
            return observed
        [row] = self.subject.session.rows(found[0].put_together(observed, found[1]))
        return {**row, OBSERVED_ROWS: observed[OBSERVED_ROWS]}

    def _wanted(self) -> Mapping[str, str]:
        step = [c for c in self.subject.checks.after if c.scope is CheckScope.STEP]
        if not self.output.is_one_group or not any(check.is_observable for check in step):
            return {}
        values = self.subject.values(self.subject.partitions[0][0])
        return observables(step, self.output.columns, values)

    def _shared(self, wanted: Mapping[str, str]) -> tuple[Shared, Schema] | None:
        """Give the few calls that all are made of, with their types."""
        found = shared(wanted)
        if found is None:
            return None
        types = self.subject.session.describe(found.described(self.output.columns))
        return (found, types) if found.is_exact(types) else None

    def _checked(
        self, intent: Intent, results: tuple[CheckResult, ...], version: int | None
    ) -> Checked:
        report = InvariantReport(self.before, results)
        return decided(intent, self.mode, report, version)

    def _quarantined(self, intent: Intent, checked: Checked, seen: Row) -> Checked:
        """Keep the rows of the groups that failed in a table of their own."""
        session, shop = self.subject.session, self.subject.shop
        kept = quarantine_of(shop, intent, checked.failed, 0)
        rows = session.write_table(self.output.failing(checked.failed, seen), kept.uri)
        if not rows:
            shop.folders.drop(kept.uri)
            return checked
        return replace(checked, quarantine=replace(kept, rows=rows))
