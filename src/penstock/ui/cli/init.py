"""`penstock init`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.ui.cli.options import example, takes_output
from penstock.ui.cli.output import CommandOutput


@click.command(epilog=example("penstock init shop --template demo"))
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--template", metavar="NAME", default="minimal", show_default=True, help="What to start with."
)
@takes_output
def command(output: CommandOutput, folder: Path, template: str) -> None:
    """Make a project that runs at once.

    Refuses a folder that holds a project.
    """
    from penstock.app.commands.init import init
    from penstock.ui.render.state import files_document, made_text

    made = init(folder, template)
    output.print((str(folder), made), made_text, files_document, unless_quiet=True)
