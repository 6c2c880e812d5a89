"""Bind a model's query to the inputs of its step: inline views, apply windows to inputs."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.core.errors import TableError
from penstock.core.model import Model
from penstock.core.names import InputName, quoted
from penstock.core.ports.engine import FrameReaders
from penstock.core.project import Project
from penstock.core.query import Query, at, bound, live, mentioned
from penstock.core.steps.inputs import (
    DeltaRead,
    FunctionRead,
    FunctionWindows,
    QueryRead,
    Read,
    Relation,
)
from penstock.core.steps.window import Window

OWN_VIEW = "penstock_function"


def require_text(model: Model) -> None:
    """Raise `template-rows-unknown` for a model whose text waits for rows."""
    if model.query.waits:
        raise rows_unknown(model)


def rows_unknown(model: Model) -> TableError:
    """Return the error for a model whose text needs rows that only a run reads."""
    sentence = f"the template of {model.name} reads rows that no run has read yet"
    hint = f"penstock run --select {model.name}"
    return TableError("template-rows-unknown", sentence, where=model.where, hint=hint)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose tables are views of the step's session; relations come in reading order."""

    relations: tuple[Relation, ...]
    sql: str


@dataclass(slots=True)
class _Binder:
    project: Project
    reads: Mapping[InputName, Read]
    moment: dt.datetime
    relations: list[Relation] = field(default_factory=list)
    views: dict[InputName, str] = field(default_factory=dict)
    prefix: str = "in"
    step_windows: FunctionWindows | None = None

    def view_of(self, name: InputName) -> str:
        """Bind an input after everything that it reads; works for long chains of views."""
        waiting = [name]
        while waiting:
            now = waiting[-1]
            missing = [each for each in self._read_by_view(now) if each not in self.views]
            if now not in self.views and missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if now not in self.views:
                self._bind(now)
        return self.views[name]

    def _read_by_view(self, name: InputName) -> tuple[InputName, ...]:
        """Return the unbound inputs of a view model."""
        is_bound = name in self.views or name in self.reads
        return () if is_bound else self.project.models[name.name].query.inputs

    def _bind(self, name: InputName) -> None:
        read = self.reads.get(name)
        if read is None:  # a view model: its query, or its function, stands for it
            inner = self.project.models[name.name]
            require_text(inner)
            names = {each: self.views[each] for each in inner.query.inputs}
            read = self.call(inner, names) or QueryRead(self.expand(inner.query.text, names))
        # a view's name takes letters, digits and underscores; a source may be called by its path
        view = re.sub(r"\W", "_", f"{self.prefix}_{len(self.views)}_{name.name.rpartition('.')[2]}")
        self.views[name] = view
        self.relations.append(Relation(name, view, read))

    def call(self, model: Model, views: Mapping[InputName, str]) -> FunctionRead | None:
        """Return the call of a model's function; None for a model with a query."""
        function = model.function
        if function is None:
            return None
        given = {name: views[each] for name, each in function.parameters.items()}
        below = input_tables(self.project, model)
        pinned = tuple(self.reads[each] for each in below if each in self.reads)
        return FunctionRead(model.name, model.where, function, given, pinned, self.step_windows)

    def expand(self, text: str, names: Mapping[InputName, str]) -> str:
        """Return a text over views; histories without their tombstones if it asks for that."""
        marked = {
            name: live(read.tombstones)
            for name, read in self.reads.items()
            if isinstance(read, DeltaRead) and read.tombstones
        }
        return bound(at(text, self.moment), names, marked)

    def windowed_sql(self, name: InputName, window: Window | None) -> str:
        whole = self.view_of(name)
        if window is None:
            return whole
        read = QueryRead(f"SELECT * FROM {quoted(whole)}")  # our own view name
        self.relations.append(Relation(name, f"{whole}_window", read, window))
        return f"{whole}_window"


@dataclass(frozen=True, slots=True)
class StepReads:
    """How a step reads every input that is not a view model, and its run timestamp.

    `windows` are those for its functions; the names of its views begin with `prefix`.
    """

    by_name: Mapping[InputName, Read]
    moment: dt.datetime
    windows: FunctionWindows | None = None
    prefix: str = "in"


def bind(
    project: Project,
    model: Model,
    reads: StepReads,
    windows: Mapping[str, Window],
    *,
    incremental: bool,
) -> BoundQuery:
    """Return the relations and the SQL of one step.

    `windows` maps direct inputs to their windows: inside a view they are read whole. Only inputs
    that the text mentions are bound: the table itself, for example, may not exist in a first run.
    """
    require_text(model)
    binder = _Binder(
        project, reads.by_name, reads.moment, prefix=reads.prefix, step_windows=reads.windows
    )
    text = model.query.incremental if incremental else model.query.text
    read = _read_by(model, incremental=incremental)
    names = {name: binder.windowed_sql(name, windows.get(name.name)) for name in read}
    call = binder.call(model, names)
    if call is None:
        return BoundQuery(tuple(binder.relations), binder.expand(text, names))
    own = Relation(model.input_name, OWN_VIEW, call)
    return BoundQuery((*binder.relations, own), f"SELECT * FROM {quoted(OWN_VIEW)}")


def bind_inputs(
    project: Project, model: Model, reads: StepReads, *, incremental: bool
) -> BoundQuery:
    """Return the relations of a step's inputs, without windows and without the query itself."""
    binder = _Binder(project, reads.by_name, reads.moment, step_windows=reads.windows)
    for name in _read_by(model, incremental=incremental):
        binder.view_of(name)
    return BoundQuery(tuple(binder.relations), "")


def _read_by(model: Model, *, incremental: bool) -> Iterable[InputName]:
    """Return the inputs of a step: those that the SQL mentions, or that the function takes."""
    if model.function is not None:
        return model.query.inputs
    return mentioned(model.query.incremental if incremental else model.query.text)


def frame_readers(project: Project, models: Iterable[str]) -> dict[str, FrameReaders]:
    """Return the models that read each frame when these models are built.

    A frame that two or more of them have as a parameter is kept, unless its function declares
    otherwise.
    """
    readers: dict[str, set[str]] = {}
    direct: Counter[str] = Counter()
    for name in models:
        inputs = project.models[name].query.inputs
        direct.update(each.name for each in inputs)
        for leaf in query_tables(project, inputs):
            inner = project.models.get(leaf.name)
            if inner is not None and inner.function is not None and inner.is_view:
                readers.setdefault(inner.name, set()).add(name)
    found = {}
    for name, models_of in readers.items():
        function = project.models[name].function
        persist = function.persist if function else None
        keeps = direct[name] > 1 if persist is None else persist
        found[name] = FrameReaders(frozenset(models_of), keeps)
    return found


def bind_query(
    project: Project, query: Query, reads: Mapping[InputName, Read], moment: dt.datetime
) -> BoundQuery:
    """Return the relations and the SQL of a query that belongs to no model."""
    binder = _Binder(project, reads, moment)
    names = {name: binder.view_of(name) for name in query.inputs}
    return BoundQuery(tuple(binder.relations), binder.expand(query.text, names))


def bind_tables(
    project: Project,
    names: tuple[InputName, ...],
    reads: Mapping[InputName, Read],
    moment: dt.datetime,
    prefix: str,
) -> tuple[tuple[Relation, ...], dict[InputName, str]]:
    """Return relations, and views with the prefix, for the tables that can be read."""
    binder = _Binder(project, reads, moment, prefix=prefix)
    views = {name: binder.view_of(name) for name in names if _is_readable(project, name, reads)}
    return tuple(binder.relations), views


def _is_readable(project: Project, name: InputName, reads: Mapping[InputName, Read]) -> bool:
    waiting, seen = [name], set(reads)
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        view = _view_model(project, each)
        if view is None:
            return False
        waiting.extend(view.query.inputs)
    return True


def _view_model(project: Project, name: InputName) -> Model | None:
    inner = project.models.get(name.name)
    return inner if inner and inner.is_view and name == inner.input_name else None


def input_tables(project: Project, model: Model) -> tuple[InputName, ...]:
    """Return every input that a step of the model reads, as `query_tables` does."""
    return query_tables(project, model.query.inputs)


def query_tables(project: Project, inputs: tuple[InputName, ...]) -> tuple[InputName, ...]:
    """Return every input of a query, and of its views.

    Views are listed too, before their own inputs: rebuilding one is a change for its readers.
    """
    found: dict[InputName, None] = {}
    left = [*reversed(inputs)]
    while left:
        if (name := left.pop()) in found:
            continue
        found[name] = None
        if inner := _view_model(project, name):
            left.extend(reversed(inner.query.inputs))
    return tuple(found)
