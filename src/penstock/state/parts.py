"""What every store is made with."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.ports import Clock, Fault
from penstock.core.project import LeaseSettings
from penstock.core.records import Holder
from penstock.state.identity import Identity
from penstock.state.lease import IsGone

RECOVER = "recover"  # what the history says triggered a step that recovery ended


@dataclass(frozen=True, slots=True)
class Parts:
    """Whose store it is, and everything it needs from outside."""

    identity: Identity
    clock: Clock
    lease: LeaseSettings
    fault: Fault
    is_gone: IsGone


def given_up(step: str) -> str:
    """Give the name of a step that was called failed before its commit was found to have landed."""
    return f"{step}/given-up"


def executed_by(holder: Holder) -> str:
    """Give the words under which the history names a process."""
    return f"{holder.user}@{holder.host}"
