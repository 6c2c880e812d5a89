"""Whose a target is: which run may write it now, and which commits the store knows as its own."""

from __future__ import annotations

from collections.abc import Collection

from penstock.app.shop import Shop
from penstock.core.facts import Commit
from penstock.core.names import TableName
from penstock.core.records import Lease, StepRecord


def holder_of(shop: Shop, table: TableName, run: str) -> Lease | None:
    """Give the lease under which another run may still write a table."""
    for lease in shop.writing.journal.leases():
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


def unrecorded_commits(shop: Shop, commits: Collection[Commit]) -> tuple[Commit, ...]:
    """Give those changes of rows that name this store and that no step is on record as having made.

    The log is read before the store: a step that is running now is on record by then.
    """
    store = shop.reading.archive.store_id()
    named = {c.step: c for c in commits if c.step and c.store == store and c.changes_data}
    if not named:
        return ()
    versions = {step: commit.version for step, commit in named.items()}
    unknown = shop.reading.records.unrecorded(versions)
    return tuple(commit for step, commit in named.items() if step in unknown)
