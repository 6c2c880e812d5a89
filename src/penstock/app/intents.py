"""What a step intends, before anything was looked at."""

from __future__ import annotations

from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.model import Model
from penstock.core.step import Intent, StepKind
from penstock.plan.values import Step


def intent_of(shop: Shop, context: Context, step: Step, model: Model) -> Intent:
    """Give what a step intends before anything was looked at."""
    return Intent(
        step=shop.clock.new_id(),
        run=context.run,
        model=model.name,
        table=model.table,
        uri="" if model.is_view else shop.project.uri_of(model.table),
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason=str(step.reason),
        triggered_by=step.trigger if step.trigger != "run" else context.triggered_by,
        run_timestamp=context.run_timestamp,
        fingerprint=model.fingerprint,
        writing=model.writing,
    )
