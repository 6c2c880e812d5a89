"""The use case `plan`: what a run would do, and why. Nothing is written, no JVM starts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.observe import View, observe
from penstock.app.request import RunRequest
from penstock.app.run_context import Context
from penstock.app.selecting import divided
from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.records import ModelRecord
from penstock.plan.drift import drift
from penstock.plan.history import check_prune
from penstock.plan.planner import check_adopt, plan
from penstock.plan.values import Options, Plan, State, Step

_AHEAD = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from, so that a run executes exactly it.

    `names` are the selected models in topological order, without those of `not_run`, which
    another command builds.
    """

    plan: Plan
    names: tuple[str, ...]
    view: View
    records: Mapping[str, ModelRecord]
    notes: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()


def make_plan(shop: Shop, request: RunRequest) -> Planned:
    """Select, look at tables and inputs, decide."""
    moment = _moment(shop, request.as_of)
    records = dict(shop.reading.records.models())
    names, not_run, note = divided(shop, request, moment)
    check_adopt(names, request.options)
    check_prune([shop.project.models[name] for name in names], request.options)
    view = observe(shop, names, records, moment)
    made = plan(shop.project, names, records, view.now, request.options)
    notes = (*_warnings(shop), *made.notes, *((note,) if note else ()))
    return Planned(made, names, view, records, notes, not_run)


def _moment(shop: Shop, as_of: dt.datetime | None) -> dt.datetime:
    now = shop.clock.now()
    if as_of is not None and as_of > now + _AHEAD:
        raise UsageError(
            "as-of-in-future",
            f"--as-of {as_of.isoformat()} lies after now ({now.isoformat(timespec='seconds')})",
            hint="give a time that has passed",
        )
    return as_of or now


def replan(shop: Shop, context: Context, name: str, options: Options) -> Step | None:
    """Decide about one model anew, from the store, the log and the sources of this moment.

    None means that another run has brought it up to date. Sources are looked at again because
    that run may have read newer versions than this one planned with.
    """
    context.records.update(shop.reading.records.models())
    context.view.renew(observe(shop, [name], context.records, context.run_timestamp))
    made = plan(shop.project, [name], context.records, context.view.now, options)
    if made.blocked:
        raise made.blocked[0].error
    return made.steps[0] if made.steps else None


def still_needed(shop: Shop, context: Context, step: Step, options: Options) -> Step | None:
    """Decide about a pending step once its upstreams have ended; give other steps as they are.

    None means that no upstream made a change. What is left may be a change of its properties.
    """
    model = shop.project.models[step.model]
    now = context.view.now
    if not step.reason.pending:
        return step
    if drift(shop.project, model, context.records, now).state is not State.CURRENT:
        return step
    made = plan(shop.project, [step.model], context.records, now, options)
    return made.steps[0] if made.steps else None


def _warnings(shop: Shop) -> tuple[str, ...]:
    return tuple(finding.render() for finding in shop.project.findings)
