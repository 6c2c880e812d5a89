"""`penstock status`."""

from __future__ import annotations

import functools

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options


@click.command(epilog=example("penstock status --state sql_changed,tampered --fail-on-drift"))
@click.option(
    "--state", "states", metavar="S,…", multiple=True, help="Only models in one of these states."
)
@click.option("--fail-on-drift", is_flag=True, help="Exit 1 if a model drifted.")
@selection_options
@project_options
def command(
    scope: Scope,
    selection: Selection,
    states: tuple[str, ...],
    fail_on_drift: bool,  # noqa: FBT001  click passes by name
) -> int:
    """Show which tables are no longer current.

    Compares records, code, inputs and tables; starts no Spark and writes nothing.
    """
    from penstock.app.status import status
    from penstock.ui.json_models import status_document
    from penstock.ui.text_status import status_text

    text = functools.partial(status_text, verbose=scope.output.verbose)
    with scope.opened() as shop:
        report = status(shop, selection.select, selection.exclude, states)
        scope.output.give(report, text, status_document)
    return 1 if fail_on_drift and report.drifted else 0
