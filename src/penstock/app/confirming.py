"""What a person is asked before rows that are there are overwritten (spec/drift.md §9.1)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from penstock.app.drift_reports import Overwrite
from penstock.app.one_state import in_one_state
from penstock.app.planning import Planned
from penstock.app.shop import Shop
from penstock.app.status import keys_of
from penstock.core.ranges import Ranges, count, difference, intersection, merged
from penstock.plan.agenda import migration_of
from penstock.plan.judge import Verdict
from penstock.plan.table_steps import keeps_rows
from penstock.plan.values import State, Step


@in_one_state
def overwrites(shop: Shop, planned: Planned) -> tuple[Overwrite, ...]:
    """Give a warning per model whose rows the plan would overwrite, in its order.

    Partitions that never succeeded, or whose rows are gone, are nothing to lose.
    """
    by_model: dict[str, list[Step]] = {}
    for step in planned.plan.steps:
        by_model.setdefault(step.model, []).append(step)
    found = [_overwrite(shop, planned, name, steps) for name, steps in by_model.items()]
    return tuple(one for one in found if one is not None)


def _overwrite(shop: Shop, planned: Planned, name: str, steps: list[Step]) -> Overwrite | None:
    looked = planned.looked
    if looked is None:
        return None
    model = looked.project.models[name]
    if model.partition is None:
        return _of_table(planned, name, steps[0])
    verdict = planned.scope.verdicts[name]
    wanted = merged(piece for step in steps for piece in step.partitions)
    lost = difference(intersection(verdict.recorded, wanted), verdict.missing)
    moved = migration_of(model, planned.scope)
    breaking = moved.breaking if moved is not None else ()
    replaced = _replaced(verdict)
    if not lost and not breaking and not replaced and not verdict.relaid:
        return None
    shown = lost or wanted
    foreign = intersection(_in_state(verdict, State.TAMPERED), shown)
    runs = shop.reading.records.runs(name) if lost else ()
    newest = _newest(run.executed_at for run in runs if intersection(lost, ((run.low, run.high),)))
    return Overwrite(
        model=name,
        count=count(shown),
        partitions=keys_of(model.grid, shown),
        last_success=newest,
        foreign=keys_of(model.grid, foreign),
        foreign_count=count(foreign),
        breaking=tuple(breaking),
        full_refresh=bool(verdict.relaid),
    )


def _of_table(planned: Planned, name: str, step: Step) -> Overwrite | None:
    looked = planned.looked
    if looked is None:
        return None
    model, record = looked.project.models[name], looked.records.get(name)
    built = record is not None and record.succeeded_once and step.reason.state is not State.MISSING
    if model.is_view or not built or record is None:
        return None
    tampered = State.TAMPERED in (step.reason.state, *step.reason.also)
    return Overwrite(
        model=name,
        count=1,
        partitions=(("*", "*"),),
        last_success=record.executed_at,
        foreign=(("*", "*"),) if tampered else (),
        foreign_count=int(tampered),
        full_refresh=keeps_rows(model.strategy) and step.initial,
    )


def _replaced(verdict: Verdict) -> bool:
    """Whether somebody's own table stands where the model's was."""
    return any("another table took its place" in piece.because for piece in verdict.pieces)


def _in_state(verdict: Verdict, state: State) -> Ranges:
    return merged(piece.range for piece in verdict.pieces if state in piece.states)


def _newest(moments: Iterable[dt.datetime | None]) -> dt.datetime | None:
    return max((each for each in moments if each is not None), default=None)
