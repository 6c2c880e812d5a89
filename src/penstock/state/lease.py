"""The owner of a store, and the rules of leases as pure functions for every store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import LeaseHeldError
from penstock.core.ports.ports import Clock, Fault
from penstock.core.project import LeaseSettings
from penstock.core.records import Holder, Lease

_START_TIME = 19  # in /proc/PID/stat, counted from the state that follows the name


@dataclass(frozen=True, slots=True)
class Identity:
    """The target of the project that owns a store, and the version of penstock that opens it."""

    project: str
    target: str
    penstock: str


IsGone = Callable[[Lease], bool]
"""Returns whether the process that took a lease is known to have ended."""


@dataclass(frozen=True, slots=True)
class StoreContext:
    """The owner of a store, and its external dependencies."""

    identity: Identity
    clock: Clock
    lease: LeaseSettings
    fault: Fault
    is_gone: IsGone
    server_clock: bool = True
    """Whether leases lapse by the clock of the database's server, where there is one."""


def grant(
    context: StoreContext, target: str, holder: Holder, lease: Lease | None, last_token: int
) -> Lease:
    """Grant the lease of a target, or raise `LeaseHeldError`.

    A run that asks again keeps its token and its acquired time; a new holder of a free or stale
    target gets the next token. A lease is stale if it expired, or if its process is known to have
    ended. `held` is None if the target is free; `last_token` is 0 if it was never leased.
    """
    now = context.clock.now()
    if lease is not None and lease.run == holder.run:
        token, acquired = lease.token, lease.acquired
    elif lease is not None and lease.expires > now and not context.is_gone(lease):
        raise LeaseHeldError(lease, hint=f"wait with --wait SECONDS, or penstock unlock {target}")
    else:
        token, acquired = last_token + 1, now
    return Lease(
        target=target,
        run=holder.run,
        host=holder.host,
        pid=holder.pid,
        token=token,
        acquired=acquired,
        heartbeat=now,
        expires=now + context.lease.length,
        process=holder.process,
    )


def process_of(pid: int) -> str:
    """Return the identity of a process across machines: boot, pid namespace, start time.

    "" for a process that does not run, or is a zombie, and if the system has no /proc. Two
    containers may share a host name and process numbers, but not this.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
    except OSError:
        return ""
    return "" if after_name[0] in "ZX" else f"{boot}/{space}/{after_name[_START_TIME]}"


def is_gone(lease: Lease) -> bool:
    """Return whether the process that took a lease is known to have ended.

    Only the same boot and pid namespace can know; any other lease must lapse.
    """
    ours = process_of(os.getpid())
    if not ours or not lease.process:
        return False
    is_here = ours.rpartition("/")[0] == lease.process.rpartition("/")[0]
    return is_here and process_of(lease.pid) != lease.process
