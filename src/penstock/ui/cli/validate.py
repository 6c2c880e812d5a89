"""`penstock validate`."""

from __future__ import annotations

import click

from penstock.app.request import ProjectRequest
from penstock.ui.cli.options import example, takes
from penstock.ui.cli.output import CommandOutput

_STRICT = click.option("--strict", is_flag=True, help="Warnings fail, too.")


@click.command(epilog=example("penstock validate --strict"))
@takes(ProjectRequest, _STRICT)
def command(output: CommandOutput, request: ProjectRequest, *, strict: bool) -> int:
    """Report every finding of every file.

    Loads the project, touches neither tables nor state, and exits 1 if there is an error.
    """
    from penstock.app.commands.validate import validate
    from penstock.app.services.wire import place_of
    from penstock.ui.render.errors import validation_document, validation_text

    report = validate(place_of(request), strict=strict)
    output.print(report, validation_text, validation_document)
    return 0 if report.passed else 1
