"""The use case `check`: evaluate checks on the current rows and write only results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.app.artifacts.write import write_check_artifacts
from penstock.app.checking import results
from penstock.app.checking.chosen import StepChecks, skipped
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.flags import close_passed
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import replaced_rows
from penstock.app.commands.history import SOURCE, check_names
from penstock.app.commands.query import bound_now
from penstock.app.execution.recover import recover
from penstock.app.execution.settle import settle
from penstock.app.observation.observe import ObservedTables, pin_source
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.planning.selection import narrowed, selected_models
from penstock.app.preparing.pins import Inputs, pin_names, source_read
from penstock.app.preparing.run_context import Context
from penstock.app.request import CheckRequest
from penstock.app.services.services import Services, named_model
from penstock.core.check_results import WHOLE_GROUP, CheckResult, InvariantReport
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.columns.schema import Schema
from penstock.core.errors import TableError, UsageError
from penstock.core.findings import Severity
from penstock.core.model import Body, Model, Source
from penstock.core.names import InputKind, quoted
from penstock.core.partitions.partition import key_pairs, shown_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, count, difference, intersection, merged
from penstock.core.query import Query, mention
from penstock.core.statement import Row
from penstock.core.steps.inputs import Relation
from penstock.core.steps.window import InputWindow
from penstock.plan.resolve import due_partitions, resolve
from penstock.project.checks.kept import definition_of
from penstock.project.files.values import did_you_mean, some_of
from penstock.strategies.checks.suggest import (
    WIDEST,
    Suggestion,
    details_of,
    profile_of,
    profile_query,
    suggestions,
)
from penstock.strategies.checks.types.values import aged
from penstock.strategies.relations import query_tables

_SOURCE = "check_source"


def check_sources(
    services: Services, request: CheckRequest, run_timestamp: dt.datetime
) -> tuple[results.SourceChecked, ...]:
    """Compare the newest value of each source with its allowed age, and record the result.

    Records name a source as selectors do, `source:raw.events`. Raises `unknown-source` for a
    selected name without a source that has `freshness`.
    """
    sources = services.project.sources
    found = {name: each for name, each in sorted(sources.items()) if each.freshness is not None}
    for name in request.select:
        if name.removeprefix(SOURCE) not in found:
            known = ", ".join(found) or "none"
            raise UsageError(
                "unknown-source",
                f"no source with freshness is called {name!r}",
                hint=f"sources with freshness: {known}",
            )
    chosen = {name.removeprefix(SOURCE) for name in request.select} or set(found)
    if not chosen:
        return ()
    services.engine.require()
    run = services.run_id or services.clock.new_id()
    messages = []
    for name in sorted(chosen):
        source, view = found[name], ObservedTables.empty(run_timestamp)
        pin = pin_source(services, source, view.listings)
        read = source_read(services.project, source.input_name, pin, view)
        with services.engine.session(name, source.where) as session:
            columns = session.bind([Relation(source.input_name, _SOURCE, read)])[_SOURCE]
            rows = {source.input_name: results.CheckedRows.of_view(_SOURCE, columns)}
            given = results.CheckInputs(run_timestamp, inputs=rows)
            said = evaluate(session, freshness_checks(source), given)
        result = next((each for each in said if each.failed), said[-1])  # the gravest is first
        messages.append(results.SourceChecked(name, result))
        if request.record:
            report, journal = InvariantReport((result,)), services.writing.journal
            journal.note_checks(run, f"{SOURCE}{name}", report, (WHOLE_GROUP,), None)
    return tuple(messages)


def freshness_checks(source: Source) -> tuple[Check, ...]:
    """Return a gate for `error_after` and a warning for `warn_after`."""
    freshness = source.freshness
    if freshness is None:
        return ()
    limits = ((freshness.error_after, Severity.ERROR), (freshness.warn_after, Severity.WARNING))
    checks = (
        Check(
            name=f"freshness_{freshness.column}",
            phase=Phase.BEFORE,
            rule=aged(freshness.column, limit),
            where=source.where,
            severity=severity,
            input=source.input_name,
        )
        for limit, severity in limits
        if limit is not None
    )
    return tuple(replace(each, definition=definition_of(each)) for each in checks)


def check(services: Services, request: CheckRequest) -> results.CheckReport:
    """Evaluate the checks of the selected models, and settle flags and pending checks with them.

    Writes no data and takes no lease. Raises `unknown-check` for a name that no selected model has.
    """
    notes: tuple[str, ...] = ()
    if request.record and services.has_state():
        notes = recover(services).messages_by_step
        notes += settle(services, writes=False).notes
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    if request.sources:
        found = check_sources(services, request, run_timestamp)
        return _written(services, request, results.CheckReport((), found, request.strict, notes))
    names = selected_models(services, request.select, request.exclude, run_timestamp)
    project_state = survey(services, names, run_timestamp)
    models = [project_state.project.models[name] for name in names]
    _refuse_unknown(models, request)
    services.engine.require()
    context = Context(
        holder=services.holder(services.run_id or services.clock.new_id()),
        run_timestamp=run_timestamp,
        project=project_state.project,
        view=project_state.view,
        records=project_state.records,
    )
    checking = _Checking(services, request, project_state, context)
    messages = tuple(each for model in models for each in checking.of_model(model))
    report = results.CheckReport(messages, strict=request.strict, notes=notes)
    return _written(services, request, report)


def _written(
    services: Services, request: CheckRequest, report: results.CheckReport
) -> results.CheckReport:
    if request.record:
        sources = {each.source: each.result for each in report.sources}
        write_check_artifacts(services, report.reports, sources)
    return report


def _refuse_unknown(models: Sequence[Model], request: CheckRequest) -> None:
    """Raise for an unknown check name, and for a --partition that no model has.

    A model without partitions is checked whole; an invalid key is still an error.
    """
    known = {name for model in models for name in check_names(model)}
    for name in request.checks:
        if name not in known:
            there = f"there are: {some_of(known)}" if known else "none of them has checks"
            raise UsageError(
                "unknown-check",
                f"no selected model has a check called {name!r}",
                hint=did_you_mean(name, known) or there,
            )
    for model in models if request.partition else ():
        if model.partition is not None:
            model.grid.parse(request.partition)
        else:
            model.grid.bound(request.partition, last=False)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some partitions of a model built by one version, its checks, and the SQL of partitions.

    `there` are those with rows of a success, including flagged ones. `made_by` is the number of the
    step that built them, which is not a base for itself.
    """

    model: Model
    partitions: Ranges
    checks: StepChecks
    there: Ranges
    made_by: int
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class _Checking:
    """One run of a command that evaluates checks."""

    services: Services
    request: CheckRequest
    project_state: ProjectState
    context: Context

    def of_model(self, model: Model) -> tuple[results.ModelChecked, ...]:
        """Evaluate the checks of one model, grouped by the versions of its partitions."""
        return tuple(self._of_part(each) for each in self._parts(model) if not each.checks.is_empty)

    def _parts(self, model: Model) -> Iterator[_Part]:
        if model.partition is None:
            known = self.context.records.get(model.name)
            there = results.ONE_GROUP if known is not None and known.succeeded_once else ()
            checks = self._wanted(model.checks_of(model.fingerprint.version))
            yield _Part(model, results.ONE_GROUP, checks, there, known.step_seq if known else 0)
            return
        found = self.services.reading.records.runs(model.name)[model.name]
        runs = [run for run in found if run.step_seq]
        built = merged((run.low, run.high) for run in runs)
        wanted = self._partitions(model, built)
        for segment in resolve(model, self.context.run_timestamp.date(), wanted):
            here = intersection(wanted, (segment.range,))
            if here:
                there, checks = intersection(here, built), self._wanted(segment.version.checks)
                made = (r.step_seq for r in runs if intersection(((r.low, r.high),), there))
                yield _Part(model, here, checks, there, min(made, default=0), segment.body)

    def _wanted(self, checks: Checks) -> StepChecks:
        names, phases = self.request.checks, self.request.phases
        before, after = (
            tuple(c for c in each if c.phase in phases and (not names or c.name in names))
            for each in (checks.before, checks.after)
        )
        return StepChecks(before, after)

    def _partitions(self, model: Model, built: Ranges) -> Ranges:
        request, there = self.request, due_partitions(model, self.project_state.run_timestamp)
        if request.partition:
            number = model.grid.parse(request.partition)
            return ((number, number),)
        if request.everything:
            return built
        if request.range.is_open:
            return ((there[-1][1],) * 2,) if there else ()
        return narrowed(
            model, request.range, self.project_state.run_timestamp, merged((*there, *built))
        )

    def _of_part(self, part: _Part) -> results.ModelChecked:
        model, chosen, services, left = part.model, part.checks, self.services, part.there
        missing = difference(part.partitions, left)
        after = () if left else skipped(chosen.after, _never_built(model, missing))
        lines = (_never_built(model, missing),) if missing and left else ()
        version = None
        with services.engine.session(model.name, model.where) as session:
            inputs, gone = self._inputs(part)
            target = CheckTarget(
                services=services,
                context=self.context,
                session=session,
                model=model,
                checks=chosen,
                inputs=inputs,
                windows=self._windows(model),
                partitions=part.partitions,
                body=part.body,
                sampling=self.request.sample,
                keeping=self.request.record,
            )
            before = target.look_before() if chosen.before else ()
            if chosen.after and left and gone and model.is_view:
                why, given = "what the view reads cannot be read", target.check_inputs()
                after = tuple(results.refused(each, given, why) for each in chosen.after)
            elif chosen.after and left:
                version, after = _look_after(replace(target, partitions=left), part.made_by)
        report = InvariantReport(before, after)
        if self.request.record:
            keys, journal = write_ranges(model.grid, part.partitions), services.writing.journal
            journal.note_checks(self.context.holder.run, model.name, report, keys, version)
            close_passed(services, model, report, left)
        pairs, number = key_pairs(model.grid, part.partitions), count(part.partitions)
        return results.ModelChecked(model.name, pairs, number, version, report, (*lines, *gone))

    def _windows(self, model: Model) -> tuple[InputWindow, ...]:
        """Return the windows of the step that made the newest rows; empty without such a step."""
        known = self.context.records.get(model.name)
        if known is None or model.strategy.window is None:
            return ()
        steps = self.services.reading.records.steps_of(model.name)
        return next((each.intent.windows for each in steps if each.intent.step == known.step), ())

    def _inputs(self, part: _Part) -> tuple[Inputs, tuple[str, ...]]:
        """Return the current inputs, and those that cannot be read and are left out.

        Only checks before the step, and views, read inputs.
        """
        found, gone = Inputs({}, ()), []
        model, view = part.model, self.context.view
        names = model.inputs if part.checks.before or model.is_view else ()
        for name in query_tables(self.services.project, names):
            if name.kind is InputKind.THIS:
                continue
            is_source = name.kind is InputKind.SOURCE
            broken = view.now.broken.get(name.name) if is_source else None
            if broken is None:
                try:
                    one = pin_names(self.services, model, (name,), self.context.records, view)
                except TableError as error:
                    broken = error
            if broken is not None:
                gone.append(f"{name} cannot be read: {broken.sentence}")
            else:
                found = Inputs({**found.reads, **one.reads}, (*found.pins, *one.pins))
        return found, tuple(gone)


def _look_after(target: CheckTarget, made_by: int) -> tuple[int | None, tuple[CheckResult, ...]]:
    """Check the current rows: partitions, or the whole table if step rows are gone."""
    model, services = target.model, target.services
    if model.is_view:
        rows = target.rows_of_view()
        return None, target.look_after(rows, rows, None, made_by)
    head = services.log.head(services.project.uri_of(model.table))
    version = head.version if head else None
    is_cut = model.partition is not None
    step = replaced_rows(target, version) if is_cut else target.left_of_step(version)
    table = target.at_version(version) if target.checks.needs_table else None
    return version, target.look_after(step, table, None, made_by)


def _never_built(model: Model, missing: Ranges) -> str:
    if model.partition is None:
        return f"{model.name} was never built"
    return f"partition {shown_ranges(model.grid, missing)} was never built"


@dataclass(frozen=True, slots=True)
class SuggestReport:
    """Checks proposed for a model, and the number of rows that they are based on.

    `path` is the file that defines the model.
    """

    model: str
    table: str
    rows: int
    checks: tuple[Suggestion, ...]
    path: str = ""
    notes: tuple[str, ...] = ()


def suggest(services: Services, name: str, *, sample: bool) -> SuggestReport:
    """Propose checks that the current rows of a model meet, in two queries; write nothing.

    Without `sample`, or with `checks.sample: false` in the project, no value of a row is read.
    Raises `unknown-model` and `not-built-yet`.
    """
    model = named_model(services, name)
    sample = sample and services.project.checks.sample
    services.engine.require()
    text = f"SELECT * FROM {mention(model.input_name)}"
    found = bound_now(services, Query(text, text, text, (model.input_name,)))
    notes = [] if sample else ["values of rows are not read, so no ranges or lists are proposed"]
    with services.engine.session(model.name, model.where) as session:
        session.bind(found.relations)
        sql, every = found.sql, session.describe(found.sql).columns
        added = {name.lower() for name in model.added_columns}
        columns = Schema(tuple(each for each in every if each.name.lower() not in added))
        if model.history is not None:
            names = model.history.columns
            is_current = quoted(names.is_current) if names.is_current else names.is_open()
            sql = f"SELECT * FROM (\n{sql}\n) WHERE {is_current}"
        if len(columns.columns) > WIDEST:
            notes.append(f"only the first {WIDEST} of {len(columns.columns)} columns are read")
        [row] = session.rows(profile_query(sql, columns, sample=sample))
        profile = profile_of(row, columns)
        details = details_of(profile, model.strategy.keys, sample=sample)
        counts: Row = {}
        if details.keys or details.listed:
            [counts] = session.rows(details.query(sql))
    existing = [each for each in model.all_checks if each.phase is Phase.AFTER]
    proposed = suggestions(profile, details, counts, existing)
    rows, table = profile.rows, str(model.table)
    return SuggestReport(model.name, table, rows, proposed, model.where.path, tuple(notes))
