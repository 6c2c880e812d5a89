"""`penstock schema`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, takes
from penstock.ui.cli.output import CommandOutput

_WRITE = click.option("--write", is_flag=True, help="Write them into the project's folder.")


@click.command(epilog=example("penstock schema --write"))
@takes(ProjectRequest, _WRITE)
def command(output: CommandOutput, request: ProjectRequest, *, write: bool) -> None:
    """Print JSON Schemas of the YAML files, for editors.

    One document: the schemas by the names of the files that --write makes.
    """
    from penstock.app.commands.schema import schemas, write_schemas
    from penstock.ui.render.state import files_document, written_text

    if write:
        made = (str(request.project), write_schemas(Path(request.project)))
        output.print(made, written_text, files_document, unless_quiet=True)
        return
    found = {name: json.loads(text) for name, text in schemas().items()}
    click.echo(json.dumps(found, indent=2))
