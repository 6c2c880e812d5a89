"""The use case `unlock`: taking a lease away from a run that will not give it back."""

from __future__ import annotations

from penstock.app.recover import recover
from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.records import Lease
from penstock.project.nearest import did_you_mean


def lease_of(shop: Shop, target: str) -> Lease | None:
    """Give the lease of a target, named by its table or its model; None if nobody holds it.

    Raises `unknown-table` for what is neither a model, nor a seed, nor a table that was leased.
    """
    project = shop.project
    named = {name.lower(): str(model.table) for name, model in project.models.items()}
    named |= {name.lower(): str(seed.table) for name, seed in project.seeds.items()}
    leases = shop.reading.leases.taken() if shop.has_state() else ()
    tables = {table.lower() for table in named.values()} | {each.target.lower() for each in leases}
    if target.lower() not in named and target.lower() not in tables:
        hint = did_you_mean(target, (*named, *tables)) or "penstock list shows the models"
        raise UsageError("unknown-table", f"no target is called {target!r}", hint=hint)
    wanted = {target.lower(), named.get(target.lower(), "").lower()}
    return next((lease for lease in leases if lease.target.lower() in wanted), None)


def unlock(shop: Shop, lease: Lease) -> tuple[str, ...]:
    """Drop the lease and settle the step that was written under it; say what became of it.

    Its run, should it live after all, finds its step fenced: what it writes no longer counts.
    """
    shop.writing.leases.unlock(lease.target)
    return recover(shop).sentences
