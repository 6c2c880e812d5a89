"""`penstock diff`."""

from __future__ import annotations

import functools

import click

from penstock.ui.cli.options import Scope, example, project_options
from penstock.ui.cli.shared import AS_OF, run_timestamp_of


@click.command(epilog=example("penstock diff daily_user_stats --context 3"))
@click.argument("model", required=False)
@click.option("--partition", metavar="P", help="Only this partition.")
@click.option(
    "--context",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Equal lines around the changes.",
)
@AS_OF
@project_options
def command(
    scope: Scope, model: str | None, partition: str | None, context: int, as_of: str | None
) -> None:
    """Show what changed since the partitions were built.

    One diff for each pair of SQL texts: the one on record, and the one of the files.
    """
    from penstock.app.commands.diff import diff
    from penstock.ui.json_drift import differences_document
    from penstock.ui.text_model_diff import differences_text

    text = functools.partial(differences_text, context=context, verbose=scope.output.verbose)
    document = functools.partial(differences_document, context=context)
    moment = run_timestamp_of(as_of)
    with scope.opened() as services:
        found = diff(services, model, partition, moment)
    scope.output.give(found, text, document)
