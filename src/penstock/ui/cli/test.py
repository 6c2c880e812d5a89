"""`penstock test`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.shared import FAIL_FAST

if TYPE_CHECKING:
    from penstock.app.unit_testing.reports import UnitResult


@click.command(epilog=example("penstock test --select staging.users", "penstock test --fail-fast"))
@click.option("--test", "names", metavar="NAME", multiple=True, help="Only tests of this name.")
@click.option("--threads", type=click.IntRange(min=1), help="Tests at a time.")
@FAIL_FAST
@selection_options
@project_options
def command(
    scope: Scope,
    selection: Selection,
    names: tuple[str, ...],
    threads: int | None,
    fail_fast: bool,  # noqa: FBT001  click passes by name
) -> int:
    """Run unit tests of models.

    Each test under tests/ runs its model's whole step on given rows, in a temporary warehouse; the
    project's own tables and state are left alone.
    """
    from penstock.app.commands.test import run_tests
    from penstock.app.unit_testing.reports import UnitTestRequest
    from penstock.ui.json_unit_tests import unit_tests_document
    from penstock.ui.text_unit_tests import result_text, unit_tests_text

    output = scope.output

    def tell(result: UnitResult) -> None:
        if output.verbose and result.passed and not output.as_json:
            click.echo(result_text(result))

    request = UnitTestRequest(selection.select, selection.exclude, names, fail_fast, threads)
    with scope.opened() as services:
        report = run_tests(services, request, tell)
    answer = output.tell if report.ok else output.give
    answer(report, unit_tests_text, unit_tests_document)
    return 0 if report.ok else 1
