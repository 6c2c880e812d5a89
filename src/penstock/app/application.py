"""`penstock.conf`: a project whose models are the functions of one script or notebook."""

from __future__ import annotations

import atexit
import datetime as dt
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from penstock.core.errors import ProjectPlaceError, PythonModelError, UsageError
from penstock.core.shown.notebooks import html_of
from penstock.core.steps.inputs import DeltaRead
from penstock.project.files.discovery import PROJECT_FILE
from penstock.project.python.declare import ColumnMeta, PythonModel, Registry, TableMeta
from penstock.project.python.decorators import Decorators
from penstock.project.python.imports import LOADING, refuse_foreign
from penstock.project.python.parameters import WrongParameterError, plain_value

if TYPE_CHECKING:
    from typing import Unpack

    from penstock.app.commands.status import Overview
    from penstock.app.reports import ModelResult
    from penstock.app.request import RunRequest
    from penstock.app.run_report import RunReport
    from penstock.app.services.services import Services
    from penstock.engine.spark_engine import SparkSession
    from penstock.plan.rerun import Given

Models = str | PythonModel[..., Any]
Params = Mapping[str, Any]


class RunOptions(TypedDict, total=False):
    """The other keywords of `app.run`."""

    safe: bool
    as_of: dt.datetime | str | None
    params: Params | None


class App(Decorators):
    """A project folder and the functions that were decorated with this app.

    With penstock.yml in the folder, they join the graph of its SQL, YAML and Python models. Without
    it, they are the whole project, and its tables are stored in `warehouse/`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        env: str | None = None,
        *,
        spark: SparkSession | None = None,
        threads: int | None = None,
    ) -> None:
        """Store the arguments; read nothing. `root` is a folder, `env` one of its targets."""
        self._functions = Registry()
        super().__init__(self._functions, lambda _: _AppTables(self))
        self._root = Path(root)
        refuse_foreign(self._root)
        self._env = env
        self._spark = spark
        self._threads = threads

    def run(
        self,
        models: Models | Sequence[Models] | None = None,
        select: str | Sequence[str] = (),
        full_refresh: bool = False,  # noqa: FBT001, FBT002  as the seed calls it
        dry_run: bool = False,  # noqa: FBT001, FBT002  as the seed calls it
        **more: Unpack[RunOptions],
    ) -> RunReport:
        """Bring models up to date: all of them, `models` with everything they read, or `select`.

        With `dry_run`, return the plan, write nothing and start nothing. While `safe` is true, a
        step fails if its columns differ from those of the table. `params` are values of parameters,
        for this run; `as_of` is the time that it takes for now. Raises the error of the first
        failed step, after all other steps were tried; its `report` is the report. Raises
        `ProjectError` with every finding of every file.
        """
        from penstock.app.request import RunRequest
        from penstock.app.services.services import named_model

        for key in more.keys() - RunOptions.__annotations__.keys():
            raise TypeError(f"run() got an unexpected keyword argument {key!r}")
        if models is not None and select:
            sentence = "models and select both say what is run"
            raise UsageError("option-conflict", sentence, hint="keep one of them")
        request = RunRequest(
            str(self._root),
            target=self._env,
            spark=self._spark,
            threads=self._threads,
            select=_with_ancestors(models) if models is not None else _texts(select),
            full_refresh=full_refresh,
            dry_run=dry_run,
            as_of=more.get("as_of"),
            allow_schema_change=not more.get("safe", True),
            variables=_plain_params(more.get("params")),
        )
        with self.opened(request.variables) as services:
            _check_params(services, request.variables or {})
            for name in _model_names(models):
                named_model(services, name)
            return self._run_request(services, request)

    def _run_request(self, services: Services, request: RunRequest) -> RunReport:
        from penstock.app.commands.plan import preview
        from penstock.app.commands.run import run

        if request.dry_run:
            return self._framed(preview(services, request).report, request.variables)
        report = self._framed(run(services, request), request.variables)
        raise_first(report)
        return report

    def _framed(self, report: RunReport, params: Params | None = None) -> RunReport:
        """Let each result of a report load its frame."""
        results = (
            replace(each, frame=partial(self.frame, each.name, each.version, params))
            for each in report.results
        )
        return replace(report, results=tuple(results))

    def frame(self, name: str, version: int | None = None, params: Params | None = None) -> object:
        """Return a table at a version, the current table, or the frame of a model; write nothing.

        A Spark that it starts keeps running, because the frame needs it.
        """
        with ExitStack() as lasting:
            found = self._frame(lasting.enter_context(self.opened(params)), name, version)
            keep(lasting)
        return found

    def _frame(self, services: Services, name: str, version: int | None) -> object:
        from penstock.app.commands.query import bound_now
        from penstock.core.query import Query, mention

        model = services.project.models[name]
        text = f"SELECT * FROM {mention(model.input_name)}"
        bound = bound_now(services, Query(text, text, text, (model.input_name,)))
        relations = [
            replace(each, read=replace(each.read, version=version))
            if isinstance(each.read, DeltaRead) and version is not None and not model.is_view
            else each
            for each in bound.relations
        ]
        return services.engine.frame(relations, bound.sql)

    def again(
        self, name: str, low: Given, high: Given, *, safe: bool = True, dry_run: bool = False
    ) -> ModelResult:
        """Rebuild the rows of a range of one table; see `PythonModel.rerun`."""
        from penstock.app.commands.rerun import rerun_of
        from penstock.app.commands.sync import preview_sync, sync
        from penstock.app.request import BackfillRequest

        asked = BackfillRequest(
            str(self._root),
            name,
            from_=str(low),
            to=str(high),
            target=self._env,
            spark=self._spark,
            dry_run=dry_run,
            allow_schema_change=not safe,
        )
        with self.opened() as services:
            request = rerun_of(services, asked, low, high)
            planned = preview_sync(services, request).report if dry_run else None
            report = self._framed(planned or sync(services, request))
        if not dry_run:
            raise_first(report)
        return report[name]

    def overview(self, name: str = "") -> Overview:
        """Return the graph with the state of each model, or one model; start no Spark."""
        from penstock.app.commands.status import overview

        with self.opened() as services:
            return overview(services, name)

    def __repr__(self) -> str:
        """Return where the project is, without loading it."""
        return f"App(root={str(self._root)!r}, functions={len(self._functions.models)})"

    def __str__(self) -> str:
        """Return a line for each model: what it reads, and its state."""
        return str(self.overview())

    def _repr_html_(self) -> str:
        """Return the graph as HTML for notebooks; errors of the project as text."""
        return html_of(self.overview)

    def opened(self, params: Params | None = None) -> closing[Services]:
        """Load and wire the project; close databases and a Spark that was started."""
        from penstock.app.services.wire import SystemClock, Where, open_project, wired
        from penstock.project.first_pass import GivenParts

        if LOADING.get():
            hint = "put the call below: if __name__ == '__main__':"
            sentence = "a model is run, or asked for, while its file is imported"
            raise PythonModelError("run-during-load", sentence, hint=hint)
        if not self._root.is_dir():
            sentence = f"root is {str(self._root)!r}, which is not a folder"
            raise ProjectPlaceError("bad-root", sentence, hint="name the folder of the project")
        parts = GivenParts(self._functions.models)
        where = Where(self._root, self._env, params or {}, parts)
        try:
            project = open_project(where)
        except UsageError as error:  # there is no such target
            raise ProjectPlaceError(error.code, error.sentence, hint=error.hint) from None
        return closing(wired(project, SystemClock(), self._spark))


class _AppTables:
    """The models of an app, as seen by one of its decorated functions."""

    def __init__(self, app: App) -> None:
        self._app = app

    def build(self, name: str) -> object:
        """See `ModelRunner.build`."""
        self._app.run(models=name)
        return self.frame(name)

    def overview(self, name: str) -> Overview:
        """See `ModelRunner.overview`."""
        return self._app.overview(name)

    def rerun(
        self, name: str, low: Given, high: Given, *, safe: bool, dry_run: bool
    ) -> ModelResult:
        """See `ModelRunner.rerun`."""
        return self._app.again(name, low, high, safe=safe, dry_run=dry_run)

    def frame(self, name: str) -> object:
        """See `ModelRunner.frame`."""
        return self._app.frame(name)

    def meta(self, name: str) -> TableMeta:
        """See `ModelRunner.meta`."""
        from penstock.app.commands.state import last_max_value

        with self._app.opened() as services:
            model = services.project.models[name]
            uri = services.project.uri_of(model.table)
            facts = None if model.is_view else services.log.facts(uri)
            record = services.reading.records.models().get(name)
            said = {column.name.lower(): column.description for column in model.columns}
            return TableMeta(
                name,
                model.description,
                tuple(
                    ColumnMeta(c.name, c.type, said.get(c.name.lower()) or c.comment)
                    for c in (facts.schema.columns if facts else ())
                ),
                model.layout.partition_by,
                facts.version if facts else None,
                record.executed_at if record else None,
                last_max_value(record) if record else None,
            )

    def partitions(self, name: str) -> list[dict[str, str | None]]:
        """See `ModelRunner.partitions`."""
        with self._app.opened() as services:
            model = services.project.models[name]
            return services.log.partitions(services.project.uri_of(model.table))


_lasting = ExitStack()
# What frames that were handed out need. It is closed before Python takes modules away: the
# generators in it could import nothing any more.
atexit.register(_lasting.close)


def keep(lasting: ExitStack) -> None:
    """Keep open what a frame needs until the process ends."""
    _lasting.enter_context(lasting.pop_all())


def runner_of(file: Path) -> _AppTables:
    """Return the app for the functions of a file: an app of the project that contains it."""
    root = next((each for each in file.parents if (each / PROJECT_FILE).is_file()), None)
    if root is None:
        sentence = f"{file.name} is not in a project"
        hint = "decorate its functions with an app: app = penstock.conf(root='.')"
        raise PythonModelError("no-app", sentence, hint=hint)
    return _AppTables(App(root))


def _plain_params(params: Params | None) -> dict[str, Any] | None:
    """Return values as YAML would hold them; raise `UsageError` for one that cannot be written."""
    from penstock.project.python.sections import short_repr

    found = {}
    for name, value in (params or {}).items():
        try:
            found[str(name)] = plain_value(value)
        except WrongParameterError as error:
            sentence = f"params: {name} is {short_repr(value)}; it must be {error}"
            raise UsageError("bad-value", sentence, hint="params={'rate': 1.2}") from None
    return found or None


def _check_params(services: Services, params: Params) -> None:
    """Raise `UsageError` for a name that no function has as a parameter."""
    from penstock.project.files.values import did_you_mean

    functions = [each.function for each in services.project.models.values() if each.function]
    known = {name for each in functions for name in each.values}
    for name in params.keys() - known:
        sentence = f"params: no function has a parameter {name!r} with penstock.param(…)"
        raise UsageError("bad-value", sentence, hint=did_you_mean(name, known))


def _texts(select: str | Sequence[str]) -> tuple[str, ...]:
    return (select,) if isinstance(select, str) else tuple(select)


def _with_ancestors(models: Models | Sequence[Models]) -> tuple[str, ...]:
    """Return a selector of models and everything that they read."""
    return (" ".join(f"+{name}" for name in _model_names(models)),)


def _model_names(models: Models | Sequence[Models] | None) -> list[str]:
    items = [models] if isinstance(models, str | PythonModel) else [*(models or ())]
    return [each if isinstance(each, str) else each.name for each in items]


def raise_first(report: RunReport) -> None:
    """Raise the error of the first failed step, with the others as notes: a script must stop.

    After an interrupted run, raise only the interrupt.
    """
    from penstock.app.run_report import raise_interrupted

    raise_interrupted(report)
    failed = {id(each.error): each for each in report.results if each.error is not None}
    found = [(each.name, each.error) for each in failed.values() if each.error is not None]
    if not found:
        return
    (_, first), *others = found
    for name, error in others:
        first.add_note(f"{name} failed too: {error.code}: {error.sentence}")
    first.report = report
    raise first
