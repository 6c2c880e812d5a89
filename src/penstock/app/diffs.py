"""The SQL that built a table beside the SQL that would build it now."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.shop import Shop
from penstock.core.records import ModelRecord
from penstock.plan.values import Step


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Two texts of one model; `cosmetic` says that they mean the same."""

    model: str
    executed: str
    resolved: str
    cosmetic: bool = False


def executed_sql(shop: Shop, step: Step, record: ModelRecord | None) -> SqlChange | None:
    """Give both texts of a step; None where the SQL is as it was, or the old text was not kept."""
    if not step.executed:
        return None
    executed = shop.reading.records.text(step.executed)
    if executed is None:
        return None
    model = shop.project.models[step.model]
    old = record.fingerprint if record else None
    cosmetic = old is not None and old.canonical == model.fingerprint.canonical
    return SqlChange(step.model, executed, shop.project.shown_sql(model), cosmetic)
