"""`penstock plan`."""

from __future__ import annotations

import functools

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.run_options import RunFlags, run_options


@click.command(epilog=example("penstock plan --select +daily_user_stats"))
@selection_options
@project_options
@run_options
def command(scope: Scope, selection: Selection, flags: RunFlags) -> int:
    """Show what a run would do, and why.

    The same as 'penstock run --dry-run': starts no Spark and writes nothing. Exits 1 if a model
    cannot be run.
    """
    return show_plan(scope, selection, flags)


def show_plan(scope: Scope, selection: Selection, flags: RunFlags) -> int:
    """Print the plan of the run that these flags ask for."""
    from penstock.app.commands.plan import preview
    from penstock.ui.json_run import preview_document
    from penstock.ui.text_plan import plan_text

    request = flags.request(selection)
    with scope.opened() as services:
        found = preview(services, request)
    for note in found.report.notes:
        scope.output.warn(note)
    text = functools.partial(plan_text, verbose=scope.output.verbose)
    scope.output.give(found, text, preview_document)
    return 0 if found.report.succeeded else 1
