"""Leases as rows; the rules are in lease.py."""

from __future__ import annotations

from sqlalchemy import Connection, exists, insert, select, update

from penstock.core.records import Status
from penstock.state.lease import Request, grant
from penstock.state.sql_rows import lease_values, taken_lease
from penstock.state.tables import leases, steps

FREE = {
    "run": None,
    "host": None,
    "pid": None,
    "acquired": None,
    "heartbeat": None,
    "expires": None,
    "process": "",
}


def take(connection: Connection, request: Request) -> int:
    """Take or keep the target's lease and give its token, or raise `LeaseHeldError`."""
    row = connection.execute(select(leases).where(leases.c.target == request.target)).first()
    if row is None:
        lease = grant(request, None, 0)
        connection.execute(insert(leases).values(lease_values(lease)))
        return lease.token
    held = None if row.run is None else taken_lease(row)
    lease = grant(request, held, row.token)
    values = lease_values(lease)
    connection.execute(update(leases).where(leases.c.target == request.target).values(values))
    return lease.token


def owns(connection: Connection, target: str, run: str, token: int) -> bool:
    """Whether the lease of the target still is the one that the run was given."""
    found = connection.scalar(
        select(leases.c.token).where(
            leases.c.target == target, leases.c.run == run, leases.c.token == token
        )
    )
    return found is not None


def release_after(connection: Connection, target: str, run: str, token: int) -> None:
    """Free the target unless another step of the run still writes it."""
    busy = exists().where(
        steps.c.target == target, steps.c.run == run, steps.c.status == str(Status.RUNNING)
    )
    connection.execute(
        update(leases)
        .where(leases.c.target == target, leases.c.run == run, leases.c.token == token, ~busy)
        .values(FREE)
    )


def release_run(connection: Connection, run: str) -> None:
    """Free everything that the run holds."""
    connection.execute(update(leases).where(leases.c.run == run).values(FREE))


def drop(connection: Connection, target: str) -> bool:
    """Free the target, whoever holds it; False if nobody does."""
    held = leases.c.target == target, leases.c.run.is_not(None)
    return connection.execute(update(leases).where(*held).values(FREE)).rowcount > 0
