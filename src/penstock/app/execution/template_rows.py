"""Rows that templates read: a step reads them at its pins; with other rows it is planned again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.app.execution.step_state import StepRun, StepState
from penstock.app.preparing.pins import Inputs
from penstock.core.errors import DataError, PenstockError
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.query import TemplateQuery, TemplateRows
from penstock.strategies.relations import bind_query, query_tables

_MOST = 10_000
"""Rows that a template may read."""
_TIMES = 10
"""How often one run plans a model again."""


class RowsChanged(Exception):  # noqa: N818  no failure: the model is planned again with these rows
    """The template of a step reads other rows than those that are in its text.

    They are kept in the state; nothing else has happened.
    """


@dataclass(slots=True)
class PutOff:
    """What another plan of the same run builds: models whose templates read other rows, and below.

    `times` counts how often each model was put off.
    """

    models: set[str] = field(default_factory=set)
    times: Counter[str] = field(default_factory=Counter)

    def holds(self, model: str, above: Collection[str]) -> bool:
        """Return whether a model, or one that it reads, is put off; then it is too."""
        if self.models.isdisjoint((model, *above)):
            return False
        self.models.add(model)
        return True

    def put(self, model: str) -> DataError | None:
        """Put off a model, unless that happened too often: then return the error."""
        self.times[model] += 1
        if self.times[model] > _TIMES:
            sentence = f"the template of {model} asks for more rows with each answer"
            hint = f"let it read what it needs with fewer than {_TIMES} queries after each other"
            return DataError("template-reads-too-often", sentence, hint=hint)
        self.models.add(model)
        return None

    def take(self) -> list[str]:
        """Return the models in the order of their names, and forget them."""
        models, self.models = sorted(self.models), set()
        return models


def read_rows(state: StepState, readers: Iterable[Model]) -> None:
    """Read the rows that templates read; raise `RowsChanged` if they are others.

    The `readers` are the model of the step, and the views that are part of its text.
    """
    run, found = state.run, dict[str, TemplateRows]()
    known = run.services.project.template_rows
    with run.committer.rejecting(state.intent):
        for each in readers:
            file = each.where.path
            found |= {q.key: _rows_at(run, q, state.inputs, file) for q in each.query.reads}
    changed: Mapping[str, TemplateRows] = {
        key: rows for key, rows in found.items() if known.get(key) != rows
    }
    if changed:
        run.services.writing.notes.keep_rows(changed)
        run.committer.fault("after-rows")
        raise RowsChanged
    if run.model.query.waits:  # though all rows are known
        with run.committer.rejecting(state.intent):
            raise _broken(run)


def _broken(run: StepRun) -> DataError:
    """Return the error of a template whose rows make no query."""
    model = run.model
    refused = run.services.project.refused_rows.get(model.where.path)
    if refused is not None:
        return DataError(refused.code, refused.sentence, where=refused.where, hint=refused.hint)
    sentence = f"the template of {model.name} asks for a column that its table lacks"
    hint = "build the table first, or correct its columns in YAML"
    return DataError("template-rows-unknown", sentence, where=model.where, hint=hint)


def _rows_at(run: StepRun, query: TemplateQuery, inputs: Inputs, file: str) -> TemplateRows:
    """Return the rows of a query at the versions that a step has pinned."""
    services, moment = run.services, run.context.run_timestamp
    below = {each.name for each in query_tables(services.project, query.inputs)}
    pinned = frozenset(each for each in inputs.pins if each.input in below)
    earlier = run.context.template_rows.get((query.key, pinned))
    if earlier is not None:
        return earlier
    where = Location(file, query.line)
    bound = bind_query(services.project, query.query, inputs.reads, moment)
    try:
        found = services.engine.query(bound.relations, bound.sql, _MOST)
    except PenstockError as error:
        error.where = error.where or where
        raise
    if found.truncated:
        sentence = f"the template reads more than {_MOST:,} rows"
        hint = "aggregate them in its query, or write it as a join of the model"
        raise DataError("template-reads-too-much", sentence, where=where, hint=hint)
    rows = found.rows if query.is_ordered else tuple(sorted(found.rows, key=_order_of))
    columns = tuple(zip(found.columns, found.types, strict=True))
    read = run.context.template_rows[query.key, pinned] = TemplateRows(columns, rows)
    return read


def _order_of(row: tuple[str | None, ...]) -> tuple[tuple[bool, str], ...]:
    """Return the key of a row of a query without an order, on which no text may depend."""
    return tuple((value is not None, value or "") for value in row)
