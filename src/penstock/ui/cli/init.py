"""`penstock init`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.ui.cli.options import example, output_options
from penstock.ui.cli.output import Output


@click.command(epilog=example("penstock init shop --template demo"))
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--template", metavar="NAME", default="minimal", show_default=True, help="What to start with."
)
@output_options
def command(output: Output, folder: Path, template: str) -> None:
    """Make a project that runs at once.

    Refuses a folder that holds a project.
    """
    from penstock.app.commands.init import init
    from penstock.ui.json_state import files_document
    from penstock.ui.text_state import made_text

    made = init(folder, template)
    output.tell((str(folder), made), made_text, files_document)
