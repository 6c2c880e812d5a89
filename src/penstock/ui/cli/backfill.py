"""`penstock backfill`."""

from __future__ import annotations

import click

from penstock.app.request import BackfillRequest
from penstock.ui.cli.options import YES, example, takes
from penstock.ui.cli.output import CommandOutput
from penstock.ui.cli.sync import carry_out


@click.command(
    epilog=example("penstock backfill daily_user_stats --from 2024-12-02 --to 2024-12-04")
)
@takes(BackfillRequest, YES)
def command(output: CommandOutput, request: BackfillRequest, *, yes: bool) -> int:
    """Run all partitions of a range, drifted or not.

    Asks before it overwrites rows of an earlier success.
    """
    return carry_out(output, request, yes=yes)
