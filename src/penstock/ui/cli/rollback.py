"""`penstock rollback`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from penstock.ui.cli.options import Scope, example, project_options
from penstock.ui.cli.shared import WAIT


@click.command(epilog=example("penstock rollback daily_user_stats --to 0190a3c4 --dry-run"))
@click.argument("model")
@click.option("--to", "step", metavar="STEP", required=True, help="The first step to take back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--include-foreign", is_flag=True, help="Take commits of others back as well.")
@click.option("--dry-run", is_flag=True, help="Say what would be restored, and do nothing.")
@WAIT
@project_options
def command(scope: Scope, *, yes: bool, wait: float, **asked: Any) -> int:  # noqa: ANN401  click gives them
    """Restore a table to the version before a step.

    'penstock history MODEL --verbose' shows the steps; the beginning of one is enough. The
    partitions' records go back as well.
    """
    from penstock.app.commands.rollback import rollback
    from penstock.app.request import RollbackRequest
    from penstock.core.masking import mask
    from penstock.ui.cli.asking import asker
    from penstock.ui.json_history import rollback_document
    from penstock.ui.text_rollback import rollback_text

    given = click.get_current_context().obj or []
    request = RollbackRequest(**asked, wait_seconds=wait, arguments=mask(shlex.join(given)))
    with scope.opened() as services:
        report = rollback(services, request, asker(services.clock.now, yes=yes))
    answer = scope.output.give if request.dry_run or report.aborted else scope.output.tell
    answer(report, rollback_text, rollback_document)
    return 1 if report.aborted else 0
