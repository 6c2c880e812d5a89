"""Selecting models for a command, with what `state:` and `result:` need to know."""

from __future__ import annotations

import datetime as dt

from penstock.app.observe import observe
from penstock.app.shop import Shop
from penstock.plan.drift import drift
from penstock.plan.values import State
from penstock.project.select import Known, select


def selected_models(
    shop: Shop, include: tuple[str, ...], exclude: tuple[str, ...], moment: dt.datetime
) -> tuple[str, ...]:
    """Give the selected models in topological order; raise `SelectorError` for none.

    Drift and results are read only when a selector asks for them.
    """
    asked = " ".join((*include, *exclude))
    states = _states(shop, moment) if "state:" in asked else {}
    results = shop.reading.records.last_results() if "result:" in asked else {}
    known = Known(states, {name: str(status).lower() for name, status in results.items()})
    return select(shop.project, include, exclude, known)


def _states(shop: Shop, moment: dt.datetime) -> dict[str, frozenset[str]]:
    records = dict(shop.reading.records.models())
    now = observe(shop, shop.project.models, records, moment).now
    found = {}
    for name, model in shop.project.models.items():
        reason = drift(shop.project, model, records, now)
        states = {str(reason.state), *map(str, reason.also)}
        if reason.state is not State.CURRENT and reason.drift:
            states.add("drifted")
        found[name] = frozenset(states)
    return found
