"""Watching one step: what its checks say of its rows, before they are published or after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from penstock.app.checking.chosen import SKIPPED, all_skipped, checks_of_step
from penstock.app.checking.inputs import is_of_the_job
from penstock.app.checking.output import Output, StagedOutput, TableOutput, whole
from penstock.app.checking.results import decided
from penstock.app.checking.staging import drop_staged, keeps_rows, quarantine_of, staging_folder
from penstock.app.checking.target import CheckTarget
from penstock.app.observation.inputs import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import Decided, build_of, work_of
from penstock.app.preparing.step_inputs import StepInputs
from penstock.app.preparing.undo import flag_if_overwritten
from penstock.app.services.services import Services
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks import CheckScope, OnFailure
from penstock.core.engine_ports import QuerySession, StepSession
from penstock.core.errors import DataError, QueryError
from penstock.core.model import Model
from penstock.core.ranges import difference
from penstock.core.schema import Schema
from penstock.core.statement import OBSERVED_ROWS, Commit, Row, Work
from penstock.core.step import Intent, Outcome
from penstock.strategies.build import fed
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


def observation(check_target: CheckTarget, output: Output) -> Observation:
    """Choose what is observed of the rows of a step: nothing that Spark would refuse.

    A check never fails the write, so what cannot be described is left to the scan, which says why.
    """
    step = [check for check in check_target.checks.after if check.scope is CheckScope.STEP]
    looks = check_target.checks.looks_after and any(check.is_observable for check in step)
    if not looks or not output.is_one_group:
        return Observation()
    values = check_target.values(check_target.partitions[0][0])
    wanted = observables(step, output.columns, values)
    if not wanted or _types(check_target, output, wanted) is None:
        return Observation()
    split = shared(wanted)
    types = _types(check_target, output, split.calls) if split else None
    if split is None or types is None or not split.is_exact(types):
        return Observation(wanted)
    return Observation(split.counts, split, types)


def _types(
    check_target: CheckTarget, output: Output, aggregates: Mapping[str, str]
) -> Schema | None:
    """Give the types of aggregates, None if Spark refuses one."""
    try:
        return check_target.session.describe(described(aggregates, output.columns))
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

    check_target: CheckTarget
    output: Output
    mode: OnFailure
    before: tuple[CheckResult, ...] = ()
    prepare: Callable[[], int | None] | None = None

    @property
    def blocks(self) -> bool:
        """Whether rows are looked at before they are published."""
        return self.mode is OnFailure.BLOCK and self.check_target.checks.looks_after

    def promised(self, intent: Intent) -> Intent:
        """Write into the intent that its rows will be checked."""
        looks = self.check_target.checks.looks_after
        return replace(intent, on_failure=str(self.mode) if looks else "")

    def folder(self, intent: Intent) -> str:
        """Give the folder in which rows of the step may be staged."""
        return staging_folder(self.check_target.services, intent.table, intent.step)

    def hold(self, intent: Intent, decided: Decided) -> HeldRows:
        """Look at the rows before anybody else can; give what may be published.

        Raises what keeps the checks from being evaluated; nothing was published then.
        """
        check_target = self.check_target
        if decided.statement is None and not check_target.model.is_view:
            return HeldRows(None, self._checked(intent, self._unchanged(intent), None))
        folder = self.folder(intent)
        observed = observation(check_target, self.output)
        kept = self.output.keep(folder, observed.counts)
        staged = self.output.staged(folder, decided)
        step = staged.rows()
        table = staged.would_be() if check_target.checks.needs_table else None
        answers = observed.answers(check_target.session, kept.counts if kept else None)
        results = check_target.look_after(step, table, answers, intent.step_seq)
        checked = self._checked(intent, results, None)
        passed = difference(check_target.partitions, checked.failed)
        if checked.failed and keeps_rows(check_target.services, check_target.model):
            checked = self._quarantined(intent, checked, staged)
        return HeldRows(staged.commit(passed) if passed else None, checked)

    def passing(self, decided: Decided) -> tuple[Decided, Observation]:
        """Give the statement with its rows observed where that is possible, and what is."""
        if decided.statement is None or not self.check_target.checks.looks_after:
            return decided, Observation()
        observed = observation(self.check_target, self.output)
        statement = self.output.passing(decided.statement, observed.counts)
        return replace(decided, statement=statement), observed

    def look(
        self, intent: Intent, outcome: Outcome, decided: Decided, observed: Observation
    ) -> Checked:
        """Look at what the commit wrote, and at the table as of that commit."""
        check_target = self.check_target
        if not check_target.checks.looks_after:
            return self.unlooked()
        answers = self._answers(outcome, observed)
        step = self.output.staged(self.folder(intent), decided).written(outcome)
        table = whole(check_target, outcome) if check_target.checks.needs_table else None
        results = check_target.look_after(step, table, answers, intent.step_seq)
        check_target.services.fault("after-evaluating")
        checked = self._checked(intent, results, outcome.stands_at)
        return flag_if_overwritten(check_target.services, intent, checked)

    def unchanged(self, intent: Intent) -> Checked:
        """Look at the table of a step whose windows are empty."""
        if not self.check_target.checks.looks_after:
            return self.unlooked()
        return self._checked(intent, self._unchanged(intent), intent.base_version)

    def unlooked(self) -> Checked:
        """Give the checks of a step of which none is looked at afterwards."""
        checks = self.check_target.checks
        skipped = all_skipped(checks, SKIPPED).after if checks.skips else ()
        return Checked(self.mode, InvariantReport(self.before, skipped))

    def clean(self, intent: Intent) -> None:
        """Remove what was staged."""
        drop_staged(self.check_target.services, intent.table, intent.step)

    def _unchanged(self, intent: Intent) -> tuple[CheckResult, ...]:
        """Look at the table of a step that has nothing to write."""
        check_target = self.check_target
        table = (
            check_target.at_version(intent.base_version)
            if check_target.checks.needs_table
            else None
        )
        return check_target.look_after(None, table, None, intent.step_seq)

    def _answers(self, outcome: Outcome, observed: Observation) -> Row | None:
        """Give what was seen while the commit wrote its rows."""
        if outcome.version is None or not observed.counts:
            return None
        told, session = outcome.metrics, self.check_target.session
        rows = told.get("numOutputRows", 0) - told.get("numCopiedRows", 0)
        return observed.answers(session, session.observed(rows))

    def _checked(
        self, intent: Intent, results: tuple[CheckResult, ...], version: int | None
    ) -> Checked:
        report = InvariantReport(self.before, results)
        return decided(intent, self.mode, report, version)

    def _quarantined(self, intent: Intent, checked: Checked, staged: StagedOutput) -> Checked:
        """Keep the rows of the groups that failed in a table of their own."""
        session, services = self.check_target.session, self.check_target.services
        kept = quarantine_of(services, intent, checked.failed)
        rows = session.write_table(staged.failing(checked.failed), kept.uri)
        if not rows:
            services.folders.drop(kept.uri)
            return checked
        return replace(checked, quarantine=replace(kept, rows=rows))


def subject_of(  # the sides of one step
    services: Services,
    context: Context,
    session: StepSession,
    model: Model,
    inputs: Inputs,
    step_inputs: StepInputs,
) -> CheckTarget:
    """Give what the checks of a step are about."""
    version = model.fingerprint.version
    return CheckTarget(
        services=services,
        context=context,
        session=session,
        model=model,
        checks=checks_of_step(services.project, model, version, context.options),
        inputs=inputs,
        windows=step_inputs.opened.windows if step_inputs.opened else (),
    )


def watched(
    check_target: CheckTarget, step_inputs: StepInputs, before: tuple[CheckResult, ...]
) -> tuple[Watch | None, Work]:
    """Give what watches a step, None where nothing is to be told, and the step's work.

    Rows that are looked at pass through a view of their own where the strategy computes them in
    its commit.
    """
    services, context, model = check_target.services, check_target.context, check_target.model
    build = build_of(services, model, step_inputs)
    if check_target.checks.is_empty:
        return None, work_of(services, context, build)
    creates = step_inputs.facts is None and not model.is_view
    mode = check_target.checks.mode_where(creates=creates)
    if check_target.checks.looks_after and build.takes_feed:
        build = fed(build)
    build = replace(build, staged=mode is OnFailure.BLOCK and check_target.checks.looks_after)
    work = work_of(services, context, build)
    output = TableOutput(
        check_target,
        build,
        work,
        lambda target: work_of(services, context, replace(build, target=target)),
        step_inputs.facts.version if step_inputs.facts else None,
    )
    return Watch(check_target, output, mode, before), work
