"""The use case `check`: evaluate checks on the rows of today and write nothing but results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.app.artifacts.write import write_check_artifacts
from penstock.app.checking.chosen import StepChecks, skipped
from penstock.app.checking.closing import close_passed
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.inputs import ONE_GROUP, CheckedRows, CheckInputs
from penstock.app.checking.output import replaced_rows
from penstock.app.checking.reports import CheckReport, ModelChecked, SourceChecked
from penstock.app.checking.target import CheckTarget
from penstock.app.commands.history import SOURCE, check_names
from penstock.app.execution.recover import recover
from penstock.app.execution.settle import settle
from penstock.app.observation.observe import ObservedTables, pin_source
from penstock.app.observation.project_state import ProjectState, look
from penstock.app.planning.make_plan import run_timestamp_of
from penstock.app.planning.selection import narrowed, selected_models
from penstock.app.preparing.run_context import Context, Inputs, pin_names, source_read
from penstock.app.request import CheckRequest
from penstock.app.services.services import Services
from penstock.core.check_results import WHOLE_GROUP, CheckResult, CheckStatus, InvariantReport
from penstock.core.checks import Check, Checks, Freshness, Phase
from penstock.core.errors import PenstockError, TableError, UsageError
from penstock.core.findings import Severity
from penstock.core.model import Body, Model, Source
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.partitions.partition import key_pairs, shown_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, count, difference, intersection, merged
from penstock.core.ports.engine import StepSession
from penstock.core.records import PartitionRun
from penstock.core.steps.inputs import Read, Relation
from penstock.core.steps.window import InputWindow
from penstock.plan.resolve import due, resolve
from penstock.project.checks.kept import definition_of
from penstock.project.files.values import did_you_mean, some_of
from penstock.strategies.checks.written import age
from penstock.strategies.relations import leaves_of


def check_sources(
    services: Services, request: CheckRequest, run_timestamp: dt.datetime
) -> tuple[SourceChecked, ...]:
    """Compare the newest value of each source with what it may be at most, and record it.

    Records name a source as selectors do, `source:raw.events`. Raises `unknown-source` for a
    selected name that no source with `freshness` has.
    """
    found = {
        name: source
        for name, source in sorted(services.project.sources.items())
        if source.freshness is not None
    }
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
        view = ObservedTables.empty(run_timestamp)
        pin = pin_source(services, found[name], view.listings)
        read = source_read(services.project, found[name].input_name, pin, view)
        with services.engine.session(name, found[name].where) as session:
            result = _message(session, found[name], read, run_timestamp)
        messages.append(SourceChecked(name, result))
        if request.record:
            report = InvariantReport((result,))
            services.writing.journal.note_checks(
                run, f"{SOURCE}{name}", report, (WHOLE_GROUP,), None
            )
    return tuple(messages)


def _message(
    session: StepSession, source: Source, read: Read, run_timestamp: dt.datetime
) -> CheckResult:
    """Give the gravest of what fails, or that the source is fresh."""
    name = source.input_name
    columns = session.bind([Relation(name, "check_source", read)])["check_source"]
    rows = CheckedRows(f"SELECT * FROM {quoted('check_source')}", columns)
    results = evaluate(
        session, freshness_checks(source), CheckInputs(run_timestamp, inputs={name: rows})
    )
    failed = [result for result in results if result.status is CheckStatus.FAILED]
    return failed[0] if failed else results[-1]


def freshness_checks(source: Source) -> tuple[Check, ...]:
    """Give a gate for `error_after` and a warning for `warn_after`."""
    freshness = source.freshness
    if freshness is None:
        return ()
    limits = (
        (freshness.error_after, Severity.ERROR),
        (freshness.warn_after, Severity.WARNING),
    )
    checks = (
        Check(
            name=f"freshness_{freshness.column}",
            phase=Phase.BEFORE,
            rule=Freshness(freshness.column, limit, age(limit // dt.timedelta(microseconds=1))),
            where=source.where,
            severity=severity,
            input=source.input_name,
        )
        for limit, severity in limits
        if limit is not None
    )
    return tuple(replace(each, definition=definition_of(each)) for each in checks)


def check(services: Services, request: CheckRequest) -> CheckReport:
    """Evaluate the checks of the selected models, and settle flags and pending checks by them.

    No data is written and no lease is taken. Raises `unknown-check` for a name that no selected
    model has.
    """
    notes: tuple[str, ...] = ()
    if request.record and services.has_state():
        notes = recover(services).sentences
        notes += settle(services, writes=False).notes
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    if request.sources:
        found = check_sources(services, request, run_timestamp)
        return _written(services, request, CheckReport((), found, request.strict, notes))
    names = selected_models(services, request.select, request.exclude, run_timestamp)
    project_state = look(services, names, run_timestamp)
    _known_names(project_state, request)
    _refuse_unreadable((project_state.project.models[name] for name in names), request)
    services.engine.require()
    context = Context(
        run=services.run_id or services.clock.new_id(),
        run_timestamp=run_timestamp,
        project=project_state.project,
        view=project_state.view,
        records=project_state.records,
    )
    checking = _Checking(services, request, project_state, context)
    messages = [
        each for name in names for each in checking.of_model(project_state.project.models[name])
    ]
    return _written(
        services, request, CheckReport(tuple(messages), strict=request.strict, notes=notes)
    )


def _written(services: Services, request: CheckRequest, report: CheckReport) -> CheckReport:
    if request.record:
        sources = {each.source: each.result for each in report.sources}
        write_check_artifacts(services, report.reports, sources)
    return report


def _refuse_unreadable(models: Iterable[Model], request: CheckRequest) -> None:
    """Refuse a --partition that is none of a selected model; raises `invalid-partition`.

    A model without partitions is looked at whole; what is a key nowhere is refused all the same.
    """
    for model in models if request.partition else ():
        if model.partition is not None:
            model.grid.parse(request.partition)
        else:
            model.grid.bound(request.partition, last=False)


def _known_names(project_state: ProjectState, request: CheckRequest) -> None:
    """Refuse a name that no selected model has."""
    models = [project_state.project.models[name] for name in project_state.names]
    known = {name for model in models for name in check_names(model)}
    for name in request.checks:
        if name not in known:
            raise UsageError(
                "unknown-check",
                f"no selected model has a check called {name!r}",
                hint=did_you_mean(name, known) or _there_are(known),
            )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some partitions of a model that one version makes: its checks, and what is on record.

    `body` is the SQL of partitions; a whole table has none, and no `runs`.
    """

    model: Model
    partitions: Ranges
    checks: StepChecks
    body: Body | None = None
    runs: tuple[PartitionRun, ...] = ()


def _there_are(known: set[str]) -> str:
    return f"there are: {some_of(known)}" if known else "none of them has checks"


@dataclass(frozen=True, slots=True)
class _Checking:
    """One command that evaluates checks."""

    services: Services
    request: CheckRequest
    project_state: ProjectState
    context: Context

    def of_model(self, model: Model) -> tuple[ModelChecked, ...]:
        """Evaluate the checks of one model, by the versions of its partitions."""
        return tuple(self._of_part(each) for each in self._parts(model) if not each.checks.is_empty)

    def _parts(self, model: Model) -> Iterator[_Part]:
        if model.partition is None:
            yield _Part(model, ONE_GROUP, self._wanted(model.checks_of(model.fingerprint.version)))
            return
        runs = self.services.reading.records.runs(model.name)
        wanted = self._partitions(model, _built(runs))
        for segment in resolve(model, self.context.run_timestamp.date(), wanted):
            here = intersection(wanted, (segment.range,))
            if here:
                checks = self._wanted(segment.version.checks)
                yield _Part(model, here, checks, segment.body, runs)

    def _wanted(self, checks: Checks) -> StepChecks:
        return StepChecks(tuple(self._asked(checks.before)), tuple(self._asked(checks.after)))

    def _asked(self, checks: Iterable[Check]) -> Iterator[Check]:
        names = self.request.checks
        for each in checks:
            if each.phase in self.request.phases and (not names or each.name in names):
                yield each

    def _partitions(self, model: Model, built: Ranges) -> Ranges:
        """Give the partitions that are asked for; without a word the newest due one."""
        request, there = self.request, due(model, self.project_state.run_timestamp)
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

    def _of_part(self, part: _Part) -> ModelChecked:
        model, chosen = part.model, part.checks
        left = intersection(part.partitions, self._there(part))
        missing = difference(part.partitions, left)
        after = () if left else skipped(chosen.after, _never_built(model, missing))
        lines = (_never_built(model, missing),) if missing and left else ()
        version = None
        with self.services.engine.session(model.name, model.where) as session:
            inputs, gone = self._inputs(part)
            check_target = self._check_target(part, session, inputs)
            before = check_target.look_before() if chosen.before else ()
            if chosen.after and left and gone and model.is_view:
                after = check_target.refuse_after("what the view reads cannot be read")
            elif chosen.after and left:
                made_by = self._made_by(part, left)
                version, after = self._look_after(replace(check_target, partitions=left), made_by)
        report = InvariantReport(before, after)
        if self.request.record:
            keys = write_ranges(model.grid, part.partitions)
            journal = self.services.writing.journal
            journal.note_checks(self.context.run, model.name, report, keys, version)
            close_passed(self.services, model, report, left)
        pairs, number = key_pairs(model.grid, part.partitions), count(part.partitions)
        return ModelChecked(model.name, pairs, number, version, report, (*lines, *gone))

    def _check_target(self, part: _Part, session: StepSession, inputs: Inputs) -> CheckTarget:
        return CheckTarget(
            services=self.services,
            context=self.context,
            session=session,
            model=part.model,
            checks=part.checks,
            inputs=inputs,
            windows=self._windows(part.model),
            partitions=part.partitions,
            body=part.body,
            sampling=self.request.sample,
        )

    def _windows(self, model: Model) -> tuple[InputWindow, ...]:
        """Give the windows of the step that made the newest rows; without one there are none."""
        known = self.context.records.get(model.name)
        if known is None or model.strategy.window is None:
            return ()
        steps = self.services.reading.records.steps_of(model.name)
        return next((each.intent.windows for each in steps if each.intent.step == known.step), ())

    def _look_after(
        self, check_target: CheckTarget, made_by: int
    ) -> tuple[int | None, tuple[CheckResult, ...]]:
        """Look at the rows of today: partitions, or the whole table where step rows are gone."""
        model = check_target.model
        if model.is_view:
            rows = check_target.rows_of_view()
            return None, check_target.look_after(rows, rows, None, made_by)
        head = self.services.log.head(self.services.project.uri_of(model.table))
        version = head.version if head else None
        is_cut = model.partition is not None
        step = (
            replaced_rows(check_target, version) if is_cut else check_target.left_of_step(version)
        )
        table = check_target.at_version(version) if check_target.checks.needs_table else None
        return version, check_target.look_after(step, table, None, made_by)

    def _made_by(self, part: _Part, partitions: Ranges) -> int:
        """Give the number of the step that made the rows: it is no base of its own."""
        if part.model.partition is None:
            known = self.context.records.get(part.model.name)
            return known.step_seq if known is not None else 0
        made = [
            run.step_seq
            for run in part.runs
            if run.step_seq and intersection(((run.low, run.high),), partitions)
        ]
        return min(made, default=0)

    def _inputs(self, part: _Part) -> tuple[Inputs, tuple[str, ...]]:
        """Give the inputs as they are now, and say which cannot be read: they have no part in it.

        Only checks before the step, and views, look at inputs.
        """
        found, gone = Inputs({}, ()), []
        model = part.model
        names = model.inputs if part.checks.before or model.is_view else ()
        for name in leaves_of(self.services.project, names):
            if name.kind is InputKind.THIS:
                continue
            one = self._pinned(model, name)
            if isinstance(one, PenstockError):
                gone.append(f"{name} cannot be read: {one.sentence}")
            else:
                found = Inputs({**found.reads, **one.reads}, (*found.pins, *one.pins))
        return found, tuple(gone)

    def _pinned(self, model: Model, name: InputName) -> Inputs | PenstockError:
        view = self.context.view
        if name.kind is InputKind.SOURCE and name.name in view.now.broken:
            return view.now.broken[name.name]
        try:
            return pin_names(self.services, model, (name,), self.context.records, view)
        except TableError as error:
            return error

    def _there(self, part: _Part) -> Ranges:
        if part.model.partition is not None:
            return _built(part.runs)
        known = self.context.records.get(part.model.name)
        return part.partitions if known is not None and known.succeeded_once else ()


def _built(runs: Iterable[PartitionRun]) -> Ranges:
    """Give the partitions that hold rows of a success, flagged ones included."""
    return merged((run.low, run.high) for run in runs if run.step_seq)


def _never_built(model: Model, missing: Ranges) -> str:
    if model.partition is None:
        return f"{model.name} was never built"
    return f"partition {shown_ranges(model.grid, missing)} was never built"
