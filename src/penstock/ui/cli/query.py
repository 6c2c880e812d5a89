"""`penstock query`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_LIMIT = click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="At most so many rows.",
)


@click.command(
    epilog=example("penstock query \"select * from staging.users_clean where country = 'DE'\"")
)
@click.argument("sql")
@takes(ProjectRequest, _LIMIT)
def command(output: CommandOutput, request: ProjectRequest, sql: str, limit: int) -> None:
    """Run a query over the project's tables.

    Models, seeds and sources are called schema.table; a model also by its name alone.
    """
    from penstock.app.commands.query import query
    from penstock.ui.render.state import query_document, query_text
    from penstock.ui.render.values import printed

    with opened(request) as services:
        result = query(services, sql, limit)
    if output.as_json:
        click.echo(printed(query_document(result), hide=False))
    else:
        click.echo(query_text(result))
