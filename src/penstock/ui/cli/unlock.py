"""`penstock unlock`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options
from penstock.ui.cli.output import confirm


@click.command(epilog=example("penstock unlock staging.users_clean"))
@click.argument("table")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_options
def command(scope: Scope, table: str, yes: bool) -> int:  # noqa: FBT001  click passes by name
    """Take a target's lease from a run that is gone.

    Leases of dead processes of this machine lapse at once, others by themselves after a while. The
    step is settled as after a crash: a run that still lives can no longer commit it.
    """
    from penstock.app.commands.unlock import lease_of, unlock
    from penstock.ui.json_state import done_document
    from penstock.ui.text_state import lease_text

    with scope.opened() as services:
        lease = lease_of(services, table)
        if lease is None:
            scope.output.tell(f"{table} is not locked", str, done_document)
            return 0
        if not confirm(lease_text(lease), yes=yes):
            return 1
        found = unlock(services, lease)
    scope.output.tell("\n".join((f"unlocked {lease.target}", *found)), str, done_document)
    return 0
