"""Whose database it is, and the two things a store asks of the process around it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.core.records import Lease

_START_TIME = 19  # in /proc/PID/stat, counted from the state that follows the name


@dataclass(frozen=True, slots=True)
class Identity:
    """The target of the project that a store belongs to, and the penstock that opens it."""

    project: str
    target: str
    penstock: str


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
