"""`penstock test`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.app.request import UnitTestRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

if TYPE_CHECKING:
    from penstock.app.unit_testing.differences import UnitResult


@click.command(epilog=example("penstock test --select staging.users", "penstock test --fail-fast"))
@takes(UnitTestRequest)
def command(output: CommandOutput, request: UnitTestRequest) -> int:
    """Run unit tests of models.

    Each test under tests/ runs its model's whole step on given rows, in a temporary warehouse; the
    project's own tables and state are left alone.
    """
    from penstock.app.commands.test import run_tests
    from penstock.ui.render.unit_tests import result_text, unit_tests_document, unit_tests_text

    def show(result: UnitResult) -> None:
        if output.verbose and result.passed and not output.as_json:
            click.echo(result_text(result))

    with opened(request) as services:
        report = run_tests(services, request, show)
    output.print(report, unit_tests_text, unit_tests_document, unless_quiet=report.ok)
    return 0 if report.ok else 1
