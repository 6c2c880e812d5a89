"""Whose store it is, and the rules of leases as functions of values: every store obeys them."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import LeaseHeldError, LeaseLostError, StateError
from penstock.core.records import Holder, Lease

_START_TIME = 19  # in /proc/PID/stat, counted from the state that follows the name


@dataclass(frozen=True, slots=True)
class Identity:
    """The target of the project that a store belongs to, and the penstock that opens it."""

    project: str
    target: str
    penstock: str


def inert(point: str) -> None:
    """Let a fault point pass."""


IsGone = Callable[[Lease], bool]
"""Whether the process that took a lease is known to be no more."""


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody asks for a target now; `length` is how long a granted lease lasts unrenewed."""

    target: str
    holder: Holder
    now: dt.datetime
    length: dt.timedelta
    is_gone: IsGone


def grant(request: Request, held: Lease | None, last_token: int) -> Lease:
    """Give the lease that follows, or raise `LeaseHeldError`.

    A run that asks again keeps its token, acquired time included; whoever takes a free or stale
    target gets the next one. `held` is None when nobody has the target; `last_token` is 0 when
    nobody ever had.
    """
    now = request.now
    if held is not None and held.run == request.holder.run:
        token, acquired = held.token, held.acquired
    elif held is not None and not is_stale(held, request):
        raise LeaseHeldError(
            held, hint=f"wait with --wait SECONDS, or penstock unlock {request.target}"
        )
    else:
        token, acquired = last_token + 1, now
    return Lease(
        target=request.target,
        run=request.holder.run,
        host=request.holder.host,
        pid=request.holder.pid,
        token=token,
        acquired=acquired,
        heartbeat=now,
        expires=now + request.length,
        process=request.holder.process,
    )


def is_stale(held: Lease, request: Request) -> bool:
    """Whether a lease may be taken over: it expired, or its process is known to be gone."""
    return held.expires <= request.now or request.is_gone(held)


def lease_lost(step: str, target: str) -> LeaseLostError:
    """Word the refusal of a step whose lease somebody else has taken or dropped."""
    return LeaseLostError(
        "lease-lost",
        f"step {step} no longer owns {target}: its lease lapsed or was dropped",
        hint="penstock recover finds out what became of the step",
    )


def step_ended(step: str, status: str) -> StateError:
    """Word the refusal to end a step twice."""
    return StateError(
        "step-ended",
        f"step {step} already ended as {status}",
        hint="plan again: the record of the step stays as it is",
    )


def unknown_step(step: str) -> StateError:
    """Word the refusal of a step that was never begun here."""
    return StateError("unknown-step", f"no step has the id {step!r}")


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
    return _space(ours) == _space(lease.process) and process_of(lease.pid) != lease.process


def _space(process: str) -> str:
    return process.rpartition("/")[0]
