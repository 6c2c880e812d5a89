"""`penstock schema`."""

from __future__ import annotations

import json

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock schema --write"))
@click.option("--write", is_flag=True, help="Write them into the project's folder.")
@project_options
def command(scope: Scope, write: bool) -> None:  # noqa: FBT001  click passes by name
    """Print JSON Schemas of the YAML files, for editors.

    One document: the schemas by the names of the files that --write makes.
    """
    from penstock.app.commands.schema import schemas, write_schemas
    from penstock.ui.json_state import files_document
    from penstock.ui.text_state import written_text

    if write:
        made = (str(scope.root), write_schemas(scope.root))
        scope.output.tell(made, written_text, files_document)
        return
    found = {name: json.loads(text) for name, text in schemas().items()}
    click.echo(json.dumps(found, indent=2))
