"""A store that forgets when the process ends: for tests, and to read before there is a store.

It keeps values as the ports speak of them and derives records from the steps that ended, so it
says on few pages what the tables of a database must amount to.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from penstock.core.ports import Archive, Clock, Fault, Journal, Records, inert
from penstock.core.project import LeaseSettings
from penstock.state.identity import Identity, is_gone
from penstock.state.lease import IsGone
from penstock.state.memory_archive import MemoryArchive
from penstock.state.memory_journal import MemoryJournal
from penstock.state.memory_records import MemoryRecords
from penstock.state.memory_tables import MemoryTransactions
from penstock.state.parts import Parts

NOBODY = Identity("memory", "memory", "memory")


class MemoryStore:
    """A `Store` that keeps every promise but lasting; threads may share it."""

    def __init__(
        self,
        clock: Clock,
        lease: LeaseSettings,
        *,
        identity: Identity = NOBODY,
        fault: Fault = inert,
        is_gone: IsGone = is_gone,
    ) -> None:
        parts = Parts(identity, clock, lease, fault, is_gone)
        self._transactions = transactions = MemoryTransactions(clock.new_id(), clock.new_id())
        self._journal = MemoryJournal(transactions, parts)
        self._records = MemoryRecords(transactions)
        self._archive = MemoryArchive(transactions, parts)

    @property
    def journal(self) -> Journal:
        """What is written while steps run."""
        return self._journal

    @property
    def records(self) -> Records:
        """What is read to decide."""
        return self._records

    @property
    def archive(self) -> Archive:
        """Everything, at once."""
        return self._archive

    def one_state(self) -> AbstractContextManager[None]:
        """Let all that this thread reads until the block ends be of one state of the store."""
        return self._transactions.one_state()

    def close(self) -> None:
        """Do nothing: there is no database."""
