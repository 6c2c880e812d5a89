"""Which run may write a target now, and seeing to it that a step never does again."""

from __future__ import annotations

from penstock.app.shop import Shop
from penstock.core.names import TableName
from penstock.core.records import Lease, StepRecord
from penstock.core.step import Intent


def holder_of(shop: Shop, table: TableName, run: str) -> Lease | None:
    """Give the lease under which another run may still write a table."""
    for lease in shop.writing.leases.taken():
        if lease.target == str(table) and lease.run != run and _may_write(shop, lease):
            return lease
    return None


def lives(shop: Shop, lease: Lease, record: StepRecord) -> bool:
    """Whether the run that began the step may still finish it."""
    if lease.run != record.intent.run or lease.token != record.lease_token:
        return False
    return _may_write(shop, lease)


def _may_write(shop: Shop, lease: Lease) -> bool:
    """Whether a lease still counts: it has not lapsed, and its process is not known to be gone."""
    return lease.expires > shop.clock.now() and not shop.is_gone(lease)


def fence(shop: Shop, intent: Intent) -> None:
    """See to it that no statement of the step commits any more."""
    if intent.uri and intent.epoch:
        token = shop.fence_token(intent)
        shop.fences.fence(intent.uri, intent.transaction, intent.step_seq, token)
