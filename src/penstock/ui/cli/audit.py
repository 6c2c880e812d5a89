"""`penstock audit`."""

from __future__ import annotations

import functools

import click

from penstock.app.request import AuditRequest
from penstock.ui.cli.options import example, opened, takes
from penstock.ui.cli.output import CommandOutput


@click.command(epilog=example("penstock audit --modified-only --diff"))
@takes(AuditRequest)
def command(output: CommandOutput, request: AuditRequest) -> int:
    """Compare every version's SQL with what was run.

    One row for each version and revision in the files or on record.
    """
    from penstock.app.commands.audit import audit
    from penstock.ui.render.history import audit_document, audit_text

    only = request.modified_only
    with opened(request) as services:
        found = audit(
            services, request.select, request.exclude, modified_only=only, diffs=request.diffs
        )
    output.print(found, functools.partial(audit_text, modified_only=only), audit_document)
    return 1 if only and found.rows else 0
