"""`penstock status`."""

from __future__ import annotations

import functools
from typing import Any

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options
from penstock.ui.cli.shared import (
    AS_OF,
    DAYS,
    FROM,
    STATE,
    TO,
    asked_range,
    run_timestamp_of,
    state_names,
)


@click.command(
    epilog=example(
        "penstock status --days 30", "penstock status --state sql_changed,tampered --fail-on-drift"
    )
)
@FROM
@TO
@DAYS
@STATE
@click.option("--fail-on-drift", is_flag=True, help="Exit 1 if a partition drifted.")
@AS_OF
@selection_options
@project_options
def command(scope: Scope, selection: Selection, **asked: Any) -> int:  # noqa: ANN401  click gives them
    """Show which partitions are no longer current.

    Compares records, code, inputs and tables; starts no Spark and writes nothing. A table without
    partitions counts as one.
    """
    from penstock.app.commands.status import status
    from penstock.app.request import StatusRequest
    from penstock.ui.json_drift import status_document
    from penstock.ui.text_status import status_text

    fail_on_drift = asked.pop("fail_on_drift")
    states, as_of = state_names(asked.pop("states")), run_timestamp_of(asked.pop("as_of"))
    request = StatusRequest(
        selection.select, selection.exclude, states, asked_range(**asked), as_of
    )
    text = functools.partial(status_text, verbose=scope.output.verbose, states=states)
    with scope.opened() as services:
        report = status(services, request)
    scope.output.give(report, text, status_document)
    return 1 if fail_on_drift and report.drifted else 0
