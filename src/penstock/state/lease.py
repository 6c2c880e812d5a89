"""Whose store it is, and the rules of leases as functions of values: every store obeys them."""

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
    """The target of the project that a store belongs to, and the penstock that opens it."""

    project: str
    target: str
    penstock: str


IsGone = Callable[[Lease], bool]
"""Whether the process that took a lease is known to be no more."""


@dataclass(frozen=True, slots=True)
class StoreContext:
    """Whose store it is, and everything it needs from outside."""

    identity: Identity
    clock: Clock
    lease: LeaseSettings
    fault: Fault
    is_gone: IsGone


def grant(
    context: StoreContext, target: str, holder: Holder, lease: Lease | None, last_token: int
) -> Lease:
    """Grant the lease of a target, or raise `LeaseHeldError`.

    A run that asks again keeps its token, acquired time included; whoever takes a free or stale
    target gets the next one. A lease is stale that expired, or whose process is known to be gone.
    `held` is None when nobody has the target; `last_token` is 0 when nobody ever had.
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
    """Tell a process from every other of any machine: boot, pid namespace, start time.

    "" for one that does not run, or is dead and only not yet waited for, and where the system has
    no /proc. Two containers may share a host's name and numbers of processes, not this.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
    except OSError:
        return ""
    return "" if after_name[0] in "ZX" else f"{boot}/{space}/{after_name[_START_TIME]}"


def is_gone(lease: Lease) -> bool:
    """Whether the process that took a lease is known to be gone.

    That can be known of the same boot and pid namespace alone; any other lease must lapse.
    """
    ours = process_of(os.getpid())
    if not ours or not lease.process:
        return False
    is_here = ours.rpartition("/")[0] == lease.process.rpartition("/")[0]
    return is_here and process_of(lease.pid) != lease.process
