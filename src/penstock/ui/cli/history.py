"""`penstock history`."""

from __future__ import annotations

import functools

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock history daily_user_stats --partition 2024-12-01"))
@click.argument("model")
@click.option("--partition", metavar="P", help="Only this partition.")
@click.option("--show-sql", is_flag=True, help="Print the SQL of every execution, too.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Executions at most, the newest.",
)
@project_options
def command(
    scope: Scope,
    model: str,
    partition: str | None,
    show_sql: bool,  # noqa: FBT001  click passes by name
    limit: int,
) -> None:
    """Show the executions of a model, newest first.

    With --verbose also the step of each, which 'penstock rollback' takes.
    """
    from penstock.app.executions import history
    from penstock.ui.json_history import history_document
    from penstock.ui.text_history import history_text

    text = functools.partial(history_text, verbose=scope.output.verbose)
    with scope.opened() as shop:
        found = history(shop, model, partition, limit, show_sql=show_sql)
    scope.output.give(found, text, history_document)
