"""The use case `unlock`: taking a lease away from a run that will not give it back."""

from __future__ import annotations

from penstock.app.execution.recover import recover
from penstock.app.services.services import Services
from penstock.core.errors import UsageError
from penstock.core.records import Lease
from penstock.project.files.values import did_you_mean


def lease_of(services: Services, target: str) -> Lease | None:
    """Give the lease of a target, named by its table or its model; None if nobody holds it.

    Raises `unknown-table` for what is neither a model, nor a seed, nor a table that was leased.
    """
    project = services.project
    named = {name.lower(): str(model.table) for name, model in project.models.items()}
    named |= {name.lower(): str(seed.table) for name, seed in project.seeds.items()}
    leases = services.reading.leases.taken() if services.has_state() else ()
    tables = {table.lower() for table in named.values()} | {each.target.lower() for each in leases}
    if target.lower() not in named and target.lower() not in tables:
        hint = did_you_mean(target, (*named, *tables)) or "penstock list shows the models"
        raise UsageError("unknown-table", f"no target is called {target!r}", hint=hint)
    wanted = {target.lower(), named.get(target.lower(), "").lower()}
    return next((lease for lease in leases if lease.target.lower() in wanted), None)


def unlock(services: Services, lease: Lease) -> tuple[str, ...]:
    """Drop the lease and settle the step that was written under it; say what became of it.

    Its run, should it live after all, finds its step fenced: what it writes no longer counts.
    """
    services.writing.leases.unlock(lease.target)
    return recover(services).sentences
