"""`penstock unlock`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import YES, example, opened, takes
from penstock.ui.cli.output import CommandOutput, confirm


@click.command(epilog=example("penstock unlock staging.users_clean"))
@click.argument("table")
@takes(ProjectRequest, YES)
def command(output: CommandOutput, request: ProjectRequest, table: str, *, yes: bool) -> int:
    """Take a target's lease from a run that is gone.

    Leases of dead processes of this machine lapse at once, others by themselves after a while. The
    step is settled as after a crash: a run that still lives can no longer commit it.
    """
    from penstock.app.commands.unlock import lease_of, unlock
    from penstock.ui.render.state import lease_text

    with opened(request) as services:
        lease = lease_of(services, table)
        if lease is None:
            output.print_done(f"{table} is not locked")
            return 0
        if not confirm(lease_text(lease), yes=yes):
            return 1
        found = unlock(services, lease)
    output.print_done("\n".join((f"unlocked {lease.target}", *found)))
    return 0
