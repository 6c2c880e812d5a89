"""The records of session packages in a database, and the leases of their runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from penstock.core.errors import LeaseHeldError
from penstock.core.ports.sessions import PassEnd, Release, SessionPass
from penstock.core.records import Holder
from penstock.core.sessions.manifest import ManifestRow, PassEvents
from penstock.state.lease import grant
from penstock.state.sql.database import Database
from penstock.state.sql.package_rows import manifest_of, pass_of, passes_of, releases_of, tables_of
from penstock.state.sql.transaction import Transaction, Transactions
from penstock.state.transitions.packages import (
    EventsBuilt,
    PassBegan,
    PassEnded,
    ReleasesAsked,
    RowsForgotten,
)


def lease_of_package(package: str) -> str:
    """Return the name under which the runs of a package lease it."""
    return f"sessions:{package}"


class SqlPackages:
    """Reads records of packages, and writes the changes of runs and users."""

    def __init__(self, database: Database, transactions: Transactions) -> None:
        self._database = database
        self._transactions = transactions
        self._context = transactions.context

    def manifest(self, package: str) -> tuple[ManifestRow, ...]:
        """Return the rows of a manifest by model."""
        with self._database.read() as connection:
            return manifest_of(connection, package)

    def stitched(self, package: str) -> Mapping[str, int]:
        """Return, by model, the last run whose user mapping its rows have."""
        with self._database.read() as connection:
            found = tables_of(connection, package)
        return {name: each.stitched for name, each in found.items()}

    def passes(self, package: str, limit: int | None = None) -> tuple[SessionPass, ...]:
        """Return the passes of its runs, newest first."""
        with self._database.read() as connection:
            return tuple(map(pass_of, connection.execute(passes_of(package).limit(limit))))

    def releases(self, package: str) -> tuple[Release, ...]:
        """Return the open releases, by session."""
        with self._database.read() as connection:
            return releases_of(connection, package)

    def overwrites(self, package: str) -> frozenset[str]:
        """Return the models whose next commit replaces all rows of their table."""
        with self._database.read() as connection:
            found = tables_of(connection, package)
        return frozenset(name for name, each in found.items() if each.overwrites)

    def begin_pass(self, begun: SessionPass, holder: Holder) -> SessionPass:
        """Take the package's lease, write the pass as RUNNING and return it with its number."""
        with self._transactions.write() as tables:
            target = lease_of_package(begun.package)
            lease = grant(self._context, target, holder, *tables.leases.of(target))
            tables.leases.put(target, lease)
            found = tables.happen_in(begun.package, PassBegan(begun, tables.now))
            return found.passes[found.number_of(begun.run), begun.kind]

    def note_events(self, noted: SessionPass, events: PassEvents) -> None:
        """Write what is known of a pass once its events are built."""
        with self._transactions.write() as tables:
            tables.happen_in(noted.package, EventsBuilt((noted.seq, noted.kind), events))

    def end_pass(self, ended: SessionPass, end: PassEnd) -> None:
        """Write how a pass ended; the run keeps the lease until it ends."""
        with self._transactions.write() as tables:
            tables.happen_in(ended.package, PassEnded((ended.seq, ended.kind), end, tables.now))

    def release(self, package: str, sessions: Sequence[str], who: str) -> None:
        """Request that the next run releases sessions from quarantine."""
        with self._transactions.write() as tables:
            tables.happen_in(package, ReleasesAsked(tuple(sessions), who, tables.now))

    def forget(
        self, package: str, models: Collection[str], overwrites: Collection[str] = ()
    ) -> None:
        """Remove rows from the manifest; the next commits on `overwrites` replace their tables."""
        with self._transactions.write() as tables:
            self._require_free(tables, package)
            tables.happen_in(package, RowsForgotten(tuple(models), tuple(overwrites)))

    def _require_free(self, tables: Transaction, package: str) -> None:
        """Raise while a run is in progress: its steps would write the rows again."""
        target = lease_of_package(package)
        held, _ = tables.leases.of(target)
        if held is not None and held.expires > tables.now and not self._context.is_gone(held):
            raise LeaseHeldError(held, hint=f"wait until it has ended, or penstock unlock {target}")
