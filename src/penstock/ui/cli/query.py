"""`penstock query`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(
    epilog=example("penstock query \"select * from staging.users_clean where country = 'DE'\"")
)
@click.argument("sql")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="At most so many rows.",
)
@project_options
def command(scope: Scope, sql: str, limit: int) -> None:
    """Run a query over the project's tables.

    Models, seeds and sources are called schema.table; a model also by its name alone.
    """
    from penstock.app.commands.query import query
    from penstock.ui.json_document import printed
    from penstock.ui.json_state import query_document
    from penstock.ui.text_query import query_text

    with scope.opened() as services:
        result = query(services, sql, limit)
    if scope.output.as_json:
        click.echo(printed(query_document(result), hide=False))
    else:
        click.echo(query_text(result))
