"""`penstock diff`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import DiffRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_CONTEXT = click.option(
    "--context",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Equal lines around the changes.",
)


@click.command(epilog=example("penstock diff daily_user_stats --context 3"))
@takes(DiffRequest, _CONTEXT)
def command(output: CommandOutput, request: DiffRequest, context: int) -> None:
    """Show what changed since the partitions were built.

    One diff for each pair of SQL texts: the one on record, and the one of the files.
    """
    from penstock.app.commands.diff import diff
    from penstock.ui.render.diff import differences_document, differences_text

    with opened(request) as services:
        found = diff(services, request.model, request.partition, request.run_timestamp)
    text = functools.partial(differences_text, context=context, verbose=output.verbose)
    output.print(found, text, functools.partial(differences_document, context=context))
