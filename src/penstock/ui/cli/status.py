"""`penstock status`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import StatusRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput

_FAIL = click.option("--fail-on-drift", is_flag=True, help="Exit 1 if a partition drifted.")


@click.command(
    epilog=example(
        "penstock status --days 30", "penstock status --state sql_changed,tampered --fail-on-drift"
    )
)
@takes(StatusRequest, _FAIL)
def command(output: CommandOutput, request: StatusRequest, *, fail_on_drift: bool) -> int:
    """Show which partitions are no longer current.

    Compares records, code, inputs and tables; starts no Spark and writes nothing. A table without
    partitions counts as one.
    """
    from penstock.app.commands.status import status
    from penstock.ui.render.status import status_document, status_text

    with opened(request) as services:
        report = status(services, request)
    text = functools.partial(status_text, verbose=output.verbose, states=request.states)
    output.print(report, text, status_document)
    return 1 if fail_on_drift and report.drifted else 0
