"""The use case `status`: which tables are no longer what code and inputs would make."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.observe import observe
from penstock.app.reports import Reason, State
from penstock.app.selecting import selected_models
from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.graph import ordered, reach
from penstock.core.names import TableName
from penstock.core.records import ModelRecord
from penstock.plan.drift import drift
from penstock.plan.planner import upstream_models
from penstock.project.nearest import did_you_mean

_SHOWN_STATES = tuple(state for state in State if state is not State.CURRENT)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of one model. `pending` means that only its upstreams' next run will tell.

    `drifted` is false for new input of a windowed model, because its window takes the new rows.
    """

    model: str
    table: TableName
    strategy: str
    state: State
    detail: str = ""
    also: tuple[State, ...] = ()
    drifted: bool = False
    pending: bool = False
    cosmetic: bool = False
    executed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class StatusReport:
    """All models that were looked at, in topological order."""

    run_timestamp: dt.datetime
    models: tuple[ModelStatus, ...] = ()

    @property
    def drifted(self) -> int:
        """How many models drifted by themselves."""
        return sum(1 for model in self.models if model.drifted)

    @property
    def pending(self) -> int:
        """How many models wait for one that drifted."""
        return sum(1 for model in self.models if model.pending)


def status(
    shop: Shop,
    select: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    states: tuple[str, ...] = (),
) -> StatusReport:
    """Compare records, code, inputs and facts; start no JVM and write nothing.

    With `states` only models in one of them are reported.
    """
    wanted = _states(states)
    moment = shop.clock.now()
    names = selected_models(shop, select, exclude, moment)
    chosen = set(names)
    found = [each for each in _all(shop, names, moment) if each.model in chosen]
    return StatusReport(moment, tuple(m for m in found if not wanted or wanted & _of(m)))


def _states(texts: tuple[str, ...]) -> set[State]:
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
    return found


def _of(found: ModelStatus) -> set[State]:
    return {found.state, *found.also}


def _all(shop: Shop, names: tuple[str, ...], moment: dt.datetime) -> list[ModelStatus]:
    """Judge the models and all above them, because a drifted ancestor makes them pending."""
    models = shop.project.models
    parents = {name: upstream_models(model) for name, model in models.items()}
    involved = reach(names, parents)
    records = dict(shop.reading.records.models())
    now = observe(shop, [name for name in models if name in involved], records, moment).now
    found: dict[str, ModelStatus] = {}
    for name in ordered(parents):
        if name not in involved:
            continue
        reason = drift(shop.project, models[name], records, now)
        waits = [
            up
            for up in parents[name]
            if up in found and _will_run(found[up]) and not models[up].is_snapshot
        ]
        if reason.state is State.CURRENT and waits:
            reason = Reason(State.UPSTREAM_CHANGED, f"after {', '.join(waits)}", pending=True)
        found[name] = _judged(shop, name, reason, records)
    return list(found.values())


def _will_run(found: ModelStatus) -> bool:
    return found.state is not State.CURRENT


def _judged(
    shop: Shop, name: str, reason: Reason, records: Mapping[str, ModelRecord]
) -> ModelStatus:
    model, record = shop.project.models[name], records.get(name)
    old = record.fingerprint if record else None
    return ModelStatus(
        model=name,
        table=model.table,
        strategy=model.strategy_name,
        state=reason.state,
        detail=reason.detail,
        also=reason.also,
        drifted=reason.state is not State.CURRENT and reason.drift and not reason.pending,
        pending=reason.pending,
        cosmetic=old is not None
        and old.sql != model.fingerprint.sql
        and old.canonical == model.fingerprint.canonical,
        executed_at=record.executed_at if record else None,
    )
