"""`penstock history`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import HistoryRequest
from penstock.app.request.flags import given
from penstock.core.errors import UsageError
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_CHECKS = click.option("--checks", is_flag=True, help="Show what its checks said instead.")
_CHECK = click.option(
    "--check", "name", metavar="NAME", help="With --checks: only the check of this name."
)


@click.command(epilog=example("penstock history daily_user_stats --partition 2024-12-01"))
@takes(HistoryRequest, _CHECKS, _CHECK)
def command(
    output: CommandOutput, request: HistoryRequest, *, checks: bool, name: str | None
) -> None:
    """Show the executions of a model, newest first.

    With --verbose also the step of each, which 'penstock rollback' takes.
    """
    if checks:
        _show_checks(output, request, name)
        return
    if name is not None:
        raise UsageError("option-conflict", "--check needs --checks", hint="add --checks")
    from penstock.app.commands.history import history
    from penstock.ui.render.history import history_document, history_text

    with opened(request) as services:
        found = history(
            services, request.model, request.partition, request.limit, show_sql=request.show_sql
        )
    output.print(found, functools.partial(history_text, verbose=output.verbose), history_document)


def _show_checks(output: CommandOutput, request: HistoryRequest, name: str | None) -> None:
    others = given(request, ("partition", "show_sql"))
    if others:
        sentence = f"--checks and {', '.join(others)} exclude each other"
        raise UsageError("option-conflict", sentence, hint="leave --checks out")
    from penstock.app.commands.history import check_history
    from penstock.ui.render.history import check_history_document, check_history_text

    with opened(request) as services:
        found = check_history(services, request.model, name, request.limit)
    text = functools.partial(check_history_text, verbose=output.verbose)
    output.print(found, text, functools.partial(check_history_document, request.model))
