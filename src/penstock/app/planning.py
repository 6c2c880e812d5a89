"""The use case `plan`: what a run would do, and why. Nothing is written, no JVM starts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.observe import View, observe
from penstock.app.run_context import Context
from penstock.app.selecting import selected_models
from penstock.app.shop import Shop
from penstock.core.records import ModelRecord
from penstock.plan.planner import check_adopt, plan
from penstock.plan.values import Options, Plan, Step


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from, so that a run executes exactly it.

    `names` are the selected models in topological order.
    """

    plan: Plan
    names: tuple[str, ...]
    view: View
    records: Mapping[str, ModelRecord]
    notes: tuple[str, ...] = ()


def make_plan(
    shop: Shop,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    options: Options,
    as_of: dt.datetime | None = None,
) -> Planned:
    """Select, look at tables and inputs, decide."""
    moment = as_of or shop.clock.now()
    records = dict(shop.reading.records.models())
    names = selected_models(shop, select, exclude, moment)
    check_adopt(names, options)
    view = observe(shop, names, records, moment)
    made = plan(shop.project, names, records, view.now, options)
    return Planned(made, names, view, records, (*_warnings(shop), *made.notes))


def replan(shop: Shop, context: Context, name: str, options: Options) -> Step | None:
    """Decide about one model anew, from the store and the log of this moment.

    None means that another run has brought it up to date.
    """
    context.records.update(shop.reading.records.models())
    seen = observe(shop, [name], context.records, context.run_timestamp)
    context.view.now.targets.update(seen.now.targets)  # type: ignore[attr-defined]
    made = plan(shop.project, [name], context.records, context.view.now, options)
    if made.blocked:
        raise made.blocked[0].error
    return made.steps[0] if made.steps else None


def _warnings(shop: Shop) -> tuple[str, ...]:
    return tuple(finding.render() for finding in shop.project.findings)
