"""The use case `unlock`: taking a lease away from a run that will not give it back."""

from __future__ import annotations

from penstock.app.shop import Shop
from penstock.core.records import Lease


def lease_of(shop: Shop, target: str) -> Lease | None:
    """Give the lease of a target, named by its table or its model; None if nobody holds it."""
    if not shop.has_state():
        return None
    named = {name.lower(): str(model.table) for name, model in shop.project.models.items()}
    named |= {name.lower(): str(seed.table) for name, seed in shop.project.seeds.items()}
    wanted = {target.lower(), named.get(target.lower(), "").lower()}
    leases = shop.reading.journal.leases()
    return next((lease for lease in leases if lease.target.lower() in wanted), None)


def unlock(shop: Shop, lease: Lease) -> bool:
    """Drop the lease; False if it is gone already."""
    return shop.writing.journal.unlock(lease.target)
