"""`penstock backfill`."""

from __future__ import annotations

from dataclasses import replace

import click

from penstock.ui.cli.options import Scope, example, project_options
from penstock.ui.cli.shared import asked_range
from penstock.ui.cli.sync import carry_out
from penstock.ui.cli.sync_options import SyncFlags, sync_options


@click.command(
    epilog=example("penstock backfill daily_user_stats --from 2024-12-02 --to 2024-12-04")
)
@click.argument("model")
@click.option(
    "--from", "first", metavar="D", required=True, help="From this date, or partition, on."
)
@click.option(
    "--to", "last", metavar="D", required=True, help="Up to this date, or partition, with it."
)
@sync_options
@project_options
def command(scope: Scope, model: str, first: str, last: str, flags: SyncFlags) -> int:
    """Run all partitions of a range, drifted or not.

    Asks before it overwrites rows of an earlier success.
    """
    request = replace(flags.request(), backfill=model, range=asked_range(first, last))
    return carry_out(scope, request, yes=flags.yes)
