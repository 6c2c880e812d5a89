"""`penstock state`: export, import, restore, rebuild."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.ui.cli.options import Scope, example, help_alone, project_options
from penstock.ui.cli.output import confirm

_ASKS = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(invoke_without_command=True, epilog=example("penstock state export > state.json"))
@click.pass_context
def command(ctx: click.Context) -> None:
    """Export, import, restore or rebuild the state.

    The state is what penstock remembers of runs, tables and watermarks.
    """
    help_alone(ctx)


@command.command(epilog=example("penstock state export > state.json"))
@click.option("--models", is_flag=True, help="Only the small readable file of models.")
@project_options
def export(scope: Scope, models: bool) -> None:  # noqa: FBT001  click passes by name
    """Print the state as one JSON document."""
    from penstock.app.commands.state import export_state

    with scope.opened() as services:
        click.echo(export_state(services, models=models), nl=False)


@command.command("import", epilog=example("penstock state import state.json"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_ASKS
@project_options
def import_(scope: Scope, file: Path, yes: bool) -> int:  # noqa: FBT001  click passes by name
    """Replace the state by an exported document."""
    from penstock.app.commands.state import import_state
    from penstock.ui.json_state import done_document

    with scope.opened() as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} by {file}.", yes=yes):
            return 1
        import_state(services, file)
    scope.output.tell(f"imported {file}", str, done_document)
    return 0


@command.command(epilog=example("penstock state restore --yes"))
@_ASKS
@project_options
def restore(scope: Scope, yes: bool) -> int:  # noqa: FBT001  click passes by name
    """Put the last good copy of a damaged state in its place."""
    from penstock.app.commands.state import restore_state
    from penstock.ui.json_state import done_document

    with scope.opened() as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} by its last copy.", yes=yes):
            return 1
        aside = restore_state(services)
    said = f"restored the state of the last run; what was there is now {aside}"
    scope.output.tell(said, str, done_document)
    return 0


@command.command(epilog=example("penstock state rebuild --yes"))
@_ASKS
@project_options
def rebuild(scope: Scope, yes: bool) -> int:  # noqa: FBT001  click passes by name
    """Write the state anew from the logs of the tables."""
    from penstock.app.execution.recover import rebuild as rebuilt
    from penstock.ui.json_state import rebuild_document
    from penstock.ui.text_state import rebuild_text

    with scope.opened() as services:
        target = services.project.target.name
        if not confirm(f"This adds what the tables of target {target} tell to its state.", yes=yes):
            return 1
        report = rebuilt(services)
    scope.output.tell(report, rebuild_text, rebuild_document)
    return 0
