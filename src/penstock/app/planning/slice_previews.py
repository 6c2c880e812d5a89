"""What the steps of an entity will read and run, as far as it is known without a slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.app.kinds.slices import BRONZE, low_bounds
from penstock.app.planning.make_plan import Planned
from penstock.app.request import AnyRun, AnySync
from penstock.app.services.services import Services
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import Entity, ProcessType
from penstock.core.errors import PenstockError
from penstock.core.names import quoted
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.plan.values import Step
from penstock.strategies.entities.rows import MADE_VIEW, SLICE_VIEW, SliceRead
from penstock.strategies.entities.steps import prepare_rows, system_names
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.strategies.entities.watermarks import read_filter
from penstock.strategies.entities.work import query_of


@dataclass(frozen=True, slots=True)
class SlicePreview:
    """The low bounds of watermark columns, and the SQL of the twelve steps; "" if unknown.

    Only the first slice has any: the bounds of later slices depend on earlier ones.
    """

    windows: tuple[InputWindow, ...] = ()
    sql: str = ""


def slice_previews(
    services: Services, planned: Planned, request: AnyRun | AnySync
) -> Iterator[tuple[str, SlicePreview]]:
    """Return the preview of the first step of every entity of a plan, by step key."""
    firsts: dict[str, Step] = {}
    for step in planned.plan.steps:
        firsts.setdefault(step.model, step)
    for step in firsts.values():
        entity = services.project.models[step.model].entity
        if entity is None or step.only_alters:
            continue
        process = strategy_of_entity(entity, request.options.strategy).process()
        try:
            found = _preview(services, planned, step, replace(entity, process=process))
        except PenstockError:  # of columns that only the slice can tell
            found = SlicePreview()
        yield step.key, found


def _preview(services: Services, planned: Planned, step: Step, entity: Entity) -> SlicePreview:
    record = None if step.initial else planned.project_state.records.get(step.model)
    work, moment = step.work, step.work.moment or planned.plan.run_timestamp
    lows = low_bounds(entity, record, moment)
    facts = None if step.initial else services.log.facts(services.project.uri_of(entity.table))
    filters = not work.source and entity.process is not ProcessType.FULL
    read = SliceRead(
        name=work.source or str(entity.bronze),
        moment=moment,
        describe=_SliceColumns(entity, facts.schema if facts else Schema()).described,
        where=read_filter(entity.watermark, lows) if filters else "",
    )
    rows = prepare_rows(entity, read, facts.schema if facts else None)
    sql = f"WITH {quoted(MADE_VIEW)} AS (\n{rows.made_sql}\n)\n{query_of(entity, rows)}"
    return SlicePreview(tuple(_windows(entity, lows)), sql)


def _windows(entity: Entity, lows: dict[int, TypedValue]) -> Iterator[InputWindow]:
    for place, low in lows.items():
        bound = Bound(low, inclusive=True)
        yield InputWindow(BRONZE, Window(entity.watermark[place].column, bound))


@dataclass(frozen=True, slots=True)
class _SliceColumns:
    """The columns of a slice that its entity and its table name; a slice may have more."""

    entity: Entity
    table: Schema

    def described(self, sql: str) -> Schema:
        """Return the columns of a query over the slice, derived from its text."""
        types = self._types()
        names = tuple(types)
        if sql != f"SELECT * FROM {quoted(SLICE_VIEW)}":
            from penstock.project.entities.expressions import columns_over  # starts a parser

            names = columns_over(sql, SLICE_VIEW, names)
        folded = {name.lower(): kind for name, kind in types.items()}
        return Schema(tuple(Column(name, folded.get(name.lower(), "string")) for name in names))

    def _types(self) -> dict[str, str]:
        """Return the type of each column; a column with a datatype is text until it is cast."""
        entity, system = self.entity, {name.lower() for name in system_names(self.entity)}
        declared = {each.final_name.lower(): each for each in entity.columns}
        found = {each.name: "string" for each in entity.columns if not each.is_calculated}
        for column in self.table.columns:
            each = declared.get(column.name.lower())
            if column.name.lower() in system or (each is not None and each.is_calculated):
                continue
            found[each.name if each else column.name] = column.type
        for each in entity.columns:
            if each.type and each.name in found:
                found[each.name] = "string"
        for entry in entity.watermark:
            if entry.column.lower() not in declared:
                found.setdefault(entry.column, "string")
        return found
