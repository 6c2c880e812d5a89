"""`penstock seed`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock seed --select countries"))
@click.option("--select", "-s", metavar="NAME", multiple=True, help="Seeds to load; default: all.")
@project_options
def command(scope: Scope, select: tuple[str, ...]) -> int:
    """Load the files under seeds/ as tables.

    A file that is as it was when it was loaded is left alone.
    """
    from penstock.app.commands.seed import seed
    from penstock.ui.cli.run import exit_code, resumable
    from penstock.ui.json_run import run_document
    from penstock.ui.text_seed import seed_text

    with scope.opened() as services:
        report = resumable(seed(services, select), scope)
    answer = scope.output.tell if report.succeeded else scope.output.give
    answer(report, seed_text, run_document)
    return exit_code(report)
