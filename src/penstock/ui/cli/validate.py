"""`penstock validate`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock validate --strict"))
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
@project_options
def command(scope: Scope, strict: bool) -> int:  # noqa: FBT001  click passes by name
    """Report every finding of every file.

    Loads the project, touches neither tables nor state, and exits 1 if there is an error.
    """
    from penstock.app.commands.validate import validate
    from penstock.ui.json_errors import validation_document
    from penstock.ui.text_validate import validation_text

    report = validate(scope.where, strict=strict)
    scope.output.give(report, validation_text, validation_document)
    return 0 if report.passed else 1
