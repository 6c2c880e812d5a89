"""Watching one step: what its checks say of its rows, before they are published or after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from penstock.app.checking.chosen import SKIPPED, all_skipped
from penstock.app.checking.output import StepOutput, whole
from penstock.app.checking.results import decided, is_of_the_job
from penstock.app.checking.staging import drop_staged, keeps_rows, quarantine_of, staging_folder
from penstock.app.checking.target import CheckTarget
from penstock.app.preparing.outcomes import flag_if_overwritten
from penstock.app.preparing.statements import DecidedStatement, build_of
from penstock.app.preparing.step_inputs import StepInputs
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import CheckScope, OnFailure
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.names import quoted
from penstock.core.partitions.ranges import difference
from penstock.core.ports.engine import QuerySession
from penstock.core.statement import OBSERVED_ROWS, TARGET_VIEW, Commit, Row, Work
from penstock.core.steps.step import Intent, Outcome
from penstock.strategies.build import fed, feed_of, stored
from penstock.strategies.checks.observe import observables
from penstock.strategies.checks.shared import Shared, described, shared


@dataclass(frozen=True, slots=True)
class Observation:
    """Aggregates by name that are computed while rows are written; none: nothing is observed.

    With a `split` they are the few calls, of these `types`, that the wanted ones are made of.
    """

    counts: Mapping[str, str] = field(default_factory=dict)
    split: Shared | None = None
    types: Schema = Schema()

    def answers(self, session: QuerySession, seen: Row | None) -> Row | None:
        """Give what was seen by the names of the aggregates that are wanted.

        None where nothing was seen, or where it cannot be put together: the rows are asked then.
        """
        if seen is None or self.split is None:
            return seen
        try:
            [row] = session.rows(self.split.put_together(seen, self.types))
        except (QueryError, DataError) as error:
            if is_of_the_job(error):
                raise
            return None
        return {**row, OBSERVED_ROWS: seen[OBSERVED_ROWS]}


def observation(output: StepOutput) -> Observation:
    """Choose what is observed of the rows of a step: nothing that Spark would refuse.

    A check never fails the write, so what cannot be described is left to the scan, which says why.
    """
    target = output.target
    step = [check for check in target.checks.after if check.scope is CheckScope.STEP]
    looks = target.checks.looks_after and any(check.is_observable for check in step)
    if not looks or not output.is_one_group:
        return Observation()
    wanted = observables(step, output.columns, target.values(target.partitions[0][0]))
    if not wanted or _types(output, wanted) is None:
        return Observation()
    split = shared(wanted)
    types = _types(output, split.calls) if split else None
    if split is None or types is None or not split.is_exact(types):
        return Observation(wanted)
    return Observation(split.counts, split, types)


def _types(output: StepOutput, aggregates: Mapping[str, str]) -> Schema | None:
    """Give the types of aggregates, None if Spark refuses one."""
    try:
        return output.target.session.describe(described(aggregates, output.columns))
    except (QueryError, DataError):
        return None


@dataclass(frozen=True, slots=True)
class HeldRows:
    """What may be published, None for nothing, and what the checks said."""

    statement: Commit | None
    checked: Checked


@dataclass(frozen=True, slots=True)
class Watch:
    """The checks of one step that is being done; `before` is what was said ahead of it.

    `prepare` makes what must come before rows that were held back, and gives the version after.
    """

    output: StepOutput
    mode: OnFailure
    before: tuple[CheckResult, ...] = ()
    prepare: Callable[[], int | None] | None = None

    @property
    def target(self) -> CheckTarget:
        """What is checked."""
        return self.output.target

    @property
    def blocks(self) -> bool:
        """Whether rows are looked at before they are published."""
        return self.mode is OnFailure.BLOCK and self.target.checks.looks_after

    def promised(self, intent: Intent) -> Intent:
        """Write into the intent that its rows will be checked."""
        looks = self.target.checks.looks_after
        return replace(intent, on_failure=str(self.mode) if looks else "")

    def hold(self, intent: Intent, decided: DecidedStatement) -> HeldRows:
        """Look at the rows before anybody else can; give what may be published.

        Raises what keeps the checks from being evaluated; nothing was published then.
        """
        target, output = self.target, self.output
        if decided.statement is None and not target.model.is_view:
            return HeldRows(None, self._checked(intent, self._unchanged(intent), None))
        folder = self._folder(intent)
        observed = observation(output)
        kept = output.keep(folder, decided, observed.counts)
        step = output.rows(decided)
        table = output.would_be(folder, decided) if target.checks.needs_table else None
        answers = observed.answers(target.session, kept.counts if kept else None)
        results = target.look_after(step, table, answers, intent.step_seq)
        checked = self._checked(intent, results, None)
        passed = difference(target.partitions, checked.failed)
        if checked.failed and keeps_rows(target.services, target.model):
            checked = self._quarantined(intent, checked, decided)
        return HeldRows(output.commit(passed, decided) if passed else None, checked)

    def passing(self, decided: DecidedStatement) -> tuple[DecidedStatement, Observation]:
        """Give the statement with its rows observed where that is possible, and what is."""
        if decided.statement is None or not self.target.checks.looks_after:
            return decided, Observation()
        observed = observation(self.output)
        statement = self.output.passing(decided.statement, observed.counts)
        return replace(decided, statement=statement), observed

    def look(
        self, intent: Intent, outcome: Outcome, decided: DecidedStatement, observed: Observation
    ) -> Checked:
        """Look at what the commit wrote, and at the table as of that commit."""
        target = self.target
        if not target.checks.looks_after:
            return self._unchecked()
        answers = self._answers(outcome, observed)
        step = self.output.written(self._folder(intent), decided, outcome)
        table = whole(target, outcome) if target.checks.needs_table else None
        results = target.look_after(step, table, answers, intent.step_seq)
        target.services.fault("after-evaluating")
        checked = self._checked(intent, results, outcome.stands_at)
        return flag_if_overwritten(target.services, intent, checked)

    def unchanged(self, intent: Intent) -> Checked:
        """Look at the table of a step whose windows are empty."""
        if not self.target.checks.looks_after:
            return self._unchecked()
        return self._checked(intent, self._unchanged(intent), intent.base_version)

    def clean(self, intent: Intent) -> None:
        """Remove what was staged."""
        drop_staged(self.target.services, intent.table, intent.step)

    def _folder(self, intent: Intent) -> str:
        """Give the folder in which rows of the step may be staged."""
        return staging_folder(self.target.services, intent.table, intent.step)

    def _unchecked(self) -> Checked:
        checks = self.target.checks
        after = all_skipped(checks, SKIPPED).after if checks.skips else ()
        return Checked(self.mode, InvariantReport(self.before, after))

    def _unchanged(self, intent: Intent) -> tuple[CheckResult, ...]:
        """Look at the table of a step that has nothing to write."""
        needs_table = self.target.checks.needs_table
        table = self.target.at_version(intent.base_version) if needs_table else None
        return self.target.look_after(None, table, None, intent.step_seq)

    def _answers(self, outcome: Outcome, observed: Observation) -> Row | None:
        """Give what was seen while the commit wrote its rows."""
        if outcome.version is None or not observed.counts:
            return None
        metrics, session = outcome.metrics, self.target.session
        rows = metrics.get("numOutputRows", 0) - metrics.get("numCopiedRows", 0)
        return observed.answers(session, session.observed(rows))

    def _checked(
        self, intent: Intent, results: tuple[CheckResult, ...], version: int | None
    ) -> Checked:
        return decided(intent, self.mode, InvariantReport(self.before, results), version)

    def _quarantined(self, intent: Intent, checked: Checked, made: DecidedStatement) -> Checked:
        """Keep the rows of the groups that failed in a table of their own."""
        session, services = self.target.session, self.target.services
        quarantine = quarantine_of(services, intent, checked.failed)
        rows = session.beside.write_table(self.output.failing(checked.failed, made), quarantine.uri)
        if not rows:
            services.folders.drop(quarantine.uri)
            return checked
        return replace(checked, quarantine=replace(quarantine, rows=rows))


def watched(
    target: CheckTarget, step_inputs: StepInputs, before: tuple[CheckResult, ...]
) -> tuple[Watch, Work]:
    """Give what watches a step that has checks, and the step's work.

    Rows that are looked at pass through a view of their own where the strategy computes them in
    its commit.
    """
    model = target.model
    build = build_of(target.services, target.context, model, step_inputs)
    creates = step_inputs.facts is None and not model.is_view
    mode, looks = target.checks.mode_where(creates=creates), target.checks.looks_after
    if looks and build.takes_feed:
        build = fed(build)
    build = replace(build, staged=mode is OnFailure.BLOCK and looks)
    output = StepOutput(
        target,
        stored(build) if build.takes_feed else build.query,
        feed_of(build) if build.takes_feed else None,
        step_inputs.facts.version if step_inputs.facts else None,
        before=f"SELECT * FROM {quoted(TARGET_VIEW)}" if build.table is not None else "",
        inserts=build.inserts,
        work_on=lambda table: model.strategy.work(replace(build, target=table)),
    )
    return Watch(output, mode, before), model.strategy.work(build)
