"""The use case `check`: evaluate checks on the rows of today and write nothing but results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.app.artifacts import write_check_artifacts
from penstock.app.checking.chosen import StepChecks, skipped
from penstock.app.checking.flags import refuse_conflicts
from penstock.app.checking.history import check_names
from penstock.app.checking.output import replaced_rows
from penstock.app.checking.reports import CheckReport, CheckRequest, ModelChecked
from penstock.app.checking.sources import check_sources
from penstock.app.checking.subject import Subject
from penstock.app.inputs import Inputs, pin_names
from penstock.app.looking import Looked, look
from penstock.app.narrow import check_range, narrowed
from penstock.app.planning import moment_of
from penstock.app.recover import recover
from penstock.app.run_context import Context
from penstock.app.selecting import selected_models
from penstock.app.settling import settle
from penstock.app.shop import Shop, user_name
from penstock.core.check_results import CheckResult, CheckStatus, InvariantReport
from penstock.core.checks import Check, Checks
from penstock.core.errors import PenstockError, UsageError
from penstock.core.model import Body, Model
from penstock.core.names import InputKind
from penstock.core.partition import write_ranges
from penstock.core.ranges import Ranges, difference, intersection, merged
from penstock.plan.resolve import due, resolve
from penstock.project.nearest import did_you_mean, some_of
from penstock.strategies.relations import bind_query, leaves_of


def check(shop: Shop, request: CheckRequest) -> CheckReport:
    """Evaluate the checks of the selected models, and settle flags and pending checks by them.

    No data is written and no lease is taken. Raises `unknown-check` for a name that no selected
    model has.
    """
    check_range(request.range)
    refuse_conflicts(request)
    notes: tuple[str, ...] = ()
    if request.record and shop.has_state():
        notes = tuple(map(str, recover(shop)))
        settled = settle(shop, writes=False).results
        notes += tuple(f"{each.name}: {each.reason}; now {each.status}" for each in settled)
    moment = moment_of(shop, request.as_of)
    if request.sources:
        found = check_sources(shop, request, moment)
        return _written(shop, CheckReport((), found, request.strict, notes))
    names = selected_models(shop, request.select, request.exclude, moment)
    looked = look(shop, names, moment)
    _known_names(looked, request)
    shop.engine.require()
    context = Context(
        run=shop.run_id or shop.clock.new_id(),
        run_timestamp=moment,
        project=looked.project,
        view=looked.view,
        records=looked.records,
    )
    checking = _Checking(shop, request, looked, context)
    told = [each for name in names for each in checking.of_model(looked.project.models[name])]
    return _written(shop, CheckReport(tuple(told), strict=request.strict, notes=notes))


def _written(shop: Shop, report: CheckReport) -> CheckReport:
    sources = {each.source: each.result for each in report.sources}
    write_check_artifacts(shop, report.reports, sources)
    return report


def _known_names(looked: Looked, request: CheckRequest) -> None:
    """Refuse a name that no selected model has."""
    models = [looked.project.models[name] for name in looked.names]
    known = {name for model in models for name in check_names(model)}
    for name in request.names:
        if name not in known:
            raise UsageError(
                "unknown-check",
                f"no selected model has a check called {name!r}",
                hint=did_you_mean(name, known) or f"there are: {some_of(known)}",
            )


@dataclass(frozen=True, slots=True)
class _Checking:
    """One command that evaluates checks."""

    shop: Shop
    request: CheckRequest
    looked: Looked
    context: Context

    def of_model(self, model: Model) -> tuple[ModelChecked, ...]:
        """Evaluate the checks of one model, by the versions of its partitions."""
        if model.partition is None:
            found = self._of_part(model, ((0, 0),), model.checks_of(model.fingerprint.version))
            return (found,) if found else ()
        parts = []
        wanted = self._partitions(model)
        for segment in resolve(model, self.context.run_timestamp.date(), wanted):
            here = intersection(wanted, (segment.range,))
            one = self._of_part(model, here, segment.version.checks) if here else None
            parts += [one] if one else []
        return tuple(parts)

    def _partitions(self, model: Model) -> Ranges:
        """Give the partitions that are asked for; without a word the newest due one."""
        request, there = self.request, due(model, self.looked.moment)
        if request.partition:
            number = model.grid.parse(request.partition)
            return ((number, number),)
        built = self._built(model)
        if request.everything:
            return built
        if request.range.is_open:
            return ((there[-1][1],) * 2,) if there else ()
        return narrowed(model, request.range, self.looked.moment, merged((*there, *built)))

    def _built(self, model: Model) -> Ranges:
        """Give the partitions that hold rows of a success, flagged ones included."""
        runs = self.shop.reading.records.runs(model.name)
        return merged((run.low, run.high) for run in runs if run.step_seq)

    def _of_part(self, model: Model, partitions: Ranges, checks: Checks) -> ModelChecked | None:
        chosen = StepChecks(self._wanted(checks.before), self._wanted(checks.after))
        if chosen.is_empty:
            return None
        built = self._there(model, partitions)
        left = intersection(partitions, built)
        missing = difference(partitions, built)
        after = skipped(chosen.after, _never_built(model, missing)) if missing and not left else ()
        version = None
        before: tuple[CheckResult, ...] = ()
        with self.shop.engine.session(model.name, model.where) as session:
            inputs = self._inputs(model)
            subject = Subject(
                shop=self.shop,
                context=self.context,
                session=session,
                model=model,
                checks=chosen,
                inputs=inputs,
                partitions=partitions,
                body=self._body(model, partitions),
                sampling=self.request.sample,
            )
            before = subject.look_before() if chosen.before else ()
            if chosen.after and left:
                version, after = self._look_after(replace(subject, partitions=left))
        report = InvariantReport(before, after)
        keys = write_ranges(model.grid, partitions)
        if self.request.record:
            self._record(model, report, keys, version, left)
        ranges = tuple((low, high or low) for low, _, high in (k.partition("..") for k in keys))
        count = sum(high - low + 1 for low, high in partitions)
        lines = (_never_built(model, missing),) if missing and left else ()
        return ModelChecked(model.name, ranges, count, version, report, lines)

    def _look_after(self, subject: Subject) -> tuple[int | None, tuple[CheckResult, ...]]:
        """Look at the rows of today: partitions, or the whole table where step rows are gone."""
        model = subject.model
        uri = self.shop.project.uri_of(model.table)
        head = None if model.is_view else self.shop.log.head(uri)
        version = head.version if head else None
        if model.is_view:
            rows = subject.as_table(self._view_sql(subject))
            return None, subject.look_after(rows, rows, None, self._made_by(subject))
        step = replaced_rows(subject, version)
        table = subject.at_version(version) if subject.checks.needs_table else None
        return version, subject.look_after(step, table, None, self._made_by(subject))

    def _made_by(self, subject: Subject) -> int:
        """Give the number of the step that made the rows: it is no base of its own."""
        model = subject.model
        if model.partition is None:
            record = self.context.records.get(model.name)
            return record.step_seq if record is not None else 0
        runs = self.shop.reading.records.runs(model.name)
        here = subject.partitions
        made = [r.step_seq for r in runs if r.step_seq and intersection(((r.low, r.high),), here)]
        return min(made, default=0)

    def _view_sql(self, subject: Subject) -> str:
        model, moment = subject.model, self.context.run_timestamp
        bound = bind_query(self.shop.project, model.query, subject.inputs.reads, moment)
        subject.session.bind(bound.relations)
        return bound.sql

    def _wanted(self, checks: Sequence[Check]) -> tuple[Check, ...]:
        names = self.request.names
        return tuple(
            each
            for each in checks
            if each.phase in self.request.phases and (not names or each.name in names)
        )

    def _inputs(self, model: Model) -> Inputs:
        """Give the inputs as they are now; one that is not there has no part in it."""
        names = leaves_of(self.shop.project, model.inputs)
        found = Inputs({}, ())
        for name in names:
            if name.kind is InputKind.THIS:
                continue
            try:
                one = pin_names(self.shop, model, (name,), self.context.records, self.context.view)
            except (PenstockError, KeyError):
                continue
            found = Inputs({**found.reads, **one.reads}, (*found.pins, *one.pins))
        return found

    def _there(self, model: Model, partitions: Ranges) -> Ranges:
        if model.partition is not None:
            return self._built(model)
        record = self.context.records.get(model.name)
        return partitions if record is not None and record.succeeded_once else ()

    def _body(self, model: Model, partitions: Ranges) -> Body | None:
        if model.partition is None:
            return None
        segments = resolve(model, self.context.run_timestamp.date(), partitions)
        return segments[-1].body if segments else None

    def _record(
        self,
        model: Model,
        report: InvariantReport,
        keys: tuple[str, ...],
        version: int | None,
        looked_at: Ranges,
    ) -> None:
        journal = self.shop.writing.journal
        journal.note_checks(self.context.run, model.name, report, keys, version)
        flags = [
            flag
            for flag in self.shop.writing.records.flags()
            if flag.model == model.name
            and intersection(looked_at, ((flag.ord, flag.ord),))
            and _passes(report, flag.checks, flag.partition)
        ]
        if flags:
            journal.close_flags(flags, "penstock check", user_name())


def _passes(report: InvariantReport, checks: tuple[str, ...], partition: str) -> bool:
    """Whether every check that a flag names was looked at and holds for its partition now."""
    by_name = {result.name: result for result in report.after}
    for name in checks:
        result = by_name.get(name)
        if result is None or result.status is CheckStatus.SKIPPED:
            return False
        if result.failed and (partition in result.partitions or "*" in result.partitions):
            return False
    return True


def _never_built(model: Model, missing: Ranges) -> str:
    if model.partition is None:
        return f"{model.name} was never built"
    keys = ", ".join(key.replace("..", " to ") for key in write_ranges(model.grid, missing)[:5])
    return f"partition {keys} was never built"
