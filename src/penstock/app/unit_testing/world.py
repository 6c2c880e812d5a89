"""A project for one test: only its model, with its own tables in a temporary folder."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.app.services.wire import SystemClock
from penstock.core.checks.check import Check, Checks
from penstock.core.checks.check_type import with_parts
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import Entity, RunText, Slices
from penstock.core.entities.reading import BronzeFormat
from penstock.core.errors import UsageError
from penstock.core.model import Body, Model, PythonFunction, Source, Version
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project, Target
from penstock.core.query import Query, live, mention, present, substitute
from penstock.core.steps.window import Watermark
from penstock.plan.resolve import dated_models, resolve
from penstock.plan.windows import windowed_inputs
from penstock.project.unit_tests.definition import GivenWatermark, UnitRun, UnitTest, inputs_of

Carriers = Mapping[tuple[str, str], str]
"""The type of every column that carries a watermark, by input and column."""


def tested_model(model: Model, test: UnitTest) -> Model:
    """Return the model with only the requested version, from its first day on."""
    if test.version is None:
        return model
    first = min((_day(model, run) for run in test.runs), default=dt.date.max)
    found = []
    for version in (each for each in model.versions if each.number == test.version):
        body: Body = version.body
        begins = body.fingerprint.effective_from
        if begins is not None and begins > first:
            body = replace(body, fingerprint=replace(body.fingerprint, effective_from=first))
        found.append(replace(version, body=body))
    return replace(model, versions=tuple(found))


def model_on(model: Model, run_timestamp: dt.datetime) -> Model:
    """Return a model with the declarations of its version for a day."""
    return dated_models({model.name: model}, run_timestamp.date())[model.name]


def used(model: Model, test: UnitTest, run: UnitRun) -> tuple[Version, ...]:
    """Return every version for one of the run's partitions; all if that is unknown."""
    known = tested_model(model, test)
    if known.partition is not None and not run.first:
        return known.versions
    grid = known.grid
    within = ((grid.parse(run.first), grid.parse(run.last)) if run.first else (0, 0),)
    segments = resolve(known, run.as_of.date(), within)
    numbers = {segment.version.number for segment in segments}
    return tuple(v for v in known.versions if v.number in numbers) or known.versions


def wanted_inputs(model: Model, test: UnitTest, run: UnitRun) -> tuple[InputName, ...]:
    """Return every table that a run reads, without its own."""
    if not model.versions:
        return inputs_of(model)
    read = (name for version in used(model, test, run) for name in _read_by(version))
    return tuple(name for name in dict.fromkeys(read) if name.kind is not InputKind.THIS)


def is_seed(project: Project, name: InputName) -> bool:
    """Return whether an input is a file under seeds/, which provides its own rows."""
    return name.name not in project.models and name.name in project.seeds


def _day(model: Model, run: UnitRun) -> dt.date:
    """Return the date that determines the version; numbers have none."""
    with suppress(ValueError):
        return model.grid.date(model.grid.parse(run.first)) if run.first else run.as_of.date()
    return run.as_of.date()


class TestClock(SystemClock):
    """Always returns the run timestamp of a test; ids keep ascending."""

    __test__ = False  # no test itself, whatever pytest thinks of its name

    def __init__(self, run_timestamp: dt.datetime) -> None:
        super().__init__()
        self.run_timestamp = run_timestamp

    def now(self) -> dt.datetime:
        """See `Clock.now`."""
        return self.run_timestamp


def world_of(
    project: Project, test: UnitTest, columns: Mapping[InputName, Collection[str]], folder: Path
) -> Project:
    """Return a project of the tested model; each input is a Delta source under its own name.

    `columns` are the inputs of all runs with their columns. Checks that read other inputs are
    removed, and so are versions that no run uses.
    """
    model = project.models[test.model]
    sources = {
        name.name: Source(
            table=project.table_of(name, model),
            where=test.where,
            path=str(folder / "inputs" / f"i{number}"),
        )
        for number, name in enumerate(columns)
    }
    rewriting = _Rewriting(columns, model.name, str(folder / "bronze"))
    return replace(
        project,
        root=str(folder),
        target=Target(
            project.target.name,
            str(folder / "warehouse"),
            state="",
            spark=project.target.spark,
            schema_prefix=project.target.schema_prefix,
        ),
        models={model.name: rewriting.model(model, test)},
        sources=sources,
        seeds={},
        findings=(),
    )


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """Replaces everything that a model reads by sources."""

    columns: Mapping[InputName, Collection[str]]
    own: str
    bronze: str = ""

    def moved(self, name: InputName) -> InputName:
        """Return an input as a source with its own name, so that watermarks keep theirs."""
        return name if self._is_own(name) else InputName(InputKind.SOURCE, name.name)

    def _is_own(self, name: InputName) -> bool:
        return name.kind is InputKind.THIS or name == InputName(InputKind.MODEL, self.own)

    def model(self, model: Model, test: UnitTest) -> Model:
        needed = {v.number for run in test.runs for v in used(model, test, run)}
        # those that runs are about, and others whose inputs are given too
        versions = tuple(
            each
            for each in tested_model(model, test).versions
            if each.number in needed or all(map(self._has, _read_by(each)))
        )
        if versions and versions != model.versions:
            newest = max(versions, key=lambda each: each.number)
            query, fingerprint = newest.body.query, newest.body.fingerprint
            model = replace(model, query=query, fingerprint=fingerprint, checks=newest.checks)
        return replace(
            model,
            query=self.query(model.query),
            entity=model.entity and self._entity(model.entity),
            depends_on=(),
            order_after=(),
            immutable=False,
            versions=tuple(
                replace(
                    each,
                    body=self._body(each.body),
                    revisions=tuple(map(self._body, each.revisions)),
                    checks=self._checks(each.checks),
                )
                for each in versions
            ),
            checks=self._checks(model.checks),
            function=model.function and self._function(model.function),
        )

    def _entity(self, entity: Entity) -> Entity:
        """Move slices to the test's own folder, the same every day; they are Parquet there."""
        if not isinstance(entity.bronze, Slices):
            return entity
        reading = replace(entity.settings.reading, format=BronzeFormat.PARQUET, options={})
        settings = replace(entity.settings, reading=replace(reading, infer=False))
        bronze = replace(entity.bronze, path=RunText(self.bronze))
        return replace(entity, bronze=bronze, settings=settings)

    def _function(self, function: PythonFunction) -> PythonFunction:
        """Replace the parameters of a function by sources."""
        moved = {name: self.moved(each) for name, each in function.parameters.items()}
        return replace(function, parameters=moved)

    def query(self, query: Query) -> Query:
        return replace(
            query,
            text=self._text(query.text, query),
            incremental=self._text(query.incremental, query),
            inputs=tuple(map(self.moved, query.inputs)),
            deleted_flags=(),
            deltas=(),  # what is new is what the test gives
            reads=(),  # and the text is that of the last run
        )

    def _text(self, text: str, query: Query) -> str:
        """Replace tokens by sources, and decide which histories have tombstones."""
        for name, column in query.deleted_flags:
            known = {each.lower() for each in self.columns.get(name, ())}
            condition = live(column) if column.lower() in known else "true"
            text = text.replace(present(name), condition)
        return substitute(text, lambda name, alias: mention(self.moved(name), alias))

    def _has(self, name: InputName) -> bool:
        return self._is_own(name) or name in self.columns

    def _body(self, body: Body) -> Body:
        own = tuple(each for each in body.inputs if each.input.name == self.own)
        return replace(body, query=self.query(body.query), inputs=own)

    def _checks(self, checks: Checks) -> Checks:
        before, after = (
            tuple(self._check(each) for each in phase if all(map(self._has, each.reads)))
            for phase in (checks.before, checks.after)
        )
        return replace(checks, before=before, after=after)

    def _check(self, check: Check) -> Check:
        rule = with_parts(with_parts(check.rule, Query, self.query), InputName, self.moved)
        return replace(
            check,
            rule=rule,
            input=check.input and self.moved(check.input),
            query=check.query and self.query(check.query),
            reads=tuple(map(self.moved, check.reads)),
        )


def _read_by(version: Version) -> tuple[InputName, ...]:
    return tuple(name for body in version.bodies for name in body.query.inputs)


def carriers(model: Model, schemas: Mapping[str, Schema]) -> Carriers | None:
    """Return the columns that carry watermarks, None without any; raise the step's errors."""
    settings = model.strategy.window
    if settings is None:
        return None
    found = windowed_inputs(model, settings, schemas)
    return {(each.input, each.column): each.type for each in found}


def no_watermark(model: Model, watermark: GivenWatermark) -> UsageError:
    """Return the error for a watermark of a model that has none."""
    sentence = f"{model.name} has no watermark"
    return UsageError("bad-value", sentence, where=watermark.where, hint="leave it out")


def watermark_of(watermark: GivenWatermark, columns: Carriers) -> Watermark:
    """Find the named column and parse the value in its type."""
    found = [key for key in columns if is_meant(watermark, ".".join(key))]
    if len(found) != 1:
        there = ", ".join(".".join(key) for key in columns)
        sentence = f"watermark {watermark.column!r}: the model has {there}"
        raise UsageError("unknown-column", sentence, where=watermark.where, hint="name one of them")
    kind = columns[found[0]]
    try:
        return Watermark(*found[0], TypedValue.parse(kind, watermark.text))
    except UsageError as error:
        raise UsageError("bad-test-value", error.sentence, where=watermark.where) from error


def is_meant(watermark: GivenWatermark, key: str) -> bool:
    """Return whether a test may mean `input.column`: by its last part, or without a name."""
    asked = watermark.column.lower()
    return not asked or f".{key}".lower().endswith(f".{asked}")
