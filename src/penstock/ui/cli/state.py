"""`penstock state`: export, import, restore, rebuild."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import YES, example, help_alone, opened, takes
from penstock.ui.cli.output import CommandOutput, confirm


@click.group(invoke_without_command=True, epilog=example("penstock state export > state.json"))
@click.pass_context
def command(ctx: click.Context) -> None:
    """Export, import, restore or rebuild the state.

    The state is what penstock remembers of runs, tables and watermarks.
    """
    help_alone(ctx)


@command.command(epilog=example("penstock state export > state.json"))
@click.option("--models", is_flag=True, help="Only the small readable file of models.")
@takes(ProjectRequest)
def export(_: CommandOutput, request: ProjectRequest, *, models: bool) -> None:
    """Print the state as one JSON document."""
    from penstock.app.commands.state import export_state

    with opened(request) as services:
        click.echo(export_state(services, models=models), nl=False)


@command.command("import", epilog=example("penstock state import state.json"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@takes(ProjectRequest, YES)
def import_(output: CommandOutput, request: ProjectRequest, file: Path, *, yes: bool) -> int:
    """Replace the state by an exported document."""
    from penstock.app.commands.state import import_state

    with opened(request) as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} by {file}.", yes=yes):
            return 1
        import_state(services, file)
    output.print_done(f"imported {file}")
    return 0


@command.command(epilog=example("penstock state restore --yes"))
@takes(ProjectRequest, YES)
def restore(output: CommandOutput, request: ProjectRequest, *, yes: bool) -> int:
    """Put the last good copy of a damaged state in its place."""
    from penstock.app.commands.state import restore_state

    with opened(request) as services:
        target = services.project.target.name
        if not confirm(f"This replaces the state of target {target} by its last copy.", yes=yes):
            return 1
        aside = restore_state(services)
    output.print_done(f"restored the state of the last run; what was there is now {aside}")
    return 0


@command.command(epilog=example("penstock state rebuild --yes"))
@takes(ProjectRequest, YES)
def rebuild(output: CommandOutput, request: ProjectRequest, *, yes: bool) -> int:
    """Write the state anew from the logs of the tables."""
    from penstock.app.execution.recover import rebuild as rebuilt
    from penstock.ui.render.state import rebuild_document, rebuild_text

    with opened(request) as services:
        target = services.project.target.name
        if not confirm(f"This adds what the tables of target {target} tell to its state.", yes=yes):
            return 1
        report = rebuilt(services)
    output.print(report, rebuild_text, rebuild_document, unless_quiet=True)
    return 0
