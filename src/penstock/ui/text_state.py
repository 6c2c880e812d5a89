"""What commands print that put the state, or a folder, in order."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.execution.recover import RebuildReport, Recovery
from penstock.core.records import Lease
from penstock.ui.text_table import count
from penstock.ui.text_values import moment

_DELIVERS = "deliver.py"  # a template that starts with no input has it


def recovered_text(found: Recovery) -> str:
    """Give a line per step that a crash had left open, then what could not be settled."""
    lines = [*found.sentences, *(error.render() for error in found.stuck.values())]
    return "\n".join(lines) or "nothing to recover"


def rebuild_text(report: RebuildReport) -> str:
    """Say how many steps the tables' logs told of, and which tables told of none."""
    lines = [f"{count(report.steps, 'step')} of {count(len(report.models), 'model')} recorded"]
    lines += [f"{name}: its log tells of no step of this project" for name in report.untold]
    return "\n".join(lines)


def lease_text(lease: Lease) -> str:
    """Say who holds a lease, as a question's start."""
    return (
        f"{lease.target} is held by run {lease.run} (host {lease.host}, pid {lease.pid}) "
        f"since {moment(lease.acquired)} UTC. This takes it away."
    )


def made_text(made: tuple[str, Sequence[str]]) -> str:
    """Say which files a new project has, and how to go on."""
    folder, files = made
    steps = f"cd {folder}, python {_DELIVERS} 1, penstock seed, penstock run"
    following = steps if _DELIVERS in files else f"penstock run {folder}"
    return "\n".join([*(f"made {folder}/{file}" for file in files), "", f"Next: {following}"])


def written_text(made: tuple[str, Sequence[str]]) -> str:
    """Say which files were written."""
    folder, files = made
    return "\n".join(f"wrote {folder}/{file}" for file in files)
