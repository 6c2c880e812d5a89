"""Evaluate the checks of one step on its rows, before they are published or after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.app.checking.chosen import SKIPPED, skipped
from penstock.app.checking.flags import drop_staged, keeps_rows, quarantine_of, staging_folder
from penstock.app.checking.results import CheckedRows, decided, is_of_the_job
from penstock.app.checking.target import AFTER_VIEW, CheckTarget
from penstock.app.preparing.outcomes import flag_if_overwritten
from penstock.app.preparing.statements import DecidedStatement, build_of
from penstock.app.preparing.step_inputs import StepInputs
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks.check import CheckScope, OnFailure
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.model import Model
from penstock.core.names import quoted
from penstock.core.partitions.ranges import Ranges, count, difference
from penstock.core.ports.engine import QuerySession, StepSession
from penstock.core.statement import OBSERVED_ROWS, QUERY_VIEW, TARGET_VIEW, Commit, Feed, Row, Work
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Intent, Outcome
from penstock.core.strategy import Build, Writing
from penstock.strategies.build import ROWS_VIEW, casts, feed_of, new_schema, union_rows, with_feed
from penstock.strategies.checks.queries import key_sql
from penstock.strategies.checks.typed import Shared, described, observables, shared
from penstock.strategies.partition import PartitionTable, in_spans, publish, replace_from, value_in
from penstock.strategies.reshape import preparing_sql

_ADDED = "check_added_rows"
_STAYS = "check_rows_that_stay"


def replaced_rows(target: CheckTarget, version: int | None) -> CheckedRows | None:
    """Return the rows of a step's partitions at a version of the target, by partition."""
    model, rows = target.model, target.at_version(version)
    if rows is None or model.partition is None:
        return rows
    grid = model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in target.partitions)
    within = value_in(quoted(model.partition.field), model.partition.type, spans)
    return CheckedRows(f"{rows.sql} WHERE {within}", rows.columns, _key_of(model))


def added_rows(session: StepSession, uri: str, version: int, folder: str) -> CheckedRows:
    """Return the rows of the files that one commit added; `folder` belongs to the step."""
    columns = session.side_tables.added(uri, version, f"{folder}/added", _ADDED)
    return CheckedRows.of_view(_ADDED, columns)


def _key_of(model: Model) -> str:
    """Return SQL for the key of a row's partition, "" for the one partition `*`."""
    settings = model.partition
    return key_sql(settings.grid, settings.field, settings.type) if settings else ""


@dataclass(frozen=True, slots=True)
class Observation:
    """Aggregates by name that are computed while rows are written; empty: nothing is observed.

    With a `split`, they are the few calls, of these `types`, from which the wanted ones are
    computed.
    """

    counts: Mapping[str, str] = field(default_factory=dict)
    split: Shared | None = None
    types: Schema = Schema()

    def answers(self, session: QuerySession, observed_row: Row | None) -> Row | None:
        """Return the observed values by the wanted names, None if the rows must be queried."""
        if observed_row is None or self.split is None:
            return observed_row
        try:
            [row] = session.rows(self.split.put_together(observed_row, self.types))
        except (QueryError, DataError) as error:
            if is_of_the_job(error):
                raise
            return None
        return {**row, OBSERVED_ROWS: observed_row[OBSERVED_ROWS]}


@dataclass(frozen=True, slots=True)
class Watch:
    """The checks of one running step, and what it writes once its stages have run.

    `before` are the results from before it. A whole table is the one partition `*`: no partition of
    it is removed. `feed` are the rows in their view, and `columns` those under which they are
    stored; without a feed, they are those of the query or of a MERGE. `version` is that of the
    table before the step, None without a table. `stays` is SQL for the rows that remain, over the
    view `penstock_target`, "" if none do. `cut` are the partitions that the step replaces.
    `inserts` is whether its commit adds the files of its rows. `work_on` returns its work with
    another table as target. `prepare` makes the commits that must precede rows that were held back,
    and returns the version after.
    """

    target: CheckTarget
    mode: OnFailure
    before: tuple[CheckResult, ...]
    columns: Schema
    feed: Feed | None
    version: int | None
    stays: str
    cut: PartitionTable | None = None
    inserts: bool = False
    replaced: str = ""
    """The condition of a stored row that the step replaces, "" if it replaces no range."""
    kept_condition: str = ""
    """The condition of a row of `stays` that the step keeps, "" for all.

    A step of partitions keeps those that are not `cut`.
    """
    work_on: Callable[[str], Work] | None = None
    prepares: Callable[[str], tuple[str, ...]] = lambda _: ()
    """The commits that must precede the rows, as statements on a table given in SQL."""
    prepare: Callable[[], int | None] | None = None

    @property
    def blocks(self) -> bool:
        """Whether rows are checked before they are published."""
        return self.mode is OnFailure.BLOCK and self.target.checks.looks_after

    def promised(self, intent: Intent) -> Intent:
        """Record in the intent that its rows will be checked."""
        looks = self.target.checks.looks_after
        return replace(intent, on_failure=str(self.mode) if looks else "")

    def hold(self, intent: Intent, decided: DecidedStatement) -> tuple[Commit | None, Checked]:
        """Check the rows before others can read them; return what may be published, or None.

        If the checks cannot be evaluated, raises the reason; nothing was published then.
        """
        target, session, services = self.target, self.target.session, self.target.services
        if decided.statement is None and not target.model.is_view:
            return None, replace(self.unchanged(intent), version=None)
        folder = staging_folder(services, intent.table, intent.step)
        observed = self._observation()
        seen = self._stage_rows(folder, decided, observed.counts)
        rows = self._rows(decided)
        table = self._would_be(folder, decided, rows) if target.checks.needs_table else None
        answers = observed.answers(session, seen)
        results = target.look_after(rows, table, answers, intent.step_seq)
        checked = self._checked(intent, results, None)
        passed = difference(target.partitions, checked.failed)
        if checked.failed and keeps_rows(services, target.model):
            quarantine = quarantine_of(services, intent, checked.failed)
            where = f" WHERE {in_spans(self._cut_to(checked.failed))}" if self.cut else ""
            number = session.side_tables.write_table(rows.sql + where, quarantine.uri)
            if number:
                checked = replace(checked, quarantine=replace(quarantine, rows=number))
            else:
                services.folders.drop(quarantine.uri)
        if not passed:
            return None, checked
        exclusive = target.checks.gates_table  # what was found holds of that version alone
        if self.cut is not None:
            return replace(publish(self._cut_to(passed)), exclusive=exclusive), checked
        # All of the one group passed, and its rows lie in files. Views over path tables need none.
        statement = decided.statement
        if statement is None:
            return None, checked
        statement = replace(statement, exclusive=exclusive or statement.exclusive)
        if self.feed is None:  # a MERGE reads what it is fed through its view
            return statement, checked
        return replace(statement, feed=None), checked

    def passing(self, decided: DecidedStatement) -> tuple[DecidedStatement, Observation]:
        """Return the statement with its rows observed if possible, and the observation."""
        statement = decided.statement
        if statement is None or not self.target.checks.looks_after:
            return decided, Observation()
        observed = self._observation()
        if self.feed is not None and self.cut is None:
            # Spark tells what it observed of an INSERT, of no CREATE.
            counts = observed.counts if self.inserts else {}
            statement = replace(statement, feed=replace(self.feed, counts=counts))
        elif self.feed is not None and self.cut is not None and observed.counts:
            statement = replace_from(self.cut, replace(self.feed, counts=observed.counts))
        return replace(decided, statement=statement), observed

    def look_after(
        self, intent: Intent, outcome: Outcome, decided: DecidedStatement, observed: Observation
    ) -> Checked:
        """Check what the commit wrote, and the table at that commit."""
        target, answers = self.target, None
        if not target.checks.looks_after:
            return self._unchecked()
        if outcome.version is not None and observed.counts:
            written = outcome.metrics.get("numOutputRows", 0)
            rows = written - outcome.metrics.get("numCopiedRows", 0)
            answers = observed.answers(target.session, target.session.observed(rows))
        step = self._written(intent, decided, outcome)
        table = self._whole(outcome) if target.checks.needs_table else None
        results = target.look_after(step, table, answers, intent.step_seq)
        if target.services.fault is not None:
            target.services.fault("after-evaluating")
        checked = self._checked(intent, results, outcome.stands_at)
        return flag_if_overwritten(target.services, intent, checked)

    def unchanged(self, intent: Intent) -> Checked:
        """Check the table of a step that has nothing to write."""
        target, version = self.target, intent.base_version
        if not target.checks.looks_after:
            return self._unchecked()
        table = target.at_version(version) if target.checks.needs_table else None
        results = target.look_after(None, table, None, intent.step_seq)
        return self._checked(intent, results, version)

    def clean(self, intent: Intent) -> None:
        """Remove the staged rows."""
        drop_staged(self.target.services, intent.table, intent.step)

    def _unchecked(self) -> Checked:
        checks = self.target.checks
        after = skipped(checks.after, SKIPPED) if checks.skips else ()
        return Checked(self.mode, InvariantReport(self.before, after))

    def _checked(
        self, intent: Intent, results: tuple[CheckResult, ...], version: int | None
    ) -> Checked:
        return decided(intent, self.mode, InvariantReport(self.before, results), version)

    def _observation(self) -> Observation:
        """Choose what to observe of the rows, without anything that Spark would reject.

        A check must never fail the write, so what cannot be described is left to the scan, which
        reports the reason. Rows of a MERGE are counted when they are staged.
        """
        checks, partitions = self.target.checks, self.target.partitions
        step = [check for check in checks.after if check.scope is CheckScope.STEP]
        looks = checks.looks_after and any(check.is_observable for check in step)
        if not looks or self.feed is None or count(partitions) != 1:
            return Observation()
        wanted = observables(step, self.columns, self.target.values(partitions[0][0]))
        if not wanted or self._types(wanted) is None:
            return Observation()
        split = shared(wanted)
        types = self._types(split.calls) if split else None
        if split is None or types is None or not split.is_exact(types):
            return Observation(wanted)
        return Observation(split.counts, split, types)

    def _types(self, aggregates: Mapping[str, str]) -> Schema | None:
        try:
            return self.target.session.describe(described(aggregates, self.columns))
        except (QueryError, DataError):
            return None

    def _stage_rows(
        self, folder: str, decided: DecidedStatement, counts: Mapping[str, str]
    ) -> Row | None:
        """Write the rows to files, once, if they are not kept otherwise; return the counts."""
        tables, fed_by = self.target.session.side_tables, decided.work.fed_by
        if self.feed is not None:
            return tables.keep(replace(self.feed, counts=counts), f"{folder}/rows").counts
        if fed_by:  # what a MERGE is fed, unless it is cut off from its query already
            tables.keep(Feed(fed_by, f"SELECT * FROM {quoted(fed_by)}"), f"{folder}/rows")
        return None

    def _rows(self, decided: DecidedStatement) -> CheckedRows:
        """Return the rows of the step in the columns and types of the table."""
        if self.feed is not None:
            return CheckedRows.of_view(ROWS_VIEW, self.columns, _key_of(self.target.model))
        describe = self.target.session.describe
        if decided.work.rows is None:
            return CheckedRows.of_view(QUERY_VIEW, describe(f"SELECT * FROM {quoted(QUERY_VIEW)}"))
        sql = decided.work.rows(decided.row)
        given = describe(sql)
        if not self.stays:
            return CheckedRows(sql, given)
        new = (each for each in given.columns if self.columns.find(each.name) is None)
        want = Schema((*self.columns.columns, *new))
        return CheckedRows(f"SELECT {casts(given, want)} FROM (\n{sql}\n)", want)

    def _would_be(self, folder: str, decided: DecidedStatement, rows: CheckedRows) -> CheckedRows:
        """Create a view of the table as it will be.

        If no query describes the result of a MERGE, the MERGE runs on a shallow clone.
        """
        target, session = self.target, self.target.session
        if not self.stays:
            return target.as_table(rows.sql)
        if self.feed is None and decided.work.after is not None:
            return target.as_table(decided.work.after(decided.row))
        if self.feed is None:
            clone = f"{folder}/clone"
            table = session.side_tables.clone(self._uri, self.version or 0, clone)
            for sql in self.prepares(table):  # with old types values would be cut, or refused
                session.side_tables.trial(Commit(sql, once=False))
            statement = self.work_on(table).decide(decided.row) if self.work_on else None
            if statement is not None:
                session.side_tables.trial(statement)
            columns = self._bind(AFTER_VIEW, DeltaRead(clone))
            return CheckedRows.of_view(AFTER_VIEW, columns)
        if self.cut is not None:  # a table's own step has bound the view that a partition's has not
            self._bind(TARGET_VIEW, DeltaRead(self._uri, self.version))
        columns = session.define(_STAYS, self.stays)
        sides = (_STAYS, columns), (ROWS_VIEW, self.columns)
        outside = f"NOT coalesce({in_spans(self.cut)}, false)" if self.cut else self.kept_condition
        return target.as_table(union_rows(outside, *sides))

    def _written(
        self, intent: Intent, decided: DecidedStatement, outcome: Outcome
    ) -> CheckedRows | None:
        """Return the rows that the commit wrote; None if it wrote nothing.

        For partitions these are their current rows, even if nothing was done. Otherwise they are
        the files that an INSERT added, the input of a MERGE, or the whole table.
        """
        target, version = self.target, outcome.version
        if self.cut is not None:
            return replaced_rows(target, outcome.stands_at)
        if target.model.is_view:
            return self._rows(decided)
        if version is None:
            return None
        if self.replaced:
            whole = self._whole(outcome)
            return whole and replace(whole, sql=f"{whole.sql} WHERE {self.replaced}")
        if self.stays and decided.work.rows is not None:
            return self._rows(decided)
        if self.inserts:
            folder = staging_folder(target.services, intent.table, intent.step)
            return added_rows(target.session, self._uri, version, folder)
        return self._whole(outcome)

    def _whole(self, outcome: Outcome) -> CheckedRows | None:
        if self.target.model.is_view:
            return self.target.as_table(f"SELECT * FROM {quoted(QUERY_VIEW)}")
        return self.target.at_version(outcome.stands_at)

    @property
    def _uri(self) -> str:
        return self.target.services.project.uri_of(self.target.model.table)

    def _bind(self, view: str, read: DeltaRead) -> Schema:
        return self.target.session.bind([Relation(self.target.this, view, read)])[view]

    def _cut_to(self, ranges: Ranges) -> PartitionTable:
        assert self.cut is not None  # noqa: S101  asked where there are any
        grid = self.target.model.grid
        spans = tuple((grid.lower(low), grid.upper(high)) for low, high in ranges)
        return replace(self.cut, spans=spans)


def watched(
    target: CheckTarget, step_inputs: StepInputs, before: tuple[CheckResult, ...]
) -> tuple[Watch, Work]:
    """Return the watch of a step that has checks, and its work with the rows in a view."""
    model, work = target.model, step_inputs.work or target.model.strategy.work
    build = build_of(target.services, target.context, model, step_inputs)
    creates = step_inputs.facts is None and not model.is_view
    mode, looks = target.checks.mode_where(creates=creates), target.checks.looks_after
    takes_feed = model.strategy.takes_feed
    if looks and takes_feed:
        build = with_feed(build)
    build = replace(build, staged=mode is OnFailure.BLOCK and looks)
    facts, replaced = step_inputs.facts, build.replaced if takes_feed else ""
    adds = build.table is not None and model.writing is Writing.ADDED
    watch = Watch(
        target,
        mode,
        before,
        new_schema(build),
        feed_of(build) if takes_feed else None,
        facts.version if facts else None,
        f"SELECT * FROM {quoted(TARGET_VIEW)}" if build.table is not None else "",
        inserts=adds and not replaced,
        replaced=replaced,
        kept_condition=_kept_condition(build, model),
        work_on=lambda table: work(replace(build, target=table)),
        prepares=partial(_prepares, model, step_inputs),
    )
    return watch, work(build)


def _kept_condition(build: Build, model: Model) -> str:
    """Return the condition of a table row that the rows of a feed leave in place, "" for all."""
    if build.replaced:
        return f"NOT coalesce({build.replaced}, false)"
    by = model.layout.partition_by if build.partition_by is None else build.partition_by
    return model.strategy.staying(replace(model.layout, partition_by=by), ROWS_VIEW, _STAYS)


def _prepares(model: Model, step_inputs: StepInputs, table: str) -> tuple[str, ...]:
    facts = step_inputs.facts
    if facts is None:
        return ()
    return preparing_sql(table, model, facts, widens=bool(step_inputs.evolution.widened))
