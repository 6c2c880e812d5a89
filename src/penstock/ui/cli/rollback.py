"""`penstock rollback`."""

from __future__ import annotations

import click

from penstock.app.request import RollbackRequest
from penstock.ui.cli.options import YES, example, opened, takes
from penstock.ui.cli.output import CommandOutput, overwrite_asker


@click.command(epilog=example("penstock rollback daily_user_stats --to 0190a3c4 --dry-run"))
@takes(RollbackRequest, YES)
def command(output: CommandOutput, request: RollbackRequest, *, yes: bool) -> int:
    """Restore a table to the version before a step.

    'penstock history MODEL --verbose' shows the steps; the beginning of one is enough. The
    partitions' records go back as well.
    """
    from penstock.app.commands.rollback import rollback
    from penstock.ui.render.history import rollback_document, rollback_text

    with opened(request) as services:
        report = rollback(services, request, overwrite_asker(services.clock.now, yes=yes))
    is_done = not (request.dry_run or report.aborted)
    output.print(report, rollback_text, rollback_document, unless_quiet=is_done)
    return 1 if report.aborted else 0
