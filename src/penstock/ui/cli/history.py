"""`penstock history`."""

from __future__ import annotations

import functools
from typing import Any

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock history daily_user_stats --partition 2024-12-01"))
@click.argument("model")
@click.option("--partition", metavar="P", help="Only this partition.")
@click.option("--show-sql", is_flag=True, help="Print the SQL of every execution, too.")
@click.option("--checks", is_flag=True, help="Show what its checks said instead.")
@click.option("--check", "name", metavar="NAME", help="With --checks: only the check of this name.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Executions, or results of checks, at most; the newest.",
)
@project_options
def command(
    scope: Scope,
    model: str,
    limit: int,
    **asked: Any,  # noqa: ANN401  click gives them
) -> None:
    """Show the executions of a model, newest first.

    With --verbose also the step of each, which 'penstock rollback' takes.
    """
    checks, name = asked.pop("checks"), asked.pop("name")
    _refuse_conflicts(checks=checks, name=name, **asked)
    if checks:
        _show_checks(scope, model, name, limit)
        return
    from penstock.app.commands.history import history
    from penstock.ui.json_history import history_document
    from penstock.ui.text_history import history_text

    text = functools.partial(history_text, verbose=scope.output.verbose)
    with scope.opened() as services:
        found = history(services, model, asked["partition"], limit, show_sql=asked["show_sql"])
    scope.output.give(found, text, history_document)


def _show_checks(scope: Scope, model: str, name: str | None, limit: int) -> None:
    from penstock.app.commands.history import check_history
    from penstock.ui.json_checks import check_history_document
    from penstock.ui.text_check_history import check_history_text

    text = functools.partial(check_history_text, verbose=scope.output.verbose)
    with scope.opened() as services:
        found = check_history(services, model, name, limit)
    scope.output.give(found, text, functools.partial(check_history_document, model))


def _refuse_conflicts(
    *, checks: bool, name: str | None, partition: str | None, show_sql: bool
) -> None:
    from penstock.core.errors import UsageError

    if name is not None and not checks:
        raise UsageError("option-conflict", "--check needs --checks", hint="add --checks")
    others = ["--partition"] * (partition is not None) + ["--show-sql"] * show_sql
    if checks and others:
        raise UsageError(
            "option-conflict",
            f"--checks and {' and '.join(others)} exclude each other",
            hint="leave --checks out",
        )
