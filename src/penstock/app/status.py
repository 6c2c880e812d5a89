"""The use case `status`: which tables and partitions are no longer what code and inputs make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.app.checking.lines import Lines, check_lines, with_lines
from penstock.app.drift_reports import Keys, ModelStatus, StateCount, StatusReport
from penstock.app.judged import Judged, judged_all
from penstock.app.looking import Looked, look
from penstock.app.narrow import narrowed
from penstock.app.one_state import in_one_state
from penstock.app.request import Range, StatusRequest
from penstock.app.seed_changes import seeds_to_load
from penstock.app.selecting import selected_models
from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.graph import ordered, reach
from penstock.core.model import Model
from penstock.core.partition import Grid, write_grid
from penstock.core.ranges import Range as Numbers
from penstock.core.ranges import Ranges, count, intersection, merged
from penstock.core.records import ModelRecord
from penstock.plan.cascade import WHOLE, parents_of
from penstock.plan.judge import Piece, Verdict, told_gap
from penstock.plan.values import State
from penstock.project.nearest import did_you_mean

_SHOWN_STATES = tuple(state for state in State if state is not State.CURRENT)


@in_one_state
def status(shop: Shop, request: StatusRequest) -> StatusReport:
    """Compare records, code, inputs and facts; start no JVM and write nothing.

    With `states` only partitions in one of them are reported.
    """
    wanted = states_named(request.states)
    moment = request.run_timestamp or shop.clock.now()
    names = selected_models(shop, request.select, request.exclude, moment)
    looked = look(shop, _involved(shop, names), moment)
    judged = judged_all(looked)
    lines = _lines(shop, looked, names)
    return StatusReport(
        moment,
        tuple(
            with_lines(_told(judged, name, wanted, request.range), lines)
            for name in ordered(
                {n: parents_of(looked.project, looked.project.models[n]) for n in names}
            )
        ),
    )


def _lines(shop: Shop, looked: Looked, names: tuple[str, ...]) -> Lines:
    """Give what is to be said of models beside their states: of checks, of seeds that they read."""
    found = dict(check_lines(shop, looked.project))
    seeds = seeds_to_load(shop, looked.project, names, looked.records, looked.moment)
    for name, lines in seeds.items():
        found[name] = (*found.get(name, ()), *lines)
    return found


def states_named(texts: Sequence[str]) -> frozenset[State]:
    """Read the states that `--state` names; raises `bad-value` with the nearest one."""
    known = {str(state) for state in State}
    found = set()
    for text in (part.strip() for each in texts for part in each.split(",")):
        if text not in known:
            raise UsageError(
                "bad-value",
                f"--state: {text!r} is no state",
                hint=did_you_mean(text, known) or f"states: {', '.join(_SHOWN_STATES)}",
            )
        found.add(State(text))
    return frozenset(found)


def _involved(shop: Shop, names: tuple[str, ...]) -> set[str]:
    """Give the models and all above them, because a drifted ancestor makes them pending."""
    models = shop.project.models
    parents = {name: parents_of(shop.project, model) for name, model in models.items()}
    return {name for name in reach(names, parents) if name in models}


def _told(judged: Judged, name: str, wanted: frozenset[State], given: Range) -> ModelStatus:
    model = judged.looked.project.models[name]
    within = WHOLE
    if model.partition is not None:
        within = narrowed(model, given, judged.looked.moment, judged.verdicts[name].known)
    return told_status(judged, name, within, wanted)


def told_status(
    judged: Judged, name: str, within: Ranges, wanted: frozenset[State] = frozenset()
) -> ModelStatus:
    """Tell of one model, of the partitions `within`; with `wanted` only of these states."""
    model = judged.looked.project.models[name]
    record = judged.looked.records.get(name)
    if model.partition is None:
        return _told_table(judged, model, record, wanted)
    verdict = judged.verdicts[name]
    states = [] if verdict.whole is None else [_whole_state(verdict.whole)]
    states += _of_pieces(model, verdict, within, wanted) if verdict.whole is None else []
    pending = intersection(judged.pending.get(name, ()), within)
    if pending and not (wanted and State.UPSTREAM_CHANGED not in wanted):
        states.append(_pending(judged, model, verdict, pending))
    cosmetic = verdict.cosmetic
    return ModelStatus(
        model=name,
        table=model.table,
        strategy=model.strategy_name,
        grain=write_grid(model.grid) if model.grid.interval else str(model.grid.grain),
        partitions=count(intersection(verdict.effective, within)),
        states=tuple(states),
        cosmetic=cosmetic,
        executed_at=record.executed_at if record else None,
        lines=(*verdict.lines, *judged.looked.files_lines(name)),
    )


def _whole_state(state: State) -> StateCount:
    return StateCount(state, 1, (("*", "*"),))


def _of_pieces(
    model: Model, verdict: Verdict, within: Ranges, wanted: frozenset[State]
) -> list[StateCount]:
    """Put together what differs in nothing but the partitions."""
    found: dict[StateCount, list[Numbers]] = {}
    for piece in verdict.pieces:
        here = intersection((piece.range,), within)
        if here and (not wanted or wanted & set(piece.states)):
            found.setdefault(_described(piece), []).extend(here)
    order = list(State)
    told = [_counted(model.grid, each, merged(ranges)) for each, ranges in found.items()]
    return sorted(told, key=lambda each: order.index(each.state))


def _described(piece: Piece) -> StateCount:
    body = piece.segment.body if piece.segment else None
    mark = body.fingerprint if body else None
    effective = piece.state is not State.NOT_EFFECTIVE
    return StateCount(
        state=piece.state,
        count=0,
        ranges=(),
        also=tuple(str(state) for state in piece.states[1:]) + (() if effective else piece.because),
        drifted=effective,
        version=mark.version if mark else None,
        revision=(mark.revision or None) if mark else None,
        because=piece.because if effective else (),
    )


def _counted(grid: Grid, told: StateCount, ranges: Ranges) -> StateCount:
    return replace(told, count=count(ranges), ranges=keys_of(grid, ranges))


def _pending(judged: Judged, model: Model, verdict: Verdict, pending: Ranges) -> StateCount:
    after = judged.stale_above(model)
    inside = [s for s in verdict.segments if intersection((s.range,), pending)]
    mark = inside[-1].body.fingerprint if inside else None
    return StateCount(
        State.UPSTREAM_CHANGED,
        count(pending),
        keys_of(model.grid, pending),
        pending=True,
        drifted=False,
        version=mark.version if mark else None,
        revision=(mark.revision or None) if mark else None,
        because=after,
    )


def keys_of(grid: Grid, ranges: Ranges) -> Keys:
    """Give partitions as first and last keys of ranges."""
    return tuple((grid.key(low), grid.key(high)) for low, high in ranges)


def _told_table(
    judged: Judged, model: Model, record: ModelRecord | None, wanted: frozenset[State]
) -> ModelStatus:
    state = _state_of_table(judged, model)
    if state is not None and wanted and not wanted & {state.state, *map(State, state.also)}:
        state = None
    old, mark = record.fingerprint if record else None, model.fingerprint
    cosmetic = old is not None and old.sql != mark.sql and old.canonical == mark.canonical
    return ModelStatus(
        model=model.name,
        table=model.table,
        strategy=model.strategy_name,
        grain="*",
        partitions=1,
        states=(state,) if state else (),
        cosmetic=int(cosmetic),
        executed_at=record.executed_at if record else None,
        lines=_gap_lines(judged, model),
    )


def _gap_lines(judged: Judged, model: Model) -> tuple[str, ...]:
    gap = judged.looked.gap(model.name)
    return (told_gap(model, gap),) if gap is not None else ()


def _state_of_table(judged: Judged, model: Model) -> StateCount | None:
    """Give the state of a model of one partition; None if it is current."""
    reason, mark = judged.reasons[model.name], model.fingerprint
    if reason.state is not State.CURRENT:
        return StateCount(
            reason.state,
            1,
            (("*", "*"),),
            tuple(str(state) for state in reason.also),
            drifted=reason.drift and reason.state is not State.NOT_EFFECTIVE,
            version=mark.version,
            revision=mark.revision or None,
            because=(reason.detail,) if reason.detail else (),
        )
    if model.name not in judged.pending:
        return None
    return StateCount(
        State.UPSTREAM_CHANGED,
        1,
        (("*", "*"),),
        pending=True,
        drifted=False,
        version=mark.version,
        because=judged.stale_above(model),
    )
